"""The `audit` command: exploits against the built-in world, honest agents beside them, as a table."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bench_core import exit_codes
from bench_core.cli.options import json_option
from bench_core.cli.tables import render_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from bench_core.audit import AuditReport, AuditWorld, Exploit

__all__ = ["audit_options", "audit_text", "execute_audit"]

_Command = TypeVar("_Command", bound="Callable[..., Any]")

_HEADERS = ("class", "exploit", "what was tried", "verdict", "score", "found")


def audit_options(command: _Command) -> _Command:
    """Add what every `audit` command takes: the exploits' ids, a folder and `--json`."""
    for option in (
        json_option,
        click.option(
            "--out", "-o", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
            help="Keep the trials' folders in DIR.",
        ),
        click.argument("ids", metavar="[EXPLOIT]...", nargs=-1),
    ):  # fmt: skip
        command = option(command)
    return command


def execute_audit(
    world: Callable[[], AbstractContextManager[AuditWorld]],
    exploits: Sequence[Exploit],
    *,
    ids: Sequence[str] = (),
    out: Path | None = None,
    as_json: bool = False,
) -> None:
    """Do what an `audit` command does, show it and exit with the right code.

    Exit codes: 0 every exploit ran and was blocked or flagged, and every honest run scored as its agent must
    and was not flagged; 1 otherwise.

    Args:
        world: Starts the built-in world.
        exploits: What can be tried.
        ids: Only these; honest agents then do not run.
        out: Keeps the trials' folders; by default they are removed.
        as_json: Print the record instead of a table.

    Raises:
        InputError: There is no exploit of such an id.
    """
    from bench_core.errors import InputError

    known = {each.id: each for each in exploits}
    if unknown := sorted(set(ids) - set(known)):
        raise InputError(f"no exploit {', '.join(unknown)}: there are {', '.join(known)}")
    chosen = [known[each] for each in ids] if ids else list(exploits)
    with tempfile.TemporaryDirectory(prefix="audit-") as temporary:
        report = _run(world, chosen, out or Path(temporary), honest=not ids)
    click.echo(report.model_dump_json(indent=2) if as_json else audit_text(report))
    if not report.passed:
        raise click.exceptions.Exit(exit_codes.FELL_SHORT)


def _run(
    world: Callable[[], AbstractContextManager[AuditWorld]],
    exploits: Sequence[Exploit],
    folder: Path,
    *,
    honest: bool,
) -> AuditReport:
    import asyncio  # slow, which --help can do without
    from dataclasses import replace

    from bench_core.audit import audit

    with world() as started:
        chosen = started if honest else replace(started, honest=())
        note = lambda line: click.echo(line, err=True)  # noqa: E731  # one use
        return asyncio.run(audit(chosen, exploits, folder, note=note))


def audit_text(report: AuditReport) -> str:
    """Return an audit as a table and a line of numbers."""
    rows = [
        (each.kind, each.id, each.summary, each.verdict, each.score, ", ".join(each.codes) or None)
        for each in report.rows
    ]
    counts = {
        verdict: sum(each.verdict == verdict for each in report.rows)
        for verdict in ("blocked", "flagged", "UNDETECTED", "not run")
    }
    flagged = sum(bool(each.codes) for each in report.honest)
    wrong = [f"{each.agent} on {each.task}: {each.fault}" for each in report.honest if each.fault]
    totals = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    numbers = (
        f"{len(report.rows)} exploits: {totals}; of {len(report.honest)} honest runs "
        f"{flagged} flagged, {len(wrong) - flagged} scored wrongly"
    )
    return "\n".join([render_table(_HEADERS, rows), "", *wrong, numbers])
