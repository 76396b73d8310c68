"""The `multireal-harness` command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bench_core import exit_codes
from bench_core.cli import (
    demo_out_option,
    demo_workers_option,
    execute_doctor,
    json_option,
    list_tasks,
    rescore_options,
    run_options,
    runner_group,
    task_options,
)
from multireal_harness.__about__ import __version__
from multireal_harness.cli_states import check_state, compare, export, validate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench_core.records import Task

__all__ = ["main"]

_Command = TypeVar("_Command", bound="Callable[..., Any]")

_COLUMNS = ("app", "difficulty")
_MATCHES = ["equals", "truthy", "exists", "strict"]


def _tasks_dir_option(command: _Command) -> _Command:
    return click.option(
        "--tasks-dir", metavar="DIR",
        help="Folder of tasks; `v1` and `v2` are agisdk's where it is installed, `built-in` our own.  "
        "[default: $MULTIREAL_TASKS_DIR]",
    )(command)  # fmt: skip


def _query_options(command: _Command) -> _Command:
    """Add the options that choose tasks by what REAL knows of them."""
    for option in (
        click.option("--difficulty", "difficulties", multiple=True, metavar="LEVEL",
                     help="Only tasks of this difficulty."),
        click.option("--max-apps", type=click.IntRange(min=1), help="Only tasks with at most so many apps."),
        click.option("--min-apps", type=click.IntRange(min=1), help="Only tasks with at least so many apps."),
        click.option("--app", "--websites", "apps", multiple=True, metavar="APP",
                     help="Only tasks that use this app; repeat it for alternatives."),
    ):  # fmt: skip
        command = option(command)
    return command


def _judge_options(command: _Command) -> _Command:
    """Add the options about the judge."""
    for option in (
        click.option("--no-hybrid", is_flag=True, help="Let queries alone decide."),
        click.option("--audit-passes", type=click.FloatRange(0, 1), default=0.0, show_default=True, metavar="SHARE",
                     help="Also ask the judge about this share of passed tasks."),
        click.option("--judge-model", metavar="PROVIDER:MODEL", help="The judge's model."),
        click.option("--judge", metavar="NAME",
                     help="Ask this judge where a query fails; `llm-judge` is one."),
    ):  # fmt: skip
        command = option(command)
    return command


def _rule_options(command: _Command) -> _Command:
    """Add the options that say which rules score."""
    for option in (
        click.option("--match", type=click.Choice(_MATCHES), default="equals", show_default=True,
                     help="When a query's result meets the expectation; equals is the benchmark's rule."),
        click.option("--queries", type=click.Choice(["original", "fixed"]), default="original", show_default=True,
                     help="The task set's own queries, or as `lint --fix` rewrites them."),
    ):  # fmt: skip
        command = option(command)
    return command


def _environment_options(command: _Command) -> _Command:
    """Add the options about apps, browser and model."""
    for option in (
        click.option("--allow-model-mismatch", is_flag=True, help="Go on when the API answers with another model."),
        click.option("--models-dir", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
                     help="Your model configs (YAML), for --model NAME."),
        click.option("--timezone", default="America/Denver", show_default=True, help="What pages see as the time zone."),
        click.option("--locale", default="en-US", show_default=True, help="What pages see as the language."),
        click.option("--no-headless", is_flag=True, help="Show the browser."),
        click.option("--skip-unreachable", is_flag=True, help="Leave out tasks whose apps do not answer."),
        click.option("--solution", default="good", show_default=True, help="Which reference solution `scripted` does."),
        click.option("--world", type=click.Choice(["real", "built-in"]), default="real", show_default=True,
                     help="The apps the tasks name, or the local ones with their own tasks."),
    ):  # fmt: skip
        command = option(command)
    return command


@runner_group("multireal-harness", __version__)
def main() -> None:
    """Run agents on multi-app web tasks: queries first, judge second."""


@main.command()
@_tasks_dir_option
@task_options
@_query_options
@json_option
def tasks(**options: Any) -> None:
    """List the tasks; ids may go without their prefix."""
    known = _known_tasks(options)
    list_tasks(known, _with_ids(known, options), _COLUMNS)


@main.command()
@_tasks_dir_option
@click.option(
    "--schemas",
    type=click.Path(exists=True, path_type=Path),
    metavar="PATH",
    help="Learn the apps' shapes from this folder of end states, or read them from a file.",
)
@click.option("--no-schemas", is_flag=True, help="Look at the queries alone.")
@click.option("--fix", is_flag=True, help="Show how each defective eval should read.")
@click.option(
    "--write",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write the task set with all rewrites into this folder.",
)
@json_option
def lint(**options: Any) -> None:
    """Find queries that no correct run can satisfy; exit code 1 when there are any."""
    from multireal_harness.lint import lint_tasks, write_fixed  # noqa: PLC0415  # heavy, as what follows
    from multireal_harness.lint.rendering import lint_text  # noqa: PLC0415
    from multireal_harness.tasks import load_definitions, resolve_tasks_dir  # noqa: PLC0415

    folder = resolve_tasks_dir(options["tasks_dir"])
    report = lint_tasks(load_definitions(folder), _schemas(options))
    written = write_fixed(folder, report, options["write"]) if options["write"] else None
    if options["as_json"]:
        click.echo(report.model_dump_json(indent=2))
    else:
        click.echo(lint_text(report, fixes=options["fix"]))
        if written is not None:
            click.echo(f"{len(written)} changed tasks written to {options['write']}")
    if report.fatal_evals:
        raise click.exceptions.Exit(exit_codes.FELL_SHORT)


@main.command()
@_tasks_dir_option
@task_options
@_query_options
@_environment_options
@_judge_options
@_rule_options
@run_options(workers=1, agent_required=False)
def run(**options: Any) -> None:
    """Run an agent on tasks; the same command continues an unfinished run."""
    from multireal_harness.command_runs import run_from_options  # noqa: PLC0415  # heavy

    if options["world"] == "built-in":
        options["tasks_dir"] = options["tasks_dir"] or "built-in"
    run_from_options(_with_ids(_known_tasks(options), options))


@main.command()
@rescore_options
@_judge_options
@_rule_options
def rescore(run_folder: Path, name: str | None, as_json: bool, **options: Any) -> None:  # noqa: FBT001  # click's flag
    """Score a finished run again from its stored end states, without a browser."""
    from multireal_harness.command_runs import rescore_from_options  # noqa: PLC0415  # heavy

    rescore_from_options(run_folder, name, options, as_json=as_json)


@main.command()
@_tasks_dir_option
@click.option("--model", metavar="NAME", help="Also check that this model can be opened.")
@click.option(
    "--models-dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="Your model configs (YAML).",
)
@json_option
def doctor(**options: Any) -> None:
    """Check everything a run needs, the apps included, and say how to fix what is missing."""
    from multireal_harness.doctor import checks  # noqa: PLC0415  # heavy

    as_json = options.pop("as_json")
    execute_doctor(checks(**options), as_json=as_json)


@main.command()
@demo_out_option
@demo_workers_option
@click.option("--judge", metavar="NAME", help="A real judge instead of one that only counts.")
@click.option("--judge-model", metavar="PROVIDER:MODEL", help="The judge's model.")
@json_option
def demo(**options: Any) -> None:
    """Show the whole path on local apps: no key, no network, about a minute."""
    from multireal_harness.command_runs import demo_from_options  # noqa: PLC0415  # heavy

    demo_from_options(options)


@main.command("generate-ground-truth")
@click.argument("truth", type=click.Path(file_okay=False, path_type=Path))
@_tasks_dir_option
@task_options
@_query_options
@_environment_options
@click.option("--judge", required=True, metavar="NAME", help="Who decides which states are kept.")
@click.option("--judge-model", metavar="PROVIDER:MODEL", help="The judge's model.")
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    default=0.8,
    show_default=True,
    help="Keep states the judge is at least so sure of.",
)
@click.option("--force", is_flag=True, help="Also run tasks that have a synthetic state.")
@run_options(workers=1, agent_required=False)
def generate(**options: Any) -> None:
    """Run an agent, and keep the end states a judge is sure of as synthetic ground truth."""
    from multireal_harness.command_runs import generate_from_options  # noqa: PLC0415  # heavy

    if options["world"] == "built-in":
        options["tasks_dir"] = options["tasks_dir"] or "built-in"
    known = _known_tasks(options)
    generate_from_options(known, _with_ids(known, options))


for _command in (check_state, compare, validate, export):
    main.add_command(_command)


def _schemas(options: dict[str, Any]) -> Any:
    from multireal_harness.lint import load_schemas, shipped_schemas  # noqa: PLC0415  # reads JSON

    if options["no_schemas"]:
        return None
    return load_schemas(options["schemas"]) if options["schemas"] else shipped_schemas()


def _known_tasks(options: dict[str, Any]) -> list[Task]:
    from multireal_harness.tasks import load_tasks, resolve_tasks_dir  # noqa: PLC0415  # pydantic

    return load_tasks(resolve_tasks_dir(options["tasks_dir"]))


def _with_ids(known: Sequence[Task], options: dict[str, Any]) -> dict[str, Any]:
    """Turn REAL's own filters and ids without a prefix into the ids they select."""
    from multireal_harness.tasks import TaskQuery, select_tasks  # noqa: PLC0415  # pydantic

    query = TaskQuery(
        apps=options["apps"],
        min_apps=options["min_apps"],
        max_apps=options["max_apps"],
        difficulties=options["difficulties"],
    )
    if query == TaskQuery() and not options["ids"]:
        return options
    return {**options, "ids": select_tasks(known, query, options["ids"])}
