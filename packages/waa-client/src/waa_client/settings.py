"""How trials run, beside what agents and tasks say."""

from __future__ import annotations

from typing import Literal

from pydantic import PositiveFloat

from bench_core.records import Record

__all__ = ["WaaSettings"]


class WaaSettings(Record):
    """How trials run.

    Attributes:
        reset_command: Restores a VM before each trial; `{url}` and `{host}` are filled in.
        setup: `server` asks the evaluator to set tasks up, `client` does vanilla's steps itself.
        asset_cache: Keeps downloads of the client's own set-up.
        evaluation_s: How long one evaluation may take.
        ask_again_s: Pause before an evaluator that does not answer is asked again; it grows.
    """

    reset_command: str | None = None
    setup: Literal["server", "client"] = "server"
    asset_cache: str | None = None
    evaluation_s: PositiveFloat = 900.0
    ask_again_s: PositiveFloat = 0.5
