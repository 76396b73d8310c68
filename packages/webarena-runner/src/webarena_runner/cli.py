"""The `webarena-runner` command; its commands about sites are in `cli_sites`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal

import click

from bench_core import exit_codes
from bench_core.cli import (
    Check,
    common_command,
    demo_workers_option,
    execute_rescore,
    json_option,
    json_text,
    list_tasks,
    option,
    render_table,
    runner_group,
    stacked,
    task_options,
    world_option,
)
from bench_core.terminal import plain_lines
from webarena_runner.__about__ import __version__
from webarena_runner.cli_examples import EXAMPLES
from webarena_runner.cli_sites import SITES, auth, config, environment_options, sites

if TYPE_CHECKING:
    from bench_core.cli import AuditOptions
    from bench_core.progress import Progress
    from bench_core.runs import DemoRun, Prepare
    from webarena_runner.checkers.audit import OfficialChecker
    from webarena_runner.imported import ImportedFolder
    from webarena_runner.options import WebArenaRunOptions

_SITES_OF_RUN = click.option(
    "--config", "config_file", metavar="FILE", type=click.Path(dir_okay=False, exists=True, path_type=Path),
    help="The sites' URLs during an official output's run; without it, each folder's run_config.json.",
)  # fmt: skip
_COLUMNS = ("site", "type", "difficulty")


@runner_group("webarena-runner", __version__, examples=EXAMPLES)
def main() -> None:
    """Run browser agents on WebArena-Verified, scored by its own evaluator."""


for _group in (auth, config, sites):
    main.add_command(_group)


_query_options = stacked(
    option("Tasks", "--site", "sites", type=click.Choice(SITES), multiple=True,
           help="Only tasks that use this site."),
    option("Tasks", "--exact-sites", is_flag=True, help="Only tasks that use the given sites and no others."),
    option("Tasks", "--without-site", "without_sites", type=click.Choice(SITES), multiple=True,
           help="Leave out tasks that use this site."),
    option("Tasks", "--type", "types", type=click.Choice(["MUTATE", "NAVIGATE", "RETRIEVE"], case_sensitive=False),
           multiple=True, help="Only tasks of this type."),
    option("Tasks", "--template", "templates", metavar="ID", multiple=True,
           help="Only tasks made from this template."),
    option("Tasks", "--hard/--not-hard", default=None,
           help="Only the hard subset of 258 tasks, or only the others."),
)  # fmt: skip
_environment_options = stacked(
    world_option("The sites you host, or the stand-in sites of this package."), environment_options
)
_site_use_options = stacked(
    option("Where it runs", "--reset", "resets", metavar="[SITE=]POLICY", multiple=True,
           help="Reset sites: never, before-run, before-mutating-trial or per-batch.  [default: never]"),
    option("Where it runs", "--reset-batch", type=click.IntRange(min=1), default=20, show_default=True, metavar="N",
           help="Mutating trials between two resets of a site with per-batch."),
    option("Where it runs", "--auth", "auth_folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path),
           help="Store logins in DIR and reuse them, instead of logging in for each trial."),
    option("Where it runs", "--restore-contact-probe", is_flag=True,
           help="Add to the shop's contact form the script that current images lack."),
)  # fmt: skip
_extract_options = stacked(
    option("Results", "--extract", type=click.Choice(["rules", "model"]),
           help="Restate answers of another form in the response format.  [default: they score 0]"),
    option("Results", "--extract-model", metavar="PROVIDER:MODEL",
           help="Model for --extract model.  [default: the agent's model]"),
)  # fmt: skip


@common_command(
    main,
    _query_options,
    world_option("With built-in, only the tasks of its stand-in sites."),
    checkers=True,
)
def tasks(*, audit: AuditOptions | None, as_json: bool, **options: Any) -> None:
    """List the tasks; ids may be ranges like 0-50."""
    from webarena_runner.options import WebArenaTaskOptions
    from webarena_runner.tasks import load_tasks  # reads the data set

    known = load_tasks()
    asked = WebArenaTaskOptions(**options).with_ids(known)
    list_tasks(known, asked, _COLUMNS, as_json=as_json, audit=audit, checker=_official_checker)


def _official_checker() -> OfficialChecker:
    from webarena_runner.checkers.audit import OfficialChecker  # reads the data set

    return OfficialChecker()


@common_command(
    main,
    _query_options,
    _environment_options,
    _site_use_options,
    option("Model", "--chat", type=click.Choice(["proctor", "browser-use"]), default="proctor", show_default=True,
           help="Call the model with Proctor's adapters or browser-use's own chat classes."),
    _extract_options,
    agent="browser-use",
    workers=None,
)  # fmt: skip
def run(**options: Any) -> tuple[Prepare, WebArenaRunOptions]:
    """Run an agent on tasks; the same command continues an unfinished run."""
    from webarena_runner.benchmark import WebArenaBenchmark
    from webarena_runner.options import WebArenaRunOptions

    return WebArenaBenchmark.prepare, WebArenaRunOptions(**options)


@common_command(
    main,
    _extract_options,
    click.option("--evaluator-python", metavar="FILE", type=click.Path(dir_okay=False, exists=True, path_type=Path),
                 help="Score with the webarena-verified that is installed for this Python interpreter."),
    _SITES_OF_RUN,
)  # fmt: skip
def rescore(
    *,
    evaluator_python: Path | None,
    run_folder: Path,
    config_file: Path | None,
    extract: Literal["rules", "model"] | None,
    extract_model: str | None,
    **options: Any,
) -> None:
    """Score a finished run again from its artifacts, without a browser, and show what changed.

    An official output folder, TASK_ID/agent_response.json and network.har, is scored as it is.
    """
    if not (run_folder / "run.json").exists() and not options["each_step"]:
        from webarena_runner.imported import is_official

        if is_official(run_folder):
            _score_official(run_folder, config_file, as_json=options["as_json"])
            return
    from webarena_runner.benchmark import WebArenaBenchmark
    from webarena_runner.evaluators import ForeignEvaluator
    from webarena_runner.extraction import Extraction

    asked = Extraction.of({"extract": extract, "extract_model": extract_model})
    benchmark = partial(WebArenaBenchmark, extract=asked)
    why = None if extract is None else f"answers restated by {extract}"
    if evaluator_python is None:
        execute_rescore(benchmark(), run_folder, reason=why, **options)
        return
    with ForeignEvaluator(evaluator_python) as foreign:
        other = f"webarena-verified {foreign.version} of {evaluator_python}"
        why = "; ".join(filter(None, [other, why]))
        execute_rescore(benchmark(evaluator=foreign), run_folder, reason=why, **options)


@common_command(main, _SITES_OF_RUN)
def import_(results: Path, out: Path, config_file: Path | None, **options: Any) -> ImportedFolder:
    """Make a run folder from another harness's trials in RESULTS.

    Official output folders are scored by the evaluator. BrowserGym's and AgentLab's trees keep the scores that they
    report, marked as such.
    """
    from webarena_runner.config import load_config
    from webarena_runner.imported import import_results
    from webarena_runner.tasks import load_tasks

    config = None if config_file is None else load_config(config_file)
    return import_results(results, out, load_tasks(), config=config, **options)


def _score_official(folder: Path, config_file: Path | None, *, as_json: bool) -> None:
    """Score an official output folder, and leave nothing but the printed output."""
    with TemporaryDirectory(prefix="webarena-official-") as scratch:
        made = import_(folder, Path(scratch) / "run", config_file)
    made = made.model_copy(update={"folder": str(folder)})
    click.echo(json_text(made) if as_json else plain_lines(made.text))


@main.command()
@click.argument("run_folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--trial",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Which trial of each task.",
)
@click.option(
    "--out",
    "-o",
    type=click.Path(file_okay=False, path_type=Path),
    default="submissions",
    show_default=True,
    metavar="DIR",
    help="Folder for the package.",
)
@click.option("--name", metavar="NAME", help="Name of the package.  [default: the time]")
@click.option("--folder", "as_folder", is_flag=True, help="Write a folder instead of a tar.gz.")
@click.option(
    "--even-built-in", is_flag=True, help="Package a run on the built-in world, to try it out."
)
@json_option
def submission(run_folder: Path, as_json: bool, **options: Any) -> None:  # fmt: skip
    """Package a run with webarena-verified's own packager; exit code 1 if tasks are missing."""
    from webarena_runner.submission import package_run

    made = package_run(run_folder, **options)
    click.echo(json_text(made) if as_json else plain_lines(made.text))
    if made.incomplete:
        raise click.exceptions.Exit(exit_codes.FELL_SHORT)


