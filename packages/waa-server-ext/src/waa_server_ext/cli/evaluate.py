"""`waa-server-ext evaluate`: score a task on files, without a VM."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bench_core import exit_codes
from bench_core.cli import json_option
from waa_server_ext.cli.options import evaluator_options

if TYPE_CHECKING:
    from waa_server_ext.evaluation.verdicts import Verdict


@click.command()
@click.argument("task")
@click.option("--files", type=click.Path(file_okay=False, path_type=Path), required=True, metavar="DIR",
              help="The VM's files, as C/Users/... or loose under the names the task uses; reference "
              "files in DIR/gold.")  # fmt: skip
@click.option("--transcript", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="A verdict with its transcript, for values that are not files.")  # fmt: skip
@click.option("--tasks-dir", "tasks", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="Folder in which TASK is looked up as domain/stem.")  # fmt: skip
@click.option("--gave-up", is_flag=True, help="The agent's last action was FAIL.")
@evaluator_options
@json_option
def evaluate(task: str, **options: Any) -> None:
    """Score TASK (a JSON file, or domain/stem with --tasks-dir) on the files of a folder.

    Exits with 0 for a score of 1, 1 for less, 3 for no score.
    """
    from waa_server_ext.native.offline import evaluate_files, read_task
    from waa_server_ext.server.startup import evaluator_settings

    if options["checkout"] is not None:
        raise click.UsageError("evaluators of a checkout need a VM: use `waa-server-ext serve`")
    verdict = evaluate_files(
        evaluator_settings(options),
        read_task(task, options["tasks"]),
        ["FAIL"] if options["gave_up"] else [],
        options["files"],
        options["transcript"],
    )
    click.echo(verdict.model_dump_json() if options["as_json"] else _text(verdict))
    raise SystemExit(exit_codes.UNDECIDED if verdict.score is None else int(not verdict.success))


def _text(verdict: Verdict) -> str:
    lines = [f"score  {'none' if verdict.score is None else f'{verdict.score:g}'}", verdict.reason]
    lines += [f"note   {each}" for each in verdict.notes]
    return "\n".join(lines)
