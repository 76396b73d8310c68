"""The checks of the `doctor` commands that let the run's model play."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bench_core.cli.doctor import Check, CheckResult, failed, ok, warned
from bench_core.discovery import load_agent
from bench_core.errors import InputError
from bench_core.play.session import SIZES, PlayFinding, play
from bench_core.protocols import TrialContext

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench_core.models import Model

_FIX = "`Computer use` of the documentation says what each model is sent; or --agent-option dialect=... for another tool"


def play_checks(
    model: str | None,
    agent: str | None,
    *,
    wanted: bool,
    open_model: Callable[[], Model] | None = None,
) -> list[Check]:
    """Return the checks of the pages that a model plays, if they are asked for.

    Args:
        model: `provider:model`.
        agent: The agent that plays; `computer-use` by default.
        wanted: Whether they are asked for: a paid model needs some thirty requests.
        open_model: Opens the model if its name is not enough.

    Raises:
        InputError: No model is named.
    """
    if not wanted:
        return []
    if model is None:
        raise InputError("--play lets a model play: add --model")
    found: dict[str, PlayFinding] = {}
    name = agent or "computer-use"

    def shown(page: str) -> CheckResult:
        if not found:
            found.update(_played(name, model, open_model))
        finding = found[page]
        refused = f"; refused: {'; '.join(finding.refused)}" if finding.refused else ""
        if not finding.passed:
            return failed(finding.detail + refused, _FIX)
        return warned(finding.detail + refused, _FIX) if refused else ok(finding.detail)

    pages = [*(f"target {width}x{height}" for width, height in SIZES), "typing", "acts"]
    return [Check(f"{name} plays {page}", partial(shown, page)) for page in pages]


def _played(
    agent: str, model: str, open_model: Callable[[], Model] | None
) -> dict[str, PlayFinding]:
    context = TrialContext(run_id="doctor", folder=Path(), agent=agent, model=model)
    if open_model is not None:
        context = context.with_model_opener(lambda _: open_model())
    return {each.page: each for each in asyncio.run(play(load_agent(agent), context))}