@main.command()
@task_options
@_query_options
@click.option("--derive", is_flag=True, help="Ask the installed evaluator instead of using the shipped notes.")  # fmt: skip
@json_option
def scorability(*, derive: bool, as_json: bool, **options: Any) -> None:
    """Show which tasks cannot score 1.0, or score it without any work, and why."""
    from bench_core.run_spec import select_tasks
    from webarena_runner.options import WebArenaTaskOptions
    from webarena_runner.reference_solutions.scorability import (
        derive_notes,
        installed_notes,
    )
    from webarena_runner.tasks import load_tasks  # reads the data set

    known = load_tasks()
    chosen = select_tasks(known, WebArenaTaskOptions(**options).with_ids(known).task_filter(), 0)
    found = derive_notes(chosen) if derive else installed_notes()
    wanted = {task.task_id for task in chosen}
    notes = tuple(note for note in found.notes if note.task_id in wanted)
    if as_json:
        click.echo(json_text(found.model_copy(update={"notes": notes})))
        return
    rows = [
        (note.task_id, note.kind, " ".join(filter(None, (note.reason, note.source))))
        for note in sorted(notes, key=lambda each: (each.kind, int(each.task_id)))
    ]
    click.echo(render_table(("task", "note", "reason"), rows))
    click.echo(f"\n{len({n.task_id for n in notes})} of {len(chosen)} tasks have a note")


@common_command(main, _environment_options)
def doctor(**options: Any) -> Iterable[Check]:
    """Check everything a run needs and print how to fix what is missing."""
    from webarena_runner.doctor import checks

    return checks(**options)


@common_command(
    main,
    demo_workers_option,
    click.option("--task", "-t", "ids", metavar="ID[,ID...]", help="Only these tasks."),
)
def demo(*, out: Path, workers: int, ids: str | None) -> Callable[[Progress], Sequence[DemoRun]]:
    """Run the whole pipeline on the built-in world: no key, no Docker, one or two minutes."""
    from webarena_runner.demo import demo_ids, run_demo

    chosen = demo_ids(ids)
    return lambda progress: run_demo(out, progress=progress, workers=workers, ids=chosen)
