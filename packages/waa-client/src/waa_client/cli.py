"""The `waa-client` command: tasks, run, rescore, evaluate, probe, doctor, demo, compare."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from bench_core import exit_codes
from bench_core.cli import (
    Check,
    CommandUndecided,
    common_command,
    echo_wrapped,
    execute_doctor,
    execute_rescore,
    json_option,
    json_text,
    list_tasks,
    option,
    runner_group,
    share_of,
    stacked,
    world_option,
)
from bench_core.errors import EnvironmentFaultError, EvaluationError
from bench_core.terminal import plain_lines
from waa_client.__about__ import __version__
from waa_client.cli_examples import EXAMPLES
from waa_client.cli_vm import vm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bench_core.progress import Progress
    from bench_core.records import Task, World
    from bench_core.runs import DemoRun, Prepare
    from waa_client.openadapt import ImportedExecutions
    from waa_client.options import WaaRunOptions
    from waa_client.vanilla import Imported

__all__ = ["main"]

_FOLDER = click.Path(file_okay=False, path_type=Path)
_EXISTING = click.Path(exists=True, file_okay=False, path_type=Path)
_COLUMNS = ("domain",)


def _parts(text: str | None) -> tuple[str, ...] | None:
    """Return the comma-separated parts of a text."""
    return None if text is None else tuple(filter(None, map(str.strip, text.split(","))))


def _observed(
    _ctx: click.Context, _parameter: click.Parameter, text: str | None
) -> tuple[str, ...] | None:
    return _parts(text)


_source_options = stacked(
    option("Tasks", "--tasks-dir", type=_FOLDER, metavar="DIR",
           help="A checkout of WindowsAgentArena, or a folder with examples/.  [default: $WAA_TASKS]"),
    option("Tasks", "--index", metavar="FILE",
           help="Only the tasks of this index: test_all.json, test_custom.json."),
    option("Tasks", "--variant", type=click.Choice(["normal", "hard"]), default="normal",
           show_default=True, help="hard starts without open windows."),
)  # fmt: skip
_query_options = stacked(
    option("Tasks", "--domain", "domains", multiple=True, metavar="NAME",
           help="Only tasks of this domain, e.g. notepad; repeat it for several."),
    option("Tasks", "--app", "apps", multiple=True, metavar="NAME", help="Only tasks that need this application."),
    option("Tasks", "--infeasible/--feasible", default=None,
           help="Only tasks that cannot be done, or only those that can."),
    option("Tasks", "--network/--offline", default=None,
           help="Only tasks that need the Internet, or only those that do not."),
)  # fmt: skip
_vm_options = stacked(
    option("Where it runs", "--vm", "vms", metavar="URL[,URL...]", help="VMs: host, host:port or URL."),
    option("Where it runs", "--evaluate", "evaluators", metavar="URL[,URL...]",
           help="Addresses of waa-server-ext, one for each VM in the same order; without them nothing is scored."),
)  # fmt: skip
_evaluator_option = click.option(
    "--evaluate", "evaluator", metavar="URL", required=True, help="The evaluator."
)
_world_option = world_option(
    "Your VMs, or simulated desktops with their own tasks, one desktop per trial."
)
_episode_options = stacked(
    option("Where it runs", "--timing", type=click.Choice(["vanilla", "fast"]), default="fast", show_default=True,
           help="vanilla sleeps as WAA does, for parity; fast waits until the screen stops changing."),
    option("Where it runs", "--setup", type=click.Choice(["server", "client"]), default="server", show_default=True,
           help="Run the tasks' set-up steps in the evaluator (server) or in this client."),
    option("Where it runs", "--reset-command", metavar="COMMAND",
           help="Command that restores a VM before each trial; {url} and {host} are filled in."),
    option("Where it runs", "--check-before", is_flag=True,
           help="Also evaluate each task before the agent acts, and flag tasks that an earlier trial left done."),
    option("Where it runs", "--check-each-step", is_flag=True,
           help="Also evaluate after each action, for `rescore --each-step`; on simulated desktops only."),
    option("Where it runs", "--browser-profile", type=click.Choice(["default", "own"]), default="default", show_default=True,
           help="Profile of the browsers that set-up drives; Chrome 136 and later cannot be driven with the default "
                "one."),
    option("Where it runs", "--reset", metavar="snapshot[:TAG]",
           help="With --vm PROVIDER:N: the state to restore before each trial.  [default: the state at the start]"),
    option("Where it runs", "--asset-cache", type=_FOLDER, metavar="DIR",
           help="Folder that caches downloads of --setup client."),
    option("Agent", "--observe", metavar="WHAT[,WHAT...]", callback=_observed,
           help="Add elements, marks, tree, windows or none to observations.  [default: as the agent asks]"),
    option("Agent", "--few-shot", type=click.Path(path_type=Path), metavar="FILE|DIR",
           help="Demonstrations: one for all tasks, or found by the task's id."),
)  # fmt: skip


@runner_group("waa-client", __version__, examples=EXAMPLES)
def main() -> None:
    """Run and score agents on Windows Agent Arena."""


main.add_command(vm)


@common_command(
    main,
    _query_options,
    _source_options,
    _world_option,
    click.option(
        "--health",
        is_flag=True,
        help="Show which tasks cannot score, score without any work, or need the Internet, and why.",
    ),
    click.option(
        "--check-hosts", is_flag=True, help="With --health: look up every file on the Internet."
    ),
    click.option(
        "--evaluate",
        "evaluator",
        metavar="URL",
        help="With --health: score each task on this evaluator's untouched VM.",
    ),
    checkers=True,
)
def tasks(
    *,
    audit: Any,
    health: bool,
    check_hosts: bool,
    evaluator: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """List the tasks; ids may be written domain/id, domain_id or just id."""
    from bench_core.run_spec import select_tasks
    from waa_client.options import WaaTaskOptions

    asked = WaaTaskOptions(**options)
    known = asked.known()
    chosen = asked.with_ids(known)
    if health:
        picked = select_tasks(known, chosen.task_filter())
        _show_health(picked, evaluator, check_hosts=check_hosts, as_json=as_json)
        return
    if check_hosts or evaluator:
        raise click.UsageError("--check-hosts and --evaluate need --health")
    if audit is None:
        list_tasks(known, chosen, _COLUMNS, as_json=as_json)
        return
    from waa_client.checkers import DesktopChecker

    with DesktopChecker() as checker:
        list_tasks(known, chosen, as_json=as_json, audit=audit, checker=lambda: checker)


def _show_health(
    tasks: Sequence[Task], evaluator: str | None, *, check_hosts: bool, as_json: bool
) -> None:
    """Print the notes on tasks: from their files, or from asking hosts and an evaluator."""
    from waa_client.task_checks import check_files, check_idle
    from waa_client.task_health import health_text, task_notes

    try:
        asked = check_idle(tasks, evaluator) if evaluator else ()
    except EnvironmentFaultError as error:
        raise CommandUndecided(str(error)) from error
    asked = (*asked, *(check_files(tasks) if check_hosts else ()))
    notes = asked if evaluator or check_hosts else task_notes(tasks)
    if as_json:
        click.echo(json.dumps([note.model_dump(mode="json") for note in notes], indent=2))
    else:
        echo_wrapped(health_text(notes, tasks))


@common_command(
    main,
    _query_options,
    _source_options,
    _world_option,
    _vm_options,
    option("Where it runs", "--vm-spec", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
           help="With --vm PROVIDER:N, such as qemu:4: JSON specification of the VMs."),
    _episode_options,
    agent="vision",
)  # fmt: skip
def run(**options: Any) -> tuple[Prepare, WaaRunOptions]:
    """Run an agent on tasks; the same command continues an unfinished run."""
    from waa_client.benchmark import WaaBenchmark
    from waa_client.options import WaaRunOptions

    for name in ("vms", "evaluators"):
        options[name] = _parts(options[name]) or ()
    return WaaBenchmark.prepare, WaaRunOptions(**options)


@common_command(main, _evaluator_option)
def rescore(run_folder: Path, evaluator: str, **options: Any) -> None:
    """Score a finished run again from its stored transcripts, without a VM."""
    from waa_client.benchmark import WaaBenchmark

    benchmark = WaaBenchmark((), evaluator=evaluator)
    execute_rescore(benchmark, run_folder, **options)


@main.command()
@click.argument("task_id", metavar="TASK")
@_source_options
@_evaluator_option
@click.option("--action", "history", multiple=True, metavar="ACTION",
              help="An action of the history as WAA's harness records it, e.g. FAIL; repeat it for several.")  # fmt: skip
@json_option
def evaluate(
    task_id: str, evaluator: str, history: Sequence[str], *, as_json: bool, **options: Any
) -> None:
    """Evaluate a task on the VM as it is now; exit code 1 if it is not done, 3 if that is undecided."""
    from waa_client.live_evaluation import evaluate_now, verdict_text
    from waa_client.options import WaaTaskOptions

    known = WaaTaskOptions(**options).known()
    try:
        verdict = evaluate_now(known, task_id, evaluator, history)
    except (EnvironmentFaultError, EvaluationError) as error:
        raise CommandUndecided(str(error)) from error
    click.echo(json.dumps(verdict.raw, indent=2) if as_json else verdict_text(verdict))
    if verdict.score is None:
        raise click.exceptions.Exit(exit_codes.UNDECIDED)
    if verdict.score < 1.0:
        raise click.exceptions.Exit(exit_codes.FELL_SHORT)


@main.command()
@_vm_options
@click.option("--act/--look-only", default=True, help="Also move the pointer by one code block.")
@json_option
def probe(vms: str | None, evaluators: str | None, *, act: bool, as_json: bool) -> None:
    """Check a VM layer by layer: reach, screenshot, accessibility, action, evaluator."""
    from waa_client.probe import vm_checks

    execute_doctor(vm_checks(vms, evaluators, act=act), as_json=as_json)


@main.command("import-vanilla")
@click.argument("results", type=_EXISTING)
@_source_options
@click.option("--out", "-o", type=_FOLDER, required=True, metavar="DIR", help="The new run folder.")
@click.option(
    "--only",
    metavar="TEXT",
    help="Only results below folders with TEXT in their path, e.g. a model's name.",
)
@click.option(
    "--agent", default="navi", show_default=True, metavar="NAME", help="Name of the agent."
)
@click.option("--model", metavar="PROVIDER:MODEL", help="Name of its model.")
@json_option
def import_vanilla(
    results: Path,
    out: Path,
    only: str | None,
    agent: str,
    model: str | None,
    *,
    as_json: bool,
    **options: Any,
) -> None:
    """Read a result tree of WAA or WindowsAgentArena-V2 into a run folder."""
    from waa_client.options import WaaTaskOptions
    from waa_client.vanilla import import_results, imported_text

    known = WaaTaskOptions(**options).known()
    imported = import_results(results, out, known, only=only, agent=agent, model=model)
    click.echo(json_text(imported) if as_json else plain_lines(imported_text(imported)))


@common_command(
    main,
    _source_options,
    click.option(
        "--only", metavar="TEXT", help="Only results below folders with TEXT in their path."
    ),
    click.option(
        "--benchmark",
        default="waa",
        show_default=True,
        metavar="NAME",
        help="Benchmark of the tasks; if it is not WAA, tasks are those of --tasks-dir, or all that are found.",
    ),
)
def import_(
    results: Path, out: Path, benchmark: str, **options: Any
) -> Imported | ImportedExecutions:
    """Make a run folder from the results in RESULTS: WAA's, V2's, OSWorld's or openadapt-evals'."""
    from waa_client.imported import import_tree, planned_tasks
    from waa_client.options import WaaTaskOptions

    given = {name: options.pop(name) for name in ("only", "agent", "model")}
    tasks = planned_tasks(WaaTaskOptions(**options), benchmark)
    return import_tree(results, out, tasks, benchmark=benchmark, **given)


@main.command()
@click.argument("baseline", type=_EXISTING)
@click.argument("new", type=_EXISTING)
@click.option("--out", "-o", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Also write the comparison as JSON.")  # fmt: skip
@click.option("--report", "report_folder", type=_FOLDER, metavar="DIR",
              help="Also write bench-report's document on both runs.")  # fmt: skip
@click.option("--tolerance", callback=share_of, default="10pp", show_default=True, metavar="SHARE",
              help="Largest difference of success rates for a match.")  # fmt: skip
@json_option
def compare(
    baseline: Path,
    new: Path,
    out: Path | None,
    report_folder: Path | None,
    tolerance: float,
    *,
    as_json: bool,
) -> None:
    """Compare a run with a baseline, task by task; exit code 1 if it does not match."""
    from waa_client.baseline_comparison import compare_runs, comparison_text, write_report

    found = compare_runs(baseline, new, tolerance=tolerance)
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(found.model_dump_json(indent=2) + "\n", encoding="utf-8")
    if as_json:
        click.echo(json_text(found))
    else:
        echo_wrapped(comparison_text(found))
    if report_folder:  # after the verdict, which stands even if writing the document fails
        write_report([baseline, new], report_folder)
    if found.verdict == "differs":
        raise click.exceptions.Exit(exit_codes.FELL_SHORT)
    if found.verdict == "undecided":
        raise click.exceptions.Exit(exit_codes.UNDECIDED)


@common_command(main, _vm_options, _source_options, _world_option)
def doctor(
    *,
    tasks_dir: Path | None,
    index: str | None,
    variant: Literal["normal", "hard"],
    world: World,
    **planned: Any,
) -> Iterable[Check]:
    """Check everything a run needs and print how to fix what is missing."""
    from waa_client.doctor import checks
    from waa_client.options import WaaTaskOptions

    tasks = WaaTaskOptions(tasks_dir=tasks_dir, index=index, variant=variant, world=world)
    return checks(tasks, **planned)


@common_command(
    main,
    click.option(
        "--task",
        "-t",
        "ids",
        metavar="ID[,ID...]",
        help="Only these tasks of the simulated desktop.",
    ),
)
def demo(*, out: Path, ids: str | None) -> Callable[[Progress], Sequence[DemoRun]]:
    """Run the whole pipeline on a simulated desktop: no key, no Docker, no VM."""
    from waa_client.demo import run_demo

    return lambda progress: run_demo(out, progress=progress, ids=_parts(ids) or ())
