"""The requests to an agent's model and its replies, as the page shows them with each step."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from bench_core.files import file_inside, open_inside
from bench_core.records import CallPart, ModelCall
from bench_report.run_data.artifacts import CALLS_FILES
from bench_report.text.untrusted import clip, inline

_MOST_BYTES = 32 * 2**20
_LONGEST_LINE = 8 * 2**20
_MOST_CALLS = 300
_TEXT = 4_000
_DECLARED = 8_000
_WORD = 120
_TRIAL_TEXT = 400_000


class ShownCall(NamedTuple):
    """A call as the page shows it, and when it began, in seconds since 1970."""

    began: float
    shown: dict[str, Any]


def read_model_calls(folder: Path, pictures: Mapping[str, str]) -> list[ShownCall]:
    """Return the first calls of a trial, leniently; of its texts, so much as a page can hold.

    Args:
        folder: The trial's.
        pictures: Names of the trial's artifacts by the SHA-256 of their bytes.
    """
    found: list[ShownCall] = []
    left = _TRIAL_TEXT
    for call in _calls(folder):
        sent: list[tuple[str, str]] = []
        if call.system is not None and call.system.text:
            sent.append(("system", clip(call.system.text, _DECLARED)))
        if call.tools:
            sent.append(
                ("tools", clip(json.dumps(call.tools, ensure_ascii=False, indent=1), _DECLARED))
            )
        for turn in call.turns:
            for part in turn.parts:
                sent += _texts(part, inline(turn.role, _WORD), pictures)
        reply = [text for part in call.reply for text in _texts(part, "reply", pictures)]
        usage = call.usage
        facts = [
            f"{usage.input_tokens:,} tokens in, {usage.output_tokens:,} out"
            if usage.requests
            else "",
            f"stopped by {inline(call.stop, _WORD)}" if call.stop else "",
            f"answered by {inline(call.model_reported, _WORD)}" if call.model_reported else "",
        ]
        shown: dict[str, Any] = {
            "call": call.call,
            "sent": sent,
            "kept": call.length - len(call.turns),
            "reply": reply,
            "facts": "; ".join(filter(None, facts)),
            "error": clip(call.error, _TEXT) if call.error else None,
            "cut": call.cut,
        }
        left -= sum(len(text) for _, text in (*shown["sent"], *shown["reply"]))
        if left < 0:
            shown |= {"sent": [], "reply": [], "cut": True}
        found.append(ShownCall(call.started.timestamp(), shown))
        if len(found) >= _MOST_CALLS:
            break
    return found


def _calls(folder: Path) -> Iterator[ModelCall]:
    name = next((each for each in CALLS_FILES if file_inside(folder, each)), None)
    if name is None or (folder / name).lstat().st_size > _MOST_BYTES:
        return
    with open_inside(folder, name) as file:
        while line := file.readline(_LONGEST_LINE):
            with suppress(ValidationError):  # torn, or of another program
                yield ModelCall.model_validate_json(line)


def _texts(part: CallPart, who: str, pictures: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield speaker and text of a part, and of the parts inside a result."""
    if part.type == "result":
        failed = ", failed" if part.failed else ""
        inner = [text for each in part.content for _, text in _texts(each, who, pictures)]
        who = f"result{f' of {inline(part.name, _WORD)}' if part.name else ''}{failed}"
        yield who, clip("\n".join(inner), _TEXT)
    elif part.type == "call":
        arguments = json.dumps(part.arguments, ensure_ascii=False)
        yield "call", clip(f"{part.name} {arguments}", _TEXT)
    elif part.type == "picture":
        name = pictures.get(part.sha256 or "")
        yield who, f"(picture: {inline(name, _WORD) if name else 'not among the files'})"
    else:
        more = f" ({part.omitted:,} more characters)" if part.omitted else ""
        who = who if part.type == "text" else part.type
        yield who, clip(part.text or "", _TEXT) + more
