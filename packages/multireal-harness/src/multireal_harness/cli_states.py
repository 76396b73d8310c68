"""The commands about end states: check, compare, validate ground truth, export."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bench_core import exit_codes
from bench_core.cli import FiniteRange, echo_wrapped, json_option, json_text, render_table
from bench_core.errors import NotEstimableError
from bench_core.terminal import plain_lines

if TYPE_CHECKING:
    from multireal_harness.ground_truth.validation import TruthReport
    from multireal_harness.states.comparison import StateComparison

_FILE = click.Path(exists=True, path_type=Path)
_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command("check-state")
@click.argument("path", type=_FILE)
@click.option(
    "--tasks-dir", metavar="DIR", help="Folder of tasks.  [default: $MULTIREAL_TASKS_DIR]"
)
@click.option("--task", metavar="ID", help="Task of the state.  [default: the file's name]")
@click.option(
    "--seeds",
    type=_FILE,
    metavar="FILE|DIR",
    help="End states of untouched apps, to compare initial states with.",
)
@json_option
def check_state(
    path: Path,
    tasks_dir: str | None,
    task: str | None,
    seeds: Path | None,
    as_json: bool,
) -> None:
    """Check whether end states (a file or a folder) are sound and contain what the task asks for; exit code 1 if not."""
    from multireal_harness.states.file_checks import check_files, symptoms_text

    found = check_files(path, tasks_dir, task, seeds)
    if as_json:
        click.echo(json.dumps({k: [s.model_dump() for s in v] for k, v in found.items()}, indent=2))
    else:
        echo_wrapped(plain_lines(symptoms_text(found)))
    if any(each.serious for symptoms in found.values() for each in symptoms):
        raise click.exceptions.Exit(exit_codes.FELL_SHORT)


@click.command("compare-states")
@click.argument("first", type=_FILE)
@click.argument("second", type=_FILE)
@click.option(
    "--at-least",
    type=FiniteRange(0, 1),
    metavar="SHARE",
    help="Exit code 1 if they are less similar.",
)
@json_option
def compare(first: Path, second: Path, at_least: float | None, as_json: bool) -> None:
    """Compare what changed in two end states, in any order, with ids and times masked."""
    from multireal_harness.states.comparison import compare_states
    from multireal_harness.states.files import read_states

    found = compare_states(read_states(first).apps, read_states(second).apps)
    click.echo(json_text(found) if as_json else plain_lines(_comparison_text(found)))
    if at_least is not None and (found.ratio is None or found.ratio < at_least):
        raise click.exceptions.Exit(exit_codes.FELL_SHORT)


@click.command("validate-ground-truth")
@click.argument("truth", type=_FOLDER)
@click.option(
    "--tasks-dir", metavar="DIR", help="Folder of tasks.  [default: $MULTIREAL_TASKS_DIR]"
)
@click.option("--no-synthetic", is_flag=True, help="Only states that people made.")
@click.option(
    "--run",
    "run_folder",
    type=_FOLDER,
    metavar="RUN",
    help="Also correct this run's success rate for the queries' error rates.",
)
@click.option(
    "--claims",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Also show states on which these claims (`llm-judge claims compile`) and the queries disagree.",
)
@click.option("--verbose", "-v", is_flag=True, help="Show every eval that does not pass.")
@json_option
def validate(
    truth: Path,
    tasks_dir: str | None,
    no_synthetic: bool,
    run_folder: Path | None,
    claims: Path | None,
    verbose: bool,
    as_json: bool,
) -> None:
    """Evaluate the tasks' queries on end states whose outcome is known."""
    from multireal_harness.ground_truth.validation import find_truth, validate_ground_truth
    from multireal_harness.tasks import load_definitions, resolve_tasks_dir

    definitions = load_definitions(resolve_tasks_dir(tasks_dir))
    known = find_truth(truth, synthetic=not no_synthetic)
    found = validate_ground_truth(definitions, known, claims=claims)
    corrected = _corrected(run_folder, found) if run_folder else None
    if as_json:
        record = found.model_dump(mode="json")
        click.echo(json.dumps({**record, "corrected": corrected}, indent=2))
    else:
        echo_wrapped(plain_lines(_truth_text(found, corrected, verbose=verbose)))
    if found.examples or not all(found.tasks.values()):
        raise click.exceptions.Exit(exit_codes.FELL_SHORT)


