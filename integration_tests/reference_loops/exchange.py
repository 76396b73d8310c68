"""One exchange: a model's scripted replies, said to a provider's own loop and to our agent alike."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

__all__ = ["Difference", "Exchange", "differences"]


@dataclass(frozen=True)
class Exchange:
    """A conversation.

    Attributes:
        dialect: The dialect that our agent speaks.
        replies: The bodies of the model's replies, as its API sends them.
        browser: Whether it is about a browser, and not a desktop.
    """

    name: str
    model: str
    dialect: str
    replies: tuple[dict[str, Any], ...]
    browser: bool


@dataclass(frozen=True)
class Difference:
    """Where a request of ours is not that of the reference; a value that is not there is None."""

    exchange: str
    path: str
    reference: Any
    ours: Any

    def __str__(self) -> str:
        said = [json.dumps(each, ensure_ascii=False)[:200] for each in (self.reference, self.ours)]
        return f"{self.exchange}: {self.path}: the reference has {said[0]}, we have {said[1]}"


def differences(exchange: str, reference: Any, ours: Any, path: str = "") -> list[Difference]:
    """Return where two requests differ, as deep as both have the same kind of value."""
    if isinstance(reference, dict) and isinstance(ours, dict):
        return [
            found
            for key in sorted({*reference, *ours})
            for found in differences(
                exchange, reference.get(key), ours.get(key), f"{path}.{key}".removeprefix(".")
            )
        ]
    if isinstance(reference, list) and isinstance(ours, list):
        found = []
        for number in range(max(len(reference), len(ours))):
            sides = [each[number] if number < len(each) else None for each in (reference, ours)]
            found += differences(exchange, *sides, f"{path}[{number}]")
        return found
    return [] if reference == ours else [Difference(exchange, path, reference, ours)]
