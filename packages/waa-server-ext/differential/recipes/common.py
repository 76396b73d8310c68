"""What the recipes of all kinds share: arguments of a call, and chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

__all__ = ["Call", "Drawn", "damaged", "file", "sentence", "sometimes", "value"]

Call = dict[str, Any]
Drawn = tuple[list[Call], Call]
"""The arguments and the options of a call."""


def value(value: Any) -> Call:
    return {"value": value}


def file(name: str, **recipe: Any) -> Call:
    return {"file": name, **recipe}


def sometimes(rng: Random, chance: float) -> bool:
    return rng.random() < chance


def damaged(rng: Random, argument: Call) -> Call:
    """Return the file, now and then cut off, absent or no file of its kind at all."""
    name = argument["file"]
    recipe = {kind: what for kind, what in argument.items() if kind != "file"}
    kind = rng.choices(["whole", "cut", "other", "none"], [90, 4, 3, 3])[0]
    if kind == "cut":
        return file(name, cut={"of": recipe, "keep": rng.choice([0.0, 0.3, 0.9])})
    if kind == "other":
        return file(name, text="this is no such file")
    return value(None) if kind == "none" else argument


_WORDS = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "Größe",
    "naïve",
    "数据",
    "two",
    "",
    "spaces",
    "x1",
    "3.5",
    "-7",
    "~",
    "“quoted”",
    "tab\there",
]


def sentence(rng: Random, longest: int = 6) -> str:
    return " ".join(rng.choices(_WORDS, k=rng.randint(0, longest)))
