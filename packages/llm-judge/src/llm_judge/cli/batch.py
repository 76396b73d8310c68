"""Run `llm-judge batch`: cases in, verdicts out, progress on the way."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bench_core.budgets import Budget
from bench_core.cli import echo_wrapped
from bench_core.errors import InputError
from bench_core.models import price_row, published_prices
from bench_core.terminal import plain_text
from llm_judge.batch import judge_many
from llm_judge.case_files import case_of, read_case, read_lines
from llm_judge.model_calls.cost_estimate import is_paid

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bench_core.records.judge import JudgeCase, Verdict
    from llm_judge.batch import BatchResult
    from llm_judge.judge import Judge


def run_batch(
    cases: Sequence[JudgeCase],
    judge: Judge,
    out: Path,
    workers: int,
    limits: dict[str, Any],
    *,
    as_json: bool,
) -> BatchResult:
    """Judge cases; print each verdict as it comes.

    Raises:
        InputError: A dollar budget cannot be kept.
    """
    budget = Budget(
        max_cost_usd=limits["max_total_cost"],
        max_tokens=limits["max_tokens"],
        max_minutes=limits["max_minutes"],
    )
    if budget.max_cost_usd is not None:
        for model in (judge.model, judge.second):
            unknown = model is not None and is_paid(model.name)
            if unknown and model is not None and price_row(model.name, published_prices()) is None:
                raise InputError(
                    f"the price of {model.name} is unknown, so a budget of ${budget.max_cost_usd:g} cannot be kept: "
                    f"use --max-tokens or --max-minutes instead"
                )
    count = 0

    def show(verdict: Verdict) -> None:
        nonlocal count
        count += 1
        if not as_json:
            line = f"{count:>5}  {verdict.outcome:<8} {verdict.kind:<9} {verdict.case_id}  {_why(verdict)}"
            echo_wrapped(plain_text(line))

    return asyncio.run(
        judge_many(judge, cases, out=out, workers=workers, budget=budget, on_verdict=show)
    )


def _why(verdict: Verdict) -> str:
    """Return the criterion that decided: one that failed, one that is not accepted, else the weakest pass."""
    order = {"fail": ("fail", "unknown", "pass"), "pass": ("pass",)}.get(
        verdict.outcome, ("unknown", "fail", "pass")
    )
    kinds = ("unknown", "opinion", "supported", "proven")
    if verdict.outcome in {"error", "void"} or not verdict.criteria:
        return (verdict.reasoning.splitlines() or [""])[0]
    one = min(verdict.criteria, key=lambda c: (order.index(c.verdict), kinds.index(c.kind)))
    return f"{one.criterion_id}: {one.verdict} ({one.kind}): {one.doubt or one.reason}"


def read_cases(path: Path) -> list[JudgeCase]:
    """Read cases from JSON lines, one case file, or a folder of case files.

    Raises:
        InputError: There is none, or one cannot be read.
    """
    if path.is_dir():
        files = []
        for each in sorted(path.glob("*.json")):
            # a case and not a state
            with suppress(OSError), each.open("rb") as file:
                if b'"case_id"' in file.read(4096):
                    files.append(each)
        if not files:
            raise InputError(f"{path}: holds no case: a case is a JSON file with a case_id")
        return [read_case(each) for each in files]
    if path.suffix != ".jsonl":
        return [read_case(path)]
    return [case_of(data, path, where) for _, where, data in read_lines(path, "the cases")]
