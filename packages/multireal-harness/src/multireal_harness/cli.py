"""The `multireal-harness` command."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bench_core import exit_codes
from bench_core.cli import (
    Check,
    FiniteRange,
    PanelCommand,
    common_command,
    demo_workers_option,
    echo_wrapped,
    execute_prepared,
    execute_rescore,
    json_option,
    json_text,
    list_tasks,
    option,
    render_table,
    run_options,
    runner_group,
    stacked,
    world_option,
)
from bench_core.terminal import plain_lines
from multireal_harness.__about__ import __version__
from multireal_harness.cli_examples import EXAMPLES
from multireal_harness.cli_states import check_state, compare, export, validate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from bench_core.progress import Progress
    from bench_core.runs import Prepare
    from multireal_harness.checkers import EvalChecker
    from multireal_harness.demo import JudgedDemoRun
    from multireal_harness.ground_truth.generation import Kept
    from multireal_harness.imported import ImportedResults
    from multireal_harness.options import MultiRealRunOptions

_COLUMNS = ("app", "difficulty")


def _refuse_unknown_zone(_ctx: click.Context, _parameter: click.Parameter, value: str) -> str:
    """Refuse a time zone that is unknown; if the system has no list of them, Chromium decides."""
    import zoneinfo  # only for commands that open pages

    known = zoneinfo.available_timezones()
    if known and value not in known:
        raise click.BadParameter(f"there is no time zone {value!r}: give one such as Europe/Berlin")
    return value


def _faults(
    _context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[Any, ...]:
    from multireal_harness.world.faults import read_faults  # only where given

    try:
        return tuple(fault for each in given for fault in read_faults(each))
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


_tasks_dir_option = option(
    "Tasks", "--tasks-dir", metavar="DIR",
    help="Folder of tasks; `v1` and `v2` are agisdk's, if it is installed, `built-in` the built-in ones.  [default: "
         "$MULTIREAL_TASKS_DIR]",
)  # fmt: skip
_models_dir_option = option(
    "Model", "--models-dir", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
    help="Your model configs (YAML), for --model NAME.",
)  # fmt: skip
_world_option = world_option(
    "The apps that the tasks name, or the local ones with their own tasks."
)
_fault_option = option(
    "Where it runs", "--fault", "faults", multiple=True, callback=_faults, metavar="app=NAME,PAGE=WHAT",
    help="Make a built-in app misbehave: `app=dining,finish=503x2` answers /finish with 503 twice; also "
    "config=..., page=slow:3, drop, stall, invalid_json, no_pre.",
)  # fmt: skip
_query_options = stacked(
    option("Tasks", "--app", "--websites", "apps", multiple=True, metavar="NAME",
           help="Only tasks that use this app; repeat it for alternatives."),
    option("Tasks", "--min-apps", type=click.IntRange(min=1), metavar="N", help="Only tasks with N apps or more."),
    option("Tasks", "--max-apps", type=click.IntRange(min=1), metavar="N", help="Only tasks with N apps or fewer."),
    option("Tasks", "--difficulty", "difficulties", multiple=True, metavar="NAME",
           help="Only tasks of this difficulty."),
)  # fmt: skip
_judge_options = stacked(
    option("Results", "--judge", metavar="NAME",
           help="Judge to ask if a query fails, such as `llm-judge`."),
    option("Results", "--judge-model", metavar="PROVIDER:MODEL", help="The judge's model."),
    option("Results", "--judge-second", metavar="PROVIDER:MODEL",
           help="A second model that must agree before anything passes."),
    option("Results", "--judge-base-url", metavar="URL", help="URL of the judge's model; no key is needed then."),
    option("Results", "--judge-samples", type=click.IntRange(min=1), metavar="N",
           help="How many answers of the judge's model must agree."),
    option("Results", "--judge-claims", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
           help="File of claims (`llm-judge claims compile`) that decide criteria before the judge's model is asked."),
    option("Results", "--judge-calibration", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
           help="File written by `llm-judge calibrate --out`; confidence is then a measured one."),
    option("Results", "--judge-max-cost", "judge_max_cost_usd", type=FiniteRange(min=0, min_open=True), metavar="USD",
           help="Budget for judging one trial."),
    option("Results", "--audit-passes", type=FiniteRange(0, 1), default=0.0, show_default=True, metavar="SHARE",
           help="Also ask the judge about this share of passed tasks."),
    option("Results", "--no-hybrid", is_flag=True, help="Score by queries alone, without a judge."),
    option("Results", "--label-budget", type=click.IntRange(min=1), metavar="N",
           help="At the end, list N judged trials for a person to label, in the run folder's labelling/."),
)  # fmt: skip
_rule_options = stacked(
    option("Results", "--queries", type=click.Choice(["original", "fixed"]), default="original", show_default=True,
           help="Score by the task set's own queries, or by those that `lint --fix` rewrites."),
    option("Results", "--match", type=click.Choice(["equals", "truthy", "exists", "strict"]), default="equals",
           show_default=True,
           help="How a query's result is compared with the expectation; equals is the benchmark's rule."),
)  # fmt: skip
_environment_options = stacked(
    _world_option,
    option("Agent", "--solution", default="good", show_default=True, metavar="NAME",
           help="Reference solution that the agent `scripted` carries out."),
    option("Tasks", "--skip-unreachable", is_flag=True, help="Leave out tasks whose apps do not answer."),
    option("Where it runs", "--no-headless", is_flag=True, help="Show the browser."),
    option("Where it runs", "--locale", default="en-US", show_default=True, metavar="NAME",
           help="Language of the pages."),
    option("Where it runs", "--timezone", default="America/Denver", show_default=True, metavar="NAME",
           callback=_refuse_unknown_zone, help="Time zone of the pages."),
    _models_dir_option,
    option("Model", "--allow-model-mismatch", is_flag=True, help="Continue if the API answers with another model."),
)  # fmt: skip


@runner_group("multireal-harness", __version__, examples=EXAMPLES)
def main() -> None:
    """Run agents on multi-app web tasks; scored by queries, and by a judge if a query fails."""


@common_command(
    main, _tasks_dir_option, _query_options, _world_option,
    option("Results", "--end-states", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
           help="With --checkers: end states in which tasks are done, as for `validate-ground-truth`.  [default on "
                "the built-in world: its solutions are done in Chromium]"),
    checkers=True,
)  # fmt: skip
def tasks(*, audit: Any, end_states: Path | None, as_json: bool, **options: Any) -> None:
    """List the tasks; ids may be given without their prefix."""
    from multireal_harness.options import MultiRealTaskOptions

    asked = MultiRealTaskOptions(**options)
    known = asked.known()
    chosen = asked.with_ids(known)

    def checker() -> EvalChecker:
        from bench_core.run_spec import select_tasks
        from multireal_harness.checkers import EvalChecker, known_states, solved_states

        if end_states is not None:
            return EvalChecker(known_states(end_states))
        own = asked.world == "built-in"
        return EvalChecker(solved_states(select_tasks(known, chosen.task_filter())) if own else {})

    list_tasks(known, chosen, _COLUMNS, as_json=as_json, audit=audit, checker=checker)


@main.command()
@_tasks_dir_option
@click.option(
    "--schemas",
    type=click.Path(exists=True, path_type=Path),
    metavar="FILE|DIR",
    help="Learn the apps' shapes from this folder of end states, or read them from a file.",
)
@click.option(
    "--no-schemas", is_flag=True, help="Check the queries alone, without the shapes of the apps."
)
@click.option("--fix", is_flag=True, help="Show the rewrite of each defective eval.")
@click.option(
    "--write",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write the task set with all rewrites into this folder.",
)
@json_option
def lint(**options: Any) -> None:
    """Find queries that no correct run can satisfy; exit code 1 if there are any."""
    from multireal_harness.lint import lint_tasks
    from multireal_harness.lint.report import write_fixed
    from multireal_harness.lint.text import lint_text
    from multireal_harness.tasks import load_definitions, resolve_tasks_dir

    folder = resolve_tasks_dir(options["tasks_dir"])
    report = lint_tasks(load_definitions(folder), _schemas(options))
    written = write_fixed(folder, report, options["write"]) if options["write"] else None
    if options["as_json"]:
        click.echo(json_text(report))
    else:
        echo_wrapped(lint_text(report, fixes=options["fix"]))
        if written is not None:
            click.echo(f"{len(written)} changed tasks written to {options['write']}")
    if report.fatal_evals:
        raise click.exceptions.Exit(exit_codes.FELL_SHORT)


@common_command(
    main,
    _tasks_dir_option,
    _query_options,
    _environment_options,
    _judge_options,
    _rule_options,
    _fault_option,
    agent_required=False,
)
def run(**options: Any) -> tuple[Prepare, MultiRealRunOptions]:
    """Run an agent on tasks; the same command continues an unfinished run."""
    from multireal_harness.benchmark import MultiRealBenchmark
    from multireal_harness.options import MultiRealRunOptions

    return MultiRealBenchmark.prepare, MultiRealRunOptions(**options)


@common_command(main, _tasks_dir_option)
def import_(results: Path, tasks_dir: str | None, out: Path, **options: Any) -> ImportedResults:
    """Make a run folder from agisdk's results in RESULTS, rescored from their end states."""
    from multireal_harness.imported import import_results
    from multireal_harness.tasks import load_tasks, resolve_tasks_dir

    return import_results(results, out, load_tasks(resolve_tasks_dir(tasks_dir)), **options)


