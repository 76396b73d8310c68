"""A script's view of a page, and its names for elements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Element", "Find", "Page", "elements_of"]


@dataclass(frozen=True)
class Element:
    """One interactive element of the page under the index browser-use gave it."""

    index: int
    tag: str
    text: str
    attributes: Mapping[str, str]


@dataclass(frozen=True)
class Page:
    """The page as it is when the agent is asked for its next actions.

    Attributes:
        tabs: The URL of each open tab by the id that browser-use's `switch` takes.
    """

    url: str = ""
    title: str = ""
    text: str = ""
    elements: tuple[Element, ...] = ()
    tabs: Mapping[str, str] = field(default_factory=dict)

    def tab(self, part: str) -> str:
        """Return the id of the first tab whose URL contains `part`.

        Raises:
            LookupError: There is none.
        """
        for ident, url in self.tabs.items():
            if part in url:
                return ident
        raise LookupError(f"no tab is on {part!r}: {', '.join(self.tabs.values())}")


@dataclass(frozen=True)
class Find:
    """Names an element by its visible text, tag and attributes; `nth` counts from 0.

    Text is compared after collapsing white space, with the element's text or its `aria-label`.
    """

    text: str | None = None
    tag: str | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    nth: int = 0

    def __str__(self) -> str:
        wanted = [f"<{self.tag}>"] if self.tag else []
        wanted += [repr(self.text)] if self.text is not None else []
        wanted += [f"{name}={value!r}" for name, value in self.attributes.items()]
        return " ".join(wanted) or "any element"

    def matches(self, element: Element) -> bool:
        """Whether `element` is one of those meant."""
        if self.tag is not None and element.tag != self.tag:
            return False
        if self.text is not None:
            shown = {element.text, element.attributes.get("aria-label", "")}
            if _collapsed(self.text) not in shown:
                return False
        have = element.attributes
        return all(have.get(name) == value for name, value in self.attributes.items())

    def among(self, elements: Iterable[Element]) -> Element | None:
        """Return the `nth` matching element; None if there is none."""
        found = [each for each in elements if self.matches(each)]
        return found[self.nth] if self.nth < len(found) else None


def elements_of(selector_map: Mapping[int, Any]) -> tuple[Element, ...]:
    """Read browser-use's selector map, in the order of the page."""
    return tuple(
        Element(
            index=index,
            tag=str(node.tag_name),
            text=_collapsed(node.get_all_children_text()),
            attributes={name: str(value) for name, value in (node.attributes or {}).items()},
        )
        for index, node in selector_map.items()
    )


def _collapsed(text: str) -> str:
    return " ".join(text.split())
