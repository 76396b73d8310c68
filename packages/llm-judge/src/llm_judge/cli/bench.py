"""Run `llm-judge bench`, `llm-judge stress` and `llm-judge label`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from bench_core.budgets import Budget
from bench_core.cli import echo_wrapped, render_table
from bench_core.errors import InputError
from bench_core.files import write_atomic
from bench_core.models import ReplyCache
from bench_core.records.judge import JudgeCase
from bench_core.statistics import Interval
from bench_core.terminal import plain_text
from llm_judge.batch import read_verdicts
from llm_judge.calibration.label_choice import next_to_label
from llm_judge.calibration.label_form import label_form, label_text
from llm_judge.calibration.labels import read_labels
from llm_judge.case_files import read_case
from llm_judge.cli.batch import read_cases
from llm_judge.cli.output import estimate_words, show_kinds
from llm_judge.judge import Judge
from llm_judge.meta_evaluation.generated_cases import generated_cases
from llm_judge.meta_evaluation.labelled_set import (
    MetaEvaluation,
    meta_evaluate,
    read_labelled,
    with_mutants,
)
from llm_judge.meta_evaluation.stress import StressReport, payloads, stress
from llm_judge.meta_evaluation.visibility import VisibilityReport, visibility
from llm_judge.policy import JudgePolicy
from llm_judge.states.effects import compact

_GENERATED = re.compile(r"generated:(\d{1,5})")


def run_bench(judge: Judge, given: str, options: dict[str, Any]) -> MetaEvaluation:
    """Judge a labelled set and the wrong states made of it, or generated cases."""
    generated = _GENERATED.fullmatch(given)
    if generated is None:
        labelled = read_labelled(Path(given))
    else:
        labelled = generated_cases(int(generated[1]), seed=options["seed"])
    if options["mutants"] and generated is None:
        labelled = with_mutants(labelled, options["mutants"], seed=options["seed"])
    budget = Budget(max_cost_usd=options["max_total_cost"])
    return asyncio.run(
        meta_evaluate(
            judge, labelled, out=options["out"], workers=options["workers"], budget=budget
        )
    )


def show_bench(report: MetaEvaluation, *, as_json: bool) -> None:
    """Print how a judge does, the advice last."""
    if as_json:
        click.echo(report.model_dump_json(indent=2))
        return
    rows = [
        (
            "wrong" if each.wrong_states else "right", each.operator, each.n, each.passed, each.failed,
            each.undecided, each.errors, estimate_words(each.wrong),
        )
        for each in report.rows
    ]  # fmt: skip
    headers = (
        "states",
        "operator",
        "n",
        "passed",
        "failed",
        "undecided",
        "errors",
        "judged wrongly",
    )
    click.echo(render_table(headers, rows))
    show_kinds(report.by_kind)
    rates: list[tuple[str, Interval | None]] = [
        ("decided", report.decided),
        ("wrong states it passes", report.false_pass),
        ("right states it fails", report.false_fail),
        ("kappa with the outcome", report.outcome.kappa if report.outcome else None),
        ("kappa with the process", report.process.kappa if report.process else None),
    ]
    click.echo(
        render_table(
            ("", "estimate [interval]"), [(name, estimate_words(each)) for name, each in rates]
        )
    )
    cost = "unknown" if report.cost_usd is None else f"${report.cost_usd:.4f}"
    click.echo(f"\n{report.cases} cases, cost {cost}")
    echo_wrapped(report.advice)


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
    async with Judge(
        options["model"],
        second=options["second"],
        policy=JudgePolicy(chars=options["chars"]),
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


def choose_cases(
    cases_path: Path, verdicts_path: Path, labels_path: Path, count: int, seed: int
) -> tuple[JudgeCase, ...]:
    """Return the cases to label next."""
    labels = read_labels(labels_path) if labels_path.exists() else {}
    cases = {each.case_id: each for each in read_cases(cases_path)}
    verdicts = [each for each in read_verdicts(verdicts_path) if each.case_id in cases]
    if not verdicts:
        raise InputError(f"{verdicts_path} holds no verdict on a case of {cases_path}")
    return tuple(cases[each] for each in next_to_label(verdicts, labels, count, seed=seed))


def ask_labels(cases: Sequence[JudgeCase], labels_path: Path) -> int:
    """Ask for labels at the terminal; each is written at once. Returns how many were given."""
    given = 0
    with labels_path.open("a", encoding="utf-8") as file:
        for number, case in enumerate(cases, 1):
            click.echo(f"\n--- {number} of {len(cases)}: {plain_text(label_text(case))}\n")
            answer = click.prompt(
                "All of it is so? yes, no, skip, quit",
                type=click.Choice(["y", "n", "s", "q"]), show_choices=True,
            )  # fmt: skip
            if answer == "q":
                break
            if answer in {"y", "n"}:
                file.write(compact({"case_id": case.case_id, "passed": answer == "y"}) + "\n")
                file.flush()
                given += 1
    return given


def write_form(cases: Sequence[JudgeCase], path: Path) -> None:
    """Write the form to label cases in."""
    write_atomic(path, label_form(cases).encode("utf-8"))
