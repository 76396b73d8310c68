"""Lint of a whole task set: counts of findings, and the task set with rewritten evals."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import NonNegativeInt

from bench_core.errors import InputError
from bench_core.files import write_atomic
from bench_core.records import Record
from multireal_harness.definitions import Definition
from multireal_harness.lint.findings import EvalReport
from multireal_harness.lint.rules import lint_task
from multireal_harness.states.schemas import Schemas

FIX_MARK = "proctor_fix"
"""The key under which a fixed eval keeps its original query and expectation."""


class LintReport(Record):
    """The findings about a task set.

    Attributes:
        tasks: Number of tasks.
        evals: Number of their evals with a query.
        fatal_evals: Number of evals that no correct run satisfies, or that a wrong one does.
        fatal_tasks: Number of tasks with such an eval.
        mended: Number of fatal evals with a sound rewrite: linted itself, it has no fatal finding, is not
            satisfied by an untouched state and asks for no less than the criterion.
        weakened: Number of fatal evals with a rewrite that asks for less than the criterion.
        unmended: Number of fatal evals with a rewrite that is still wrong; it is not written.
        by_code: Evals per code of finding, the most frequent first.
        without_evals: Tasks without evals, which cannot be scored.
    """

    tasks: NonNegativeInt
    evals: NonNegativeInt
    fatal_evals: NonNegativeInt
    fatal_tasks: NonNegativeInt
    mended: NonNegativeInt
    weakened: NonNegativeInt = 0
    unmended: NonNegativeInt = 0
    by_code: dict[str, NonNegativeInt]
    without_evals: tuple[str, ...] = ()
    reports: tuple[EvalReport, ...] = ()


def lint_tasks(definitions: Iterable[Definition], schemas: Schemas | None = None) -> LintReport:
    """Lint every query of a task set; see `lint_task`."""
    known = list(definitions)
    reports = [report for each in known for report in lint_task(each, schemas)]
    fatal = [each for each in reports if each.fatal]
    counts = Counter(code for each in reports for code in {f.code for f in each.findings})
    return LintReport(
        tasks=len(known),
        evals=len(reports),
        fatal_evals=len(fatal),
        fatal_tasks=len({each.task_id for each in fatal}),
        mended=sum(each.fix is not None and each.fix.sound for each in fatal),
        weakened=sum(
            each.fix is not None and each.fix.usable and each.fix.weaker for each in fatal
        ),
        unmended=sum(each.fix is not None and not each.fix.usable for each in fatal),
        by_code={code: counts[code] for code in sorted(counts, key=lambda c: (-counts[c], c))},
        without_evals=tuple(each.id for each in known if not each.evals),
        reports=tuple(reports),
    )


def fixed_definition(definition: Definition, schemas: Schemas | None = None) -> Definition:
    """Return a task in which every eval with a usable rewrite is rewritten."""
    evals = list(definition.evals)
    for each in lint_task(definition, schemas):
        if each.fix and each.fix.usable:
            update = each.fix.model_dump(include={"query", "expected_value"})
            evals[each.index] = evals[each.index].model_copy(update=update)
    return definition.model_copy(update={"evals": tuple(evals)})


def apply_fixes(raw: dict[str, Any], reports: Sequence[EvalReport]) -> dict[str, Any]:
    """Return a task's JSON with its rewritten evals, each with its original under `FIX_MARK`."""
    evals = [dict(each) for each in raw.get("evals", [])]
    for report in reports:
        if report.fix is not None and report.fix.usable:
            before = {"query": report.query, "expected_value": report.expected_value}
            evals[report.index] |= {
                "query": report.fix.query,
                "expected_value": report.fix.expected_value,
                FIX_MARK: {
                    **before,
                    "changes": list(report.fix.changes),
                    "weaker": report.fix.weaker,
                },
            }
    return {**raw, "evals": evals}


def write_fixed(source: Path, report: LintReport, out: Path) -> list[Path]:
    """Write the task set of the folder `source` with its rewrites into the folder `out`.

    Returns the files whose task was changed.

    Raises:
        InputError: `out` is the source: the original queries are the benchmark.
    """
    if out.resolve() == source.resolve():
        raise InputError(f"{out} has the original tasks: write the fixed ones elsewhere")
    out.mkdir(parents=True, exist_ok=True)
    by_task: dict[str, list[EvalReport]] = {}
    for each in report.reports:
        by_task.setdefault(each.task_id, []).append(each)
    changed = []
    for path in sorted(source.glob("*.json")):
        raw = json.loads(path.read_bytes())
        found = by_task.get(raw["id"], [])
        text = json.dumps(apply_fixes(raw, found), indent=2, ensure_ascii=False)
        write_atomic(out / path.name, f"{text}\n".encode())
        if any(each.fix and each.fix.usable for each in found):
            changed.append(out / path.name)
    return changed
