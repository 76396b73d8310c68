"""Read a pack back: the values that its lines show, by pointer."""

from __future__ import annotations

import json
from typing import Any

from llm_judge.states.pointers import child, leaves

__all__ = ["read_evidence", "read_pack"]


def read_evidence(text: str) -> dict[str, Any]:
    """Return the values that the evidence in a user's message shows, by pointer; see `read_pack`."""
    lines = text.splitlines()
    boundaries = [
        i for i, line in enumerate(lines) if line.startswith(("<evidence id=", "</evidence id="))
    ]
    return (
        read_pack("\n".join(lines[boundaries[0] + 1 : boundaries[1]]))
        if len(boundaries) > 1
        else {}
    )


def read_pack(text: str) -> dict[str, Any]:
    """Return the scalars that stand in the end state according to a pack, by pointer.

    >>> read_pack('{"n":1,"at":"/a","is":"added","value":{"b":1},"also":["/c"]}')
    {'/a/b': 1, '/c/b': 1}
    """
    known: dict[str, Any] = {}
    numbered: dict[int, dict[str, Any]] = {}
    for line in text.splitlines():
        shown = json.loads(line)
        if "n" not in shown:
            continue
        members = _members(shown, numbered)
        numbered[shown["n"]] = members
        if shown["is"] == "removed":
            continue
        for place in (shown["at"], *(each for each in shown.get("also", ()) if each[:1] == "/")):
            known.update({f"{place}{relative}": value for relative, value in members.items()})
    return known


def _members(shown: dict[str, Any], numbered: dict[int, dict[str, Any]]) -> dict[str, Any]:
    if "same_as" in shown:
        left_out = set(shown.get("without", ()))
        kept = {k: v for k, v in numbered[shown["same_as"]].items() if k not in left_out}
        return {**kept, **shown.get("except", {})}
    if "was_now" in shown:
        return {
            relative + below: each
            for relative, (_, now) in shown["was_now"].items()
            for below, each in leaves(now)
        }
    if "rows" in shown:
        return {
            child(child("", number), column): cell
            for number, row in enumerate(shown["rows"], shown["first_row"])
            for column, cell in zip(shown["columns"], row, strict=True)
        }
    return dict(leaves(shown["value"]))
