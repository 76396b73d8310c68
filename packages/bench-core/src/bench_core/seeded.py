"""Draws that are the same for the same seed."""

from __future__ import annotations

import random

__all__ = ["seeded"]


def seeded(seed: int | str | bytes) -> random.Random:
    """Return a generator that draws the same for the same seed, on every machine: for no secrets."""
    return random.Random(seed)  # noqa: S311  # see above
