"""The table of reasons in docs/computer-use.md, from `counts.json`: `python reasons_table.py --write` brings it up to date.

`compare.py` and `compare_texts.py` write the counts with the same option; `nox -s reference_loops -- --write` runs all.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

__all__ = ["PAGE", "with_reasons"]

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "computer-use.md"
_TABLE = re.compile(r"(<!-- reasons: .*? -->\n).*?(<!-- end -->)", re.DOTALL)


def with_reasons(page: str) -> str:
    """Return the page with its table of reasons as it has to be."""
    counts = json.loads((HERE / "counts.json").read_text(encoding="utf-8"))
    lines = ["| loop of | differences | why we differ |", "| --- | --- | --- |"]
    for name, each in sorted(counts.items()):
        compared = f"{each['exchanges']} exchanges, {each['requests']} requests"
        lines.append(
            f"| **{name} {each['version']}** | {sum(each['reasons'].values())} | *{compared}* |"
        )
        lines += [f"| {name} | {count} | {why} |" for why, count in each["reasons"].items()]
    table = "\n".join(lines)
    return _TABLE.sub(lambda found: f"{found[1]}{table}\n{found[2]}", page)


if __name__ == "__main__":
    fresh = with_reasons(PAGE.read_text(encoding="utf-8"))
    if "--write" in sys.argv:
        PAGE.write_text(fresh, encoding="utf-8")
    raise SystemExit(fresh != PAGE.read_text(encoding="utf-8"))
