"""`waa-server-ext rescore`: score stored verdicts again from their transcripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from bench_core.cli import echo_wrapped, json_option, render_table
from waa_server_ext.cli.options import evaluator_options

if TYPE_CHECKING:
    from waa_server_ext.server.rescore import Rescored


@click.command()
@click.option("--key", "keys", multiple=True, metavar="KEY", help="Only the verdict of this key.")
@evaluator_options
@json_option
def rescore(**options: Any) -> None:
    """Score stored verdicts again from their transcripts, without a VM.

    --cache names the folder of the server that stored them.
    """
    from waa_server_ext.server.rescore import rescore as run
    from waa_server_ext.server.startup import evaluator_settings

    settings = evaluator_settings(options)
    found = list(run(settings, settings.cache, options["keys"]))
    if options["as_json"]:
        lines = ",\n".join(each.model_dump_json() for each in found)
        click.echo(f"[{lines}]")
    else:
        rows = [
            (each.key, each.task, each.before.score, each.after.score, _remark(each))
            for each in found
        ]
        changed = sum(each.changed for each in found)
        table = render_table(("key", "task", "stored", "now", ""), rows)
        echo_wrapped(f"{table}\n\n{len(found)} scored again, {changed} changed")


def _remark(each: Rescored) -> str:
    if each.missed:
        return f"not in the transcript: {each.missed[0]}"
    if each.changed:
        return "changed"
    return "" if each.after.evaluation_error is None else each.after.reason
