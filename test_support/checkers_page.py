"""The tables of the page on checkers, written from what `tasks --checkers --json` prints.

`python -m test_support.checkers_page docs/checkers.md AUDIT.json --write` brings the table of one benchmark up to date;
`--findings FILE` also what its package brings of the audit. Tasks that this audit did not look at stay as they are.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import click

from bench_core import exit_codes
from bench_core.checkers import CheckerAudit, Findings, read_findings

__all__ = ["findings_text", "main", "with_table"]


def with_table(page: str, audit: CheckerAudit) -> str:
    """Return the page with the table of the audit's benchmark between its two comments."""
    place = rf"(<!-- table: {re.escape(audit.benchmark)} -->\n).*?(<!-- end -->)"
    return re.sub(
        place, lambda found: f"{found[1]}{_table(audit)}\n{found[2]}", page, flags=re.DOTALL
    )


@click.command()
@click.argument("page", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("audit", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--findings",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Also what a package brings of its audit.",
)
@click.option("--write", is_flag=True, help="Write the table instead of comparing it.")
def main(page: Path, audit: Path, *, findings: Path | None, write: bool) -> None:  # fmt: skip
    """Compare a table of PAGE with AUDIT; exit with 1 where they differ."""
    found = CheckerAudit.model_validate_json(audit.read_bytes())
    right = {page: with_table(page.read_text(encoding="utf-8"), found)}
    if findings is not None:
        right[findings] = findings_text(found.findings, findings)
    for path, text in right.items():
        if write:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            click.echo(f"{path} is not what {audit} says: add --write", err=True)
            raise click.exceptions.Exit(exit_codes.FELL_SHORT)


def findings_text(found: Findings, path: Path) -> str:
    """Return the text of `path` with what was found, a line for each task."""
    known = read_findings(path).tasks if path.exists() else {}
    tasks = {**known, **found.tasks}
    lines = [f"{json.dumps(name)}: {tasks[name].model_dump_json()}" for name in sorted(tasks)]
    head = f'"schema_version": 1, "checker": {json.dumps(found.checker)}, "seed": {found.seed}'
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
