"""The table of exploits in docs/integrity.md, written from what the packages' `audit` commands report.

    python -m nox_support.audit_table --write

runs the three commands, which takes many minutes. Reports that were written before, each by `audit --json`,
are read instead where they are named. Without `--write` the exit code is 1 when the page differs.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nox_support.packages import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["COMMANDS", "PAGE", "audited_ids", "main", "with_table"]

COMMANDS = ("webarena-runner", "multireal-harness", "waa-client")
"""The packages that have an `audit` command."""
PAGE = ROOT / "docs" / "integrity.md"
_TABLE = re.compile(r"(<!-- table: exploits -->\n).*?(<!-- end -->)", re.DOTALL)
_ROW = re.compile(r"^\| (?P<world>[\w-]+) \| \w+ \| `(?P<id>[\w-]+)` \|", re.MULTILINE)
_HEAD = "| world | class | exploit | what is tried | outcome | found |\n|---|---|---|---|---|---|"


def with_table(page: str, reports: Sequence[dict[str, Any]]) -> str:
    """Return the page with the table of the exploits in these reports."""
    rows = [_row(each) for report in reports for each in report["rows"]]
    table = "\n".join(["", _HEAD, *rows, "", _numbers(reports), "", ""])
    return _TABLE.sub(lambda found: found[1] + table + found[2], page)


def audited_ids(page: str) -> set[tuple[str, str]]:
    """Return the world and the id of each exploit in a page's table."""
    table = _TABLE.search(page)
    return set() if table is None else {(r["world"], r["id"]) for r in _ROW.finditer(table[0])}


def _row(row: dict[str, Any]) -> str:
    codes = ", ".join(f"`{each}`" for each in row["codes"]) or "-"
    what = row["summary"].replace("|", "\\|")
    return (
        f"| {row['world']} | {row['kind']} | `{row['id']}` | {what} | {row['verdict']} | {codes} |"
    )


def _numbers(reports: Iterable[dict[str, Any]]) -> str:
    rows = [each for report in reports for each in report["rows"]]
    honest = [each for report in reports for each in report["honest"]]
    verdicts = ("blocked", "flagged", "UNDETECTED", "not run")
    counts = ", ".join(f"{sum(r['verdict'] == v for r in rows)} {v}" for v in verdicts)
    flagged = sum(bool(each["codes"]) for each in honest)
    return (
        f"{len(rows)} exploits: {counts}. {len(honest)} honest runs beside them: {flagged} flagged."
    )


def _report(command: str) -> dict[str, Any]:
    # an audit that falls short still prints its report, which the table then shows
    ran = subprocess.run(  # noqa: S603  # our own commands
        [command, "audit", "--json"], stdout=subprocess.PIPE, check=False, text=True
    )
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the table into the page, or say whether it differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reports", nargs="*", type=Path, metavar="REPORT.json")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args(arguments)
    given = [json.loads(each.read_text("utf-8")) for each in asked.reports]
    page = PAGE.read_text("utf-8")
    wanted = with_table(page, given or [_report(each) for each in COMMANDS])
    if asked.write:
        PAGE.write_text(wanted, "utf-8")
    return int(not asked.write and wanted != page)


if __name__ == "__main__":
    sys.exit(main())
