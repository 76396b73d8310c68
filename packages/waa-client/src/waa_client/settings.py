"""How trials run, beside what agents and tasks say."""

from __future__ import annotations

from typing import Literal

from pydantic import PositiveFloat

from bench_core.records import Record

__all__ = ["WaaSettings"]


class WaaSettings(Record):
    """How trials run.

    Attributes:
        evaluators: Base URLs, one per VM in their order; without any, trials are not scored.
        reset_command: Restores a VM before each trial; `{url}` and `{host}` are filled in.
        setup: `server` asks the evaluator to set tasks up, `client` does vanilla's steps itself.
        asset_cache: Keeps downloads of the client's own set-up.
        stop_agent_s: How long an agent may take to end when its time is up.
    """

    evaluators: tuple[str, ...] = ()
    reset_command: str | None = None
    setup: Literal["server", "client"] = "server"
    asset_cache: str | None = None
    evaluation_s: PositiveFloat = 900.0
    stop_agent_s: PositiveFloat = 5.0
