"""The tables of the page on checkers, written from what `tasks --checkers --json` prints.

`python -m test_support.checkers_page docs/checkers.md AUDIT.json --write` brings the table of one benchmark up to date.
"""

from __future__ import annotations

import re
from pathlib import Path

import click

from bench_core import exit_codes
from bench_core.checkers import CheckerAudit

__all__ = ["main", "with_table"]


def with_table(page: str, audit: CheckerAudit) -> str:
    """Return the page with the table of the audit's benchmark between its two comments."""
    place = rf"(<!-- table: {re.escape(audit.benchmark)} -->\n).*?(<!-- end -->)"
    return re.sub(
        place, lambda found: f"{found[1]}{_table(audit)}\n{found[2]}", page, flags=re.DOTALL
    )


@click.command()
@click.argument("page", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("audit", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--write", is_flag=True, help="Write the table instead of comparing it.")
def main(page: Path, audit: Path, *, write: bool) -> None:
    """Compare a table of PAGE with AUDIT; exit with 1 where they differ."""
    text = page.read_text(encoding="utf-8")
    right = with_table(text, CheckerAudit.model_validate_json(audit.read_bytes()))
    if write:
        page.write_text(right, encoding="utf-8")
    elif text != right:
        click.echo(f"{page} is not what {audit} says: add --write", err=True)
        raise click.exceptions.Exit(exit_codes.FELL_SHORT)


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
