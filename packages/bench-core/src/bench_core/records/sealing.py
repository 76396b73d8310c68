"""Whether answers were out of reach while a trial ran."""

from __future__ import annotations

from typing import Literal

from bench_core.records.base import Record


class Sealing(Record):
    """Whether the run's folder and the benchmark's answers were hidden while a trial ran.

    Attributes:
        agent: From the agent: `hidden` from its own process; `trusted`, Proctor's own code in the
            process of the run; or `open`.
        browser: From the browser it acted on: `hidden`, `open`, or `none` if it had none.
        way: How: `user-namespace` or `mount-namespace`.
        reason: Why something was open.
        lacks: The parts that the machine cannot hide from a sealed agent; names of
            `bench_core.sealing.parts.SEALED_PARTS`.
    """

    agent: Literal["hidden", "trusted", "open"] = "open"
    browser: Literal["hidden", "open", "none"] = "open"
    way: str | None = None
    reason: str | None = None
    lacks: tuple[str, ...] = ()

    @property
    def sealed(self) -> bool:
        """Whether nothing was open."""
        return "open" not in {self.agent, self.browser}