@common_command(main, _tasks_dir_option, _judge_options, _rule_options)
def rescore(
    run_folder: Path,
    name: str | None,
    each_step: bool,
    as_json: bool,
    tasks_dir: str | None,
    **options: Any,
) -> None:
    """Score a finished run again from its stored end states, without a browser."""
    from bench_core.files import folder_name  # for the same reason as the next import
    from multireal_harness.benchmark import MultiRealBenchmark
    from multireal_harness.options import RuleOptions
    from multireal_harness.tasks import load_tasks

    asked = RuleOptions(**options)
    rules = asked.rules()
    name = name or f"{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}"
    labels = asked.label_files(run_folder / "rescores" / folder_name(name))
    # no script in a run folder is run: those of a task set are, which is read only where a task has one
    tasks = None if tasks_dir is None else load_tasks(tasks_dir)
    benchmark = MultiRealBenchmark(tasks, rules=rules, labels=labels)
    execute_rescore(
        benchmark,
        run_folder,
        name=name,
        profile=rules.profile,
        workers=4,
        each_step=each_step,
        as_json=as_json,
    )
    if labels is not None:
        chosen = labels.choose(rules.judge)
        click.echo(f"{len(chosen)} trials to label: {labels.folder}", err=True)


@common_command(main, _tasks_dir_option, _world_option, _models_dir_option)
def doctor(**options: Any) -> Iterable[Check]:
    """Check everything a run needs, including the apps, and print how to fix what is missing."""
    from multireal_harness.doctor import checks

    return checks(**options)


