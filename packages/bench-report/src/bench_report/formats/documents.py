"""Documents made from a report by templates: ours, or any Jinja file of the user's.

A template sees `report` (the record of report.json), `trials(run)`, `tasks`, and the filters by which
every format writes its figures (`percent`, `interval`, `points`, ...); `md` escapes text for Markdown.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from bench_core.errors import InputError
from bench_core.records import Status
from bench_report.model import Difference, Report, RunReport, TrialRow
from bench_report.text import numbers
from bench_report.text.phrases import DIFFERENCES_NOTE, SAME_TASKS_NOTE
from bench_report.text.untrusted import markdown

DOCUMENTS = {
    "comparison": "comparison.md.j2",
    "waa-baseline": "waa-baseline.md.j2",
    "webarena": "webarena.md.j2",
}
"""Our templates by name: models side by side, two harnesses on the same tasks, sites and templates."""
MATCH = 0.10
"""Success rates this close count as the same in the baseline document, if the limits allow it."""
_STEPS_MATCH = 0.20
_CRASHES = frozenset({Status.AGENT_ERROR, Status.ENVIRONMENT_ERROR, Status.EVALUATION_ERROR})


def render_document(report: Report, template: str | Path) -> str:
    """Fill a template, one of `DOCUMENTS` or a file, with a report.

    Raises:
        InputError: The template is missing or cannot be filled.
    """
    try:
        file = Path(template)
        if template in DOCUMENTS:
            file = Path(__file__).parent / "templates" / DOCUMENTS[str(template)]
        return _environment().from_string(file.read_text("utf-8")).render(report=report)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"template {template} cannot be read ({error}): give a file, or one of {', '.join(DOCUMENTS)}"
        ) from None
    except jinja2.TemplateError as error:
        line = getattr(error, "lineno", None)
        where = f", line {line}" if line else ""
        raise InputError(f"template {template}{where}: {error}") from None


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(  # without a loader: a template includes no other files
        undefined=jinja2.StrictUndefined,  # a misspelt field is an error, not an empty cell
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701  # Markdown, by the filter `md`
    )
    environment.filters |= {
        "md": markdown, **{name: getattr(numbers, name) for name in numbers.__all__}
    }  # fmt: skip
    environment.globals |= {
        "DIFFERENCES_NOTE": DIFFERENCES_NOTE,
        "SAME_TASKS_NOTE": SAME_TASKS_NOTE,
        "points_interval": numbers.points_interval,
        "by_rate": _by_rate,
        "by_task": _by_task,
        "cell": _cell,
        "confidence": lambda run, level: sum(
            row.confidence_of_passed.get(level, 0) for row in run.methods
        ),
        "crashes": lambda run: sum(row.status in _CRASHES for row in run.trials),
        "match_rate": _match_rate,
        "match_steps": _match_steps,
        "notes_on": _notes_on,
        "passed": lambda run: sum(row.success is True for row in run.trials),
        "domain": _domain,
        "known_truth": lambda run: run.audit.known if run.audit else 0,
    }
    return environment


def _by_rate(report: Report) -> list[RunReport]:
    """Return the runs, the best first, those without a rate last."""
    return sorted(
        report.runs,
        key=lambda run: (
            -1.0 if run.summary.success.estimate is None else run.summary.success.estimate
        ),
        reverse=True,
    )


def _by_task(run: RunReport) -> Mapping[str, list[TrialRow]]:
    found: defaultdict[str, list[TrialRow]] = defaultdict(list)
    for row in run.trials:
        found[row.task_id].append(row)
    return found


def _cell(rows: list[TrialRow]) -> str:
    """Write a task's trials: `PASS (H)` for one, `2/3` for several, `-` for none."""
    if not rows:
        return "-"
    if len(rows) > 1:
        scored = [row for row in rows if row.success is not None]
        return (
            f"{sum(bool(row.success) for row in scored)}/{len(scored)}" if scored else "not scored"
        )
    (row,) = rows
    if row.success is None:
        return "not scored"
    word = "PASS" if row.success else "FAIL"
    return word if row.confidence is None else f"{word} ({numbers.percent(row.confidence)})"


def _domain(report: Report, task_id: str) -> str:
    task = next((each for each in report.tasks if each.task_id == task_id), None)
    values = [value for group in (task.groups.values() if task else ()) for value in group]
    return values[0] if values else ""


def _notes_on(row: TrialRow) -> str:
    words = [row.status.value.replace("_", " ") if row.status is not Status.COMPLETED else ""]
    words += [
        (row.failure_mode or "").replace("_", " "),
        *(f"suspect: {each}" for each in row.suspect),
        *row.flags,
    ]
    return ", ".join(dict.fromkeys(filter(None, words)))


def _match_rate(found: Difference) -> str:
    """Decide whether success rates on these tasks match within `MATCH`: yes, no, or undecided."""
    within = found.same_tasks.within(MATCH) if found.same_tasks else None
    return {True: "yes", False: "no", None: "undecided"}[within]


def _match_steps(one: float | None, other: float | None) -> str:
    if not one or other is None:
        return "undecided"
    difference = other / one - 1
    return f"{'yes' if abs(difference) <= _STEPS_MATCH else 'no'} ({difference:+.0%})"


def comparison_json(report: Report) -> str:
    """Return the comparison as JSON: the fields of its Markdown, with intervals and exclusions."""
    trials = sum(len(run.trials) for run in report.runs)
    known = sum(run.audit.known for run in report.runs if run.audit)
    document = {
        "generated_at": report.generated.isoformat(),
        "models": [_model(run) for run in _by_rate(report)],
        "metadata": {
            "total_tasks_in_benchmark": len(report.tasks),
            "ground_truth_coverage": known / trials if trials else None,
            "evaluation_method": ", ".join(
                sorted({m.method for r in report.runs for m in r.methods})
            ),
            "caveats": list(dict.fromkeys(each.text for each in report.caveats)),
        },
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _model(run: RunReport) -> dict[str, Any]:
    summary, rate = run.summary, run.summary.success
    wins = sum(row.success is True for row in run.trials)
    levels: Counter[str] = Counter()
    for row in run.methods:
        levels.update(row.confidence_of_passed)
    audit = run.audit
    return {
        "name": run.label,
        "model_id": run.info.model,
        "agent": run.info.agent,
        "total_tasks": summary.coverage.tasks,
        "trials": summary.coverage.results,
        "passed": wins,
        "failed": summary.coverage.scored - wins,
        "not_scored": summary.coverage.results - summary.coverage.scored,
        "success_rate": rate.estimate,
        "interval": [rate.new_tasks.low, rate.new_tasks.high] if rate.new_tasks else None,
        "corrected_rate": audit.corrected.new_tasks.estimate if audit and audit.corrected else None,
        "total_time_seconds": summary.time_s.total,
        "total_cost_usd": summary.cost_usd.total,
        "by_eval_method": {row.method: row.scored for row in run.methods},
        "by_confidence": dict(levels),
    }
