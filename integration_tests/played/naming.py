"""Name elements and addresses by what a request shows of them: ids and ports are other ones in the next run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["NotShownError", "Shown", "replaced"]

_IDS = {"browser-use": ("index", "tab_id")}
_OUR_IDS = ("element", "to_element", "ref")
"""Arguments that are an id of something that is shown."""
_OURS = re.compile(r'\[(\w+)\] ([a-z][a-z ]*) "((?:[^"\\]|\\.)*)"')
_FOREIGN = re.compile(r"^\s*(?:\|[A-Z()a-z]+\|)?\*?\[(\d+)\](<.*)$")
_TAB = re.compile(r"^Tab (\w{4}): \S+ - (.*)$")
_ORIGIN = re.compile(r"https?://[\w.-]+:\d+")
_PLACE = re.compile(r"\{origin (\d+)\}")
_HEADING = re.compile(r"^\s*#+ ")


class NotShownError(Exception):
    """A reply names something that the request does not show."""


@dataclass
class _Element:
    id: str
    role: str
    name: str
    row: str = ""
    under: str = ""
    turn: int = 0


class Shown:
    """What a conversation shows: elements, the latest first, and the addresses in the order in which they appear.

    Args:
        turns: The text of each turn that is not the model's, in order.
    """

    def __init__(self, turns: Iterable[str]) -> None:
        self.origins: list[str] = []
        self._elements: list[_Element] = []
        for turn, text in enumerate(turns):
            new = [each for each in _ORIGIN.findall(text) if each not in self.origins]
            self.origins += dict.fromkeys(new)
            fresh = list({each.id: each for each in _elements(text)}.values())
            ids = {each.id for each in fresh}
            for each in fresh:
                each.turn = turn
            self._elements = [*fresh, *(each for each in self._elements if each.id not in ids)]

    def name(self, given: Any) -> Any:
        """Return what is shown of the element or tab with an id; the id itself where nothing is."""
        key = str(given).removeprefix("ref_")
        named = next((each for each in self._elements if each.id == key), None)
        if named is None:
            return given
        found = {"role": named.role, "name": named.name}
        for what in ("under", "row"):
            alike = [each for each in self._fitting(found) if each.turn == named.turn]
            if len(alike) > 1 and (value := getattr(named, what)):
                found[what] = value
        nth = next(n for n, each in enumerate(self._fitting(found)) if each is named)
        return {**found, **({"nth": nth} if nth else {})}

    def find(self, named: dict[str, Any]) -> str:
        """Return the id of what is named.

        Raises:
            NotShownError: There is no such thing.
        """
        wanted = {key: value for key, value in named.items() if key != "nth"}
        fitting = self._fitting(wanted)
        nth = named.get("nth", 0)
        if nth >= len(fitting):
            raise NotShownError(f"{named} is not shown: there are {self._elements[:60]}")
        return fitting[nth].id

    def _fitting(self, wanted: dict[str, Any]) -> list[_Element]:
        return [e for e in self._elements if all(getattr(e, k) == v for k, v in wanted.items())]

    def without_ports(self, text: str) -> str:
        """Replace addresses that have a port by their place in the conversation."""
        for number, origin in enumerate(self.origins):
            text = re.sub(re.escape(origin) + r"(?!\d)", f"{{origin {number}}}", text)
        return text

    def with_ports(self, text: str) -> str:
        """Put this conversation's addresses in the place of another's.

        Raises:
            NotShownError: It has fewer.
        """
        numbers = [int(each) for each in _PLACE.findall(text)]
        if any(each >= len(self.origins) for each in numbers):
            raise NotShownError(f"{text!r}: only {self.origins} are shown")
        return _PLACE.sub(lambda found: self.origins[int(found[1])], text)


def replaced(
    agent: str, value: Any, text: Callable[[str], str], ids: Callable[[Any], Any], key: str = ""
) -> Any:
    """Return JSON data with other texts, and other values where an id is expected or something is named."""
    if key in _IDS.get(agent, _OUR_IDS) and isinstance(value, str | int | dict) and value != "":
        return ids(value)
    if isinstance(value, dict):
        return {name: replaced(agent, each, text, ids, name) for name, each in value.items()}
    if isinstance(value, list):
        return [replaced(agent, each, text, ids) for each in value]
    return text(value) if isinstance(value, str) else value


def _elements(text: str) -> Iterable[_Element]:
    under = ""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if tab := _TAB.match(line):
            yield _Element(tab[1], "tab", tab[2])
            continue
        if foreign := _FOREIGN.match(line):
            below = []
            for each in lines[number + 1 : number + 4]:
                if _FOREIGN.match(each) or not each.startswith("\t"):
                    break
                below.append(each.strip())
            yield _Element(foreign[1], foreign[2], " ".join(below)[:120])
            continue
        if _HEADING.match(line) and not _OURS.search(line):
            under = line.strip()
        if line.startswith("- ["):  # it has gone
            continue
        row = _OURS.sub(r'\2 "\3"', line.removeprefix("~ ").removeprefix("+ ")).strip()
        for found in _OURS.finditer(line):
            alone = row == f'{found[2]} "{found[3]}"'
            yield _Element(found[1], found[2], found[3], "" if alone else row[:160], under)
        if _HEADING.match(line):
            under = _OURS.sub(r"\3", line).strip()
