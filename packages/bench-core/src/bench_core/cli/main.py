"""`bench-core`: any installed benchmark, the schemas of the records, and checks of run folders."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bench_core import exit_codes
from bench_core.__about__ import __version__
from bench_core.cli.commands import execute_rescore, list_tasks
from bench_core.cli.common import common_command
from bench_core.cli.examples import EXAMPLES
from bench_core.cli.groups import runner_group
from bench_core.cli.machines import machines
from bench_core.cli.new import new
from bench_core.cli.nodes import nodes
from bench_core.cli.options import json_option
from bench_core.cli.serve import serve
from bench_core.cli.study import study
from bench_core.cli.tables import echo_wrapped, render_table
from bench_core.errors import pip_install
from bench_core.terminal import plain_text

if TYPE_CHECKING:
    from bench_core.discovery import PluginKind
    from bench_core.runs.options import RunOptions
    from bench_core.runs.prepare import Prepare

__all__ = ["main"]

_TOLD_EVERY_S = 5.0
_BENCHMARK = click.argument("benchmark", metavar="BENCHMARK")
_RUN = click.argument("run", type=click.Path(exists=True, file_okay=False, path_type=Path))


@runner_group("bench-core", __version__, examples=EXAMPLES)
def main() -> None:
    """Run any installed benchmark, and manage run folders, plugins and record schemas.

    Exit codes: 0 success, 1 a check or a trial fell short, 2 wrong usage or input.
    """


@main.command()
@click.option(
    "--kind",
    type=click.Choice(["benchmark", "agent", "guide", "judge", "reporter", "world", "provider"]),
    default=None,
)
@click.option("--load", is_flag=True, help="Import each plugin and name those that fail.")
@json_option
def plugins(kind: PluginKind | None, *, load: bool, as_json: bool) -> None:
    """List installed benchmarks, agents, judges, reporters, worlds, providers and guides for agents."""
    from bench_core.discovery import list_plugins

    rows = list_plugins(kind, load=load)
    click.echo(json.dumps(rows, indent=2) if as_json else _plugins_text(rows))
    if any(row.get("error") for row in rows):
        sys.exit(exit_codes.FELL_SHORT)


@common_command(main, _BENCHMARK)
def tasks(benchmark: str, *, as_json: bool, **options: Any) -> None:
    """List the tasks of BENCHMARK."""
    from bench_core.discovery import load_benchmark
    from bench_core.runs.options import TaskOptions

    list_tasks(load_benchmark(benchmark).tasks(), TaskOptions(**options), as_json=as_json)


@common_command(main, _BENCHMARK)
def run(benchmark: str, **options: Any) -> tuple[Prepare, RunOptions]:
    """Run an agent on BENCHMARK with that benchmark's defaults; the same command continues the run."""
    from bench_core.runs.options import RunOptions
    from bench_core.runs.prepare import prepare_installed

    return prepare_installed(benchmark), RunOptions(**options)


@common_command(main, _BENCHMARK)
def rescore(benchmark: str, run_folder: Path, **options: Any) -> None:
    """Score a finished run of BENCHMARK again from its artifacts."""
    from bench_core.discovery import load_benchmark

    execute_rescore(load_benchmark(benchmark), run_folder, **options)


@main.command()
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, metavar="DIR",
              help="Where the files go.")  # fmt: skip
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if a file is outdated.")
def schema(out: Path, *, check: bool) -> None:
    """Write the JSON Schemas of all records into a folder."""
    from bench_core.run_folder.schemas import stale_schemas, write_schemas  # --help quick

    if check:
        stale = stale_schemas(out)
        for name in stale:
            click.echo(f"{out / name}.json is outdated: run `bench-core schema --out {out}`")
        sys.exit(exit_codes.FELL_SHORT if stale else exit_codes.OK)
    for path in write_schemas(out):
        click.echo(path)


@main.command()
@_RUN
@click.option("--seal", is_flag=True, help="Print one digest of the whole run.")
@json_option
def check(run: Path, *, seal: bool, as_json: bool) -> None:
    """Check every file of the run folder RUN and list the problems; nothing is changed.

    Files that changed since the run wrote them are found by their checksums.
    """
    from bench_core.run_folder.maintenance import check_run, seal_of

    if seal:
        click.echo(seal_of(run, told=_Told()))
        return
    found = check_run(run, told=_Told())
    if as_json:
        fields = {**vars(found), "path": str(found.path)}
        click.echo(json.dumps(fields, indent=2))
    else:
        counts = ", ".join(f"{count} {status}" for status, count in found.statuses.items())
        head = f"{found.run_id}: {found.planned} trials planned; {counts or 'no results'}"
        for line in (head, *found.problems):
            echo_wrapped(plain_text(line))
    sys.exit(exit_codes.FELL_SHORT if found.problems else exit_codes.OK)


@main.command()
@_RUN
@json_option
def repair(run: Path, *, as_json: bool) -> None:
    """Move damaged lines of the run folder RUN to separate files; nothing is deleted."""
    from bench_core.run_folder.maintenance import repair_run

    moved = repair_run(run)
    if as_json:
        rows = [{"moved_to": str(each.moved_to), "lines": list(each.lines)} for each in moved]
        click.echo(json.dumps(rows, indent=2, default=str))
        return
    for each in moved:
        for line in each.lines:
            click.echo(plain_text(str(line)))
        click.echo(f"moved {len(each.lines)} line(s) to {each.moved_to}")
    click.echo("resume the run to repeat their trials" if moved else "nothing to repair")


main.add_command(machines)
main.add_command(new)
main.add_command(nodes)
main.add_command(serve)
main.add_command(study)


@main.command("agent-process", hidden=True)
def agent_process() -> None:
    """Run an agent for a run that says on standard input which one and on what; see the documentation."""
    from bench_core.agent_process.worker import serve_process

    serve_process()


@main.command("worker-process", hidden=True)
def worker_process() -> None:
    """Run trials for a run that says on standard input which ones; see the documentation."""
    from bench_core.workers.program import serve_worker

    serve_worker()


class _Told:
    """Reports a check's progress on standard error if it takes more than a few seconds."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, done: int, of: int) -> None:
        now = time.monotonic()
        if now - self._last >= _TOLD_EVERY_S:
            self._last = now
            click.echo(f"checked {done:,} of {of:,} results", err=True)


def _plugins_text(rows: list[dict[str, str]]) -> str:
    if not rows:
        return f"no plugins are installed; `{pip_install('webarena-runner')}` adds a benchmark"
    columns = ["kind", "name", "distribution", "version"]
    if any(row.get("error") for row in rows):
        columns.append("error")
    return render_table(columns, [[row.get(each) or None for each in columns] for row in rows])


if __name__ == "__main__":
    main()