@common_command(
    main,
    demo_workers_option,
    click.option(
        "--judge",
        metavar="NAME",
        help="A real judge, instead of one that only counts changed apps.",
    ),
    click.option("--judge-model", metavar="PROVIDER:MODEL", help="The judge's model."),
    _fault_option,
)
def demo(
    *, out: Path, workers: int, faults: tuple[Any, ...], **judge: Any
) -> Callable[[Progress], Sequence[JudgedDemoRun]]:
    """Run the whole pipeline on local apps: no key, no network, about a minute."""
    from multireal_harness.demo import run_demo
    from multireal_harness.options import RuleOptions

    loaded = RuleOptions(**judge).loaded_judge()
    return lambda progress: run_demo(
        out, progress=progress, judge=loaded, workers=workers, faults=faults
    )


@main.command("generate-ground-truth", cls=PanelCommand)
@click.argument("truth", type=click.Path(file_okay=False, path_type=Path))
@_tasks_dir_option
@_query_options
@_environment_options
@option(
    "Results",
    "--judge",
    required=True,
    metavar="NAME",
    help="Judge that decides which states are kept.",
)
@option("Results", "--judge-model", metavar="PROVIDER:MODEL", help="The judge's model.")
@option(
    "Results",
    "--threshold",
    type=FiniteRange(0, 1),
    default=0.8,
    show_default=True,
    metavar="SHARE",
    help="Keep states if the judge is at least this confident.",
)
@option(
    "Tasks", "--force", is_flag=True, help="Also run tasks that already have a synthetic state."
)
@run_options(agent_required=False)
def generate(
    *, truth: Path, threshold: float, force: bool, dry_run: bool, as_json: bool, **options: Any
) -> None:
    """Run an agent, and keep end states that a judge is confident about as synthetic ground truth."""
    from multireal_harness.benchmark import MultiRealBenchmark
    from multireal_harness.ground_truth.generation import harvest, without_truth
    from multireal_harness.options import MultiRealRunOptions

    # only states that the judge has seen can be kept, passes too
    asked = without_truth(MultiRealRunOptions(**options, audit_passes=1.0), truth, force=force)
    if asked is None:
        click.echo(f"All these tasks have ground truth in {truth}; --force generates it again.")
        return
    code = exit_codes.OK
    try:
        execute_prepared(MultiRealBenchmark.prepare, asked, dry_run=dry_run, as_json=as_json)
    except click.exceptions.Exit as left:  # states of finished trials are kept in any case
        code = left.exit_code
    if dry_run or asked.out is None:
        return
    kept = harvest(asked.out, truth, threshold=threshold)
    echo_wrapped(plain_lines(_kept_text(kept, truth)))
    if code:
        raise click.exceptions.Exit(code)


for _command in (check_state, compare, validate, export):
    main.add_command(_command)


def _schemas(options: dict[str, Any]) -> Any:
    from multireal_harness.states.schemas import load_schemas, shipped_schemas  # reads JSON

    if options["no_schemas"]:
        return None
    return load_schemas(options["schemas"]) if options["schemas"] else shipped_schemas()


def _kept_text(kept: Sequence[Kept], truth: Path) -> str:
    rows = [
        (each.task_id, "kept" if each.kept else "not kept", each.negatives, each.reason)
        for each in kept
    ]
    table = render_table(("task", "state", "negatives", "why not"), rows)
    number = sum(each.kept for each in kept)
    return f"\n{table}\n\n{number} of {len(kept)} end states kept in {truth / 'synthetic'}"