@click.command("export")
@click.argument("run_folder", type=_FOLDER)
@click.option(
    "--layout",
    type=click.Choice(["plan"]),
    default="plan",
    show_default=True,
    help="raw/TASK/MODEL.json and aggregated/summary_*.json.",
)
@click.option(
    "--out",
    "-o",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    metavar="DIR",
    help="Folder for the files.",
)
@click.option(
    "--with-states", is_flag=True, help="Write end states into the results instead of their paths."
)
def export(run_folder: Path, layout: str, out: Path, with_states: bool) -> None:
    """Write a run's results in another layout."""
    from multireal_harness.export import export_plan

    del layout  # there is one
    written = export_plan(run_folder, out, with_states=with_states)
    click.echo(f"{len(written)} files written to {out}")


def _comparison_text(found: StateComparison) -> str:
    rows = [
        (each.app, each.first, each.second, each.shared, _ratio(each.ratio)) for each in found.apps
    ]
    headers = ("app", "changes 1", "changes 2", "shared", "similarity")
    lines = [
        render_table(headers, rows),
        "",
        f"similarity over all apps: {_ratio(found.ratio) or '-'}",
    ]
    for each in found.apps:
        lines += [f"{each.app}: only in the first:  {line}" for line in each.first_only]
        lines += [f"{each.app}: only in the second: {line}" for line in each.second_only]
    return "\n".join(lines)


def _ratio(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f}"


def _truth_text(found: TruthReport, corrected: dict[str, Any] | None, *, verbose: bool) -> str:
    kept = {each for each in ("pass", "fail", "error", "todo") if found.outcomes.get(each)}
    lines = []
    for each in found.evals:
        wrong = each.outcome != "pass" if each.source != "negative" else False
        if verbose and wrong:
            lines.append(
                f"{each.task_id} eval {each.index} ({each.source}): {each.outcome}: {each.criterion}"
            )
            lines.append(f"  {each.detail}")
    for one in found.examples:
        by = f"approved by {one.claim_by}" if one.claim_by else "found adequate"
        query = f"the query gives {one.found}, which is {'' if one.met else 'not '}expected"
        lines += [
            f"{one.task_id} eval {one.index} and its claim differ: {one.criterion}",
            f"  in {one.file}: {one.change}",
            f"  {query}; the claim ({by}) is {'true' if one.claim else 'false'}",
        ]
    for name, proposals in found.unmatched.items():
        hint = f"; did you mean {', '.join(proposals)}?" if proposals else ""
        lines.append(f"{name} is the state of no task{hint}")
    rows = [(source, count) for source, count in found.states.items()]
    lines += ["", render_table(("states", "number"), rows), ""]
    lines.append("evals: " + ", ".join(f"{found.outcomes[each]} {each}" for each in sorted(kept)))
    if found.pass_rate is not None:
        lines.append(f"evals that pass where the task was done: {found.pass_rate}")
    if found.accuracy is not None:
        lines.append(f"queries against the truth of whole tasks: {found.accuracy.agreement}")
        lines.append(f"  of successes passed:  {found.accuracy.sensitivity or 'no known success'}")
        lines.append(f"  of failures refused:  {found.accuracy.specificity or 'no known failure'}")
    if corrected is not None:
        lines += [
            f"success rate of the run:  {corrected['rate']}",
            f"  corrected: {corrected['text']}",
        ]
    wrong_tasks = [task for task, right in found.tasks.items() if not right]
    lines.append(
        f"{len(found.tasks) - len(wrong_tasks)} of {len(found.tasks)} tasks agree with the truth"
    )
    lines += [f"  not: {', '.join(wrong_tasks)}"] if wrong_tasks else []
    return "\n".join([*lines, *(f"Note: {each}" for each in found.limits)])


def _corrected(run_folder: Path, found: TruthReport) -> dict[str, Any]:
    from bench_core.run_folder import read_run
    from bench_core.statistics import wilson
    from multireal_harness.ground_truth.validation import corrected_rate

    scored = [each for each in read_run(run_folder).results.values() if each.score is not None]
    if not scored:
        raise NotEstimableError(f"{run_folder} has no scored trial")
    rate = wilson(sum(bool(each.success) for each in scored), len(scored))
    fixed = corrected_rate(rate, found.accuracy) if found.accuracy else None
    text = (
        str(fixed) if fixed else "not possible: no known failure, or queries no better than chance"
    )
    record = fixed.model_dump(mode="json") if fixed else None
    return {"rate": str(rate), "corrected": record, "text": text}
