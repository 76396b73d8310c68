"""The tables of the page on checkers, written from what `tasks --checkers --json` prints.

`python -m test_support.checkers_page docs/checkers.md AUDIT.json --write` brings the table of one benchmark up to date;
`--findings FILE` also what its package brings of it, and of further audits (`AUDIT.json BUILT_IN.json`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import click

from bench_core import exit_codes
from bench_core.checkers import CheckerAudit, Findings

__all__ = ["findings_text", "main", "with_table"]


def with_table(page: str, audit: CheckerAudit) -> str:
    """Return the page with the table of the audit's benchmark between its two comments."""
    place = rf"(<!-- table: {re.escape(audit.benchmark)} -->\n).*?(<!-- end -->)"
    return re.sub(
        place, lambda found: f"{found[1]}{_table(audit)}\n{found[2]}", page, flags=re.DOTALL
    )


@click.command()
@click.argument("page", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument(
    "audits", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option(
    "--findings",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Also what a package brings of these audits.",
)
@click.option("--write", is_flag=True, help="Write the table instead of comparing it.")
def main(page: Path, audits: Sequence[Path], *, findings: Path | None, write: bool) -> None:  # fmt: skip
    """Compare a table of PAGE with the first of AUDITS; exit with 1 where they differ."""
    found = [CheckerAudit.model_validate_json(each.read_bytes()) for each in audits]
    right = {page: with_table(page.read_text(encoding="utf-8"), found[0])}
    if findings is not None:
        right[findings] = findings_text([each.findings for each in found])
    for path, text in right.items():
        if write:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            click.echo(f"{path} is not what {audits[0]} says: add --write", err=True)
            raise click.exceptions.Exit(exit_codes.FELL_SHORT)


def findings_text(audits: Sequence[Findings]) -> str:
    """Return the text of the file with what the audits found, a line for each task."""
    tasks = {name: each for audit in audits for name, each in audit.tasks.items()}
    lines = [
        f"{json.dumps(name)}: {each.model_dump_json()}"
        for name, each in sorted(tasks.items(), key=lambda item: (item[1].task_id, item[0]))
    ]
    checker, seed = json.dumps(audits[0].checker), audits[0].seed
    head = f'"schema_version": 1, "checker": {checker}, "seed": {seed}'
    return f'{{{head}, "tasks": {{\n' + ",\n".join(lines) + "\n}}\n"


def _table(audit: CheckerAudit) -> str:
    weak: dict[tuple[str, str], set[str]] = {}
    for task in audit.tasks:
        for each in (*task.wrong_accepted, *task.right_refused):
            weak.setdefault((each.mutant.operator, each.mutant.verdict), set()).add(task.task_id)
    without = sum(not task.outcomes for task in audit.tasks)
    states = len(list(audit.outcomes))
    refused = audit.right_refused or "no right one is certain"
    lines = [
        "",
        f"{audit.checker}, seed {audit.seed}: {len(audit.tasks)} tasks, {without} of them without end states; {states} end states.",
        f"Wrong end states accepted: {audit.wrong_accepted}. Right ones refused: {refused}.",
        "",
        "| operator | should be | accepted | tasks judged wrongly, e.g. |",
        "|---|---|---|---|",
    ]
    for operator, verdict, count, total in audit.by_operator():
        tasks = sorted(weak.get((operator, verdict), ()), key=lambda each: (len(each), each))
        shown = f"{len(tasks)}: {', '.join(tasks[:5])}" if tasks else ""
        lines.append(f"| `{operator}` | {verdict} | {count} of {total} | {shown} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
