"""Builders of HTML, which escape all text that they have not built themselves."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any


class Markup(str):
    """Text that is HTML already and must not be escaped again."""

    __slots__ = ()


Node = Markup | str | int | float | None
"""Content of a tag: `None` is left out, plain text is escaped."""

_VOID = frozenset({"br", "hr", "img", "input", "link", "meta"})


def _render(node: Node) -> str:
    if node is None:
        return ""
    return node if isinstance(node, Markup) else escape(str(node))


def _attribute(name: str, value: Any) -> str:
    name = name.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'


def tag(element: str, /, *children: Node, **attributes: Any) -> Markup:
    """Return the `element`; an attribute that is None or False is left out.

    A trailing underscore is dropped (`class_`), others become hyphens (`data_id`).
    """
    opened = "".join(
        _attribute(key, value)
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if element in _VOID:
        return Markup(f"<{element}{opened}>")
    return Markup(f"<{element}{opened}>{''.join(map(_render, children))}</{element}>")


def link(text: Node, href: str, **attributes: Any) -> Markup:
    """Return a link."""
    return tag("a", text, href=href, **attributes)


def hidden(name: str, value: str) -> Markup:
    """Return a hidden form field."""
    return tag("input", type="hidden", name=name, value=value)


def field(label: str, name: str, value: str = "", kind: str = "text", **more: Any) -> Markup:
    """Return a labelled form field; `kind` is an input type or `textarea`."""
    ident = more.pop("id", name.replace("[", "_").replace("]", ""))
    if kind == "textarea":
        control = tag("textarea", value, name=name, id=ident, rows=4, **more)
    else:
        control = tag("input", type=kind, name=name, id=ident, value=value, **more)
    return tag("p", tag("label", label, for_=ident), control, class_="field")


def listing(headings: tuple[str, ...], rows: Iterable[tuple[Node, ...]]) -> Markup:
    """Return a table."""
    head = tag("tr", *(tag("th", each) for each in headings))
    body = (tag("tr", *(tag("td", cell) for cell in row)) for row in rows)
    return tag("table", tag("thead", head), tag("tbody", *body))


def document(title: str, css: str, *body: Node, script: str = "") -> str:
    """Return a whole page."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width"),
        tag("title", title),
        tag("style", Markup(css)),
    )
    code = tag("script", Markup(script)) if script else None
    page = tag("html", head, tag("body", *body, code), lang="en")
    return f"<!doctype html>{page}"
