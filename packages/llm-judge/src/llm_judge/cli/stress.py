"""What `llm-judge stress` does."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from llm_judge.bench.stress import payloads, stress
from llm_judge.bench.visibility import visibility
from llm_judge.case_files import read_case
from llm_judge.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bench_core.records.judge import JudgeCase
    from llm_judge.bench.stress import StressReport
    from llm_judge.bench.visibility import VisibilityReport

__all__ = ["run_stress"]


def run_stress(
    files: Sequence[Path], options: dict[str, Any]
) -> tuple[VisibilityReport, StressReport | None]:
    """Measure visibility, and with a model the rates of wrong verdicts."""
    cases = [read_case(each) for each in files]
    seen = visibility(cases, chars=options["chars"], every=options["every"])
    if options["model"] is None:
        return seen, None
    return seen, asyncio.run(_judged(cases, options))


async def _judged(cases: Sequence[JudgeCase], options: dict[str, Any]) -> StressReport:
    from bench_core.models import ReplyCache
    from llm_judge.judge import Judge

    async with Judge(
        options["model"],
        second=options["second"],
        policy=Policy(chars=options["chars"]),
        base_url=options["base_url"],
        cache=ReplyCache(options["cache"]) if options["cache"] else None,
    ) as judge:
        return await stress(
            judge,
            cases,
            seed=options["seed"],
            workers=options["workers"],
            per_operator=options["per_operator"],
            attacks=None if options["attacks"] is None else payloads()[: options["attacks"]],
        )
