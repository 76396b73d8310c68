"""Numbers of options that have to be finite."""

from __future__ import annotations

import math
from typing import Any

import click


class FiniteRange(click.FloatRange):
    """A range of numbers without `nan`, which is in no range and below none, and without `inf`."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number, or fail as click does."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(
                f"{value!r} is not a finite number; leave the option out for none.", param, ctx
            )
        return number


def share_of(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> float | None:
    """Turn a share or a difference of rates (`5pp`, `5%`, `0.05`) into a fraction."""
    if value is None:
        return None
    text = value.strip().lower()
    number = text.removesuffix("pp").removesuffix("%").strip()
    try:
        share = float(number) / (1 if number == text else 100)
    except ValueError:
        raise click.BadParameter(f"{value!r}: give a share as 5pp, 5% or 0.05") from None
    if not 0 <= share <= 1:
        raise click.BadParameter(f"{value!r} does not lie between 0 and 100%")
    return share
