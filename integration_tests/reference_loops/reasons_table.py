"""The table of reasons in docs/computer-use.md, from `reasons.toml`: `python reasons_table.py --write` brings it up to date."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

__all__ = ["PAGE", "with_reasons"]

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "computer-use.md"
_TABLE = re.compile(r"(<!-- reasons: .*? -->\n).*?(<!-- end -->)", re.DOTALL)


def with_reasons(page: str) -> str:
    """Return the page with its table of reasons as it has to be."""
    reasons = tomllib.loads((HERE / "reasons.toml").read_text(encoding="utf-8"))
    rows = [
        f"| {provider} | {each['why']} |"
        for provider, listed in reasons.items()
        for each in {each["why"]: each for each in listed}.values()
    ]
    table = "\n".join(["| loop of | why we differ |", "| --- | --- |", *rows])
    return _TABLE.sub(lambda found: f"{found[1]}{table}\n{found[2]}", page)


if __name__ == "__main__":
    fresh = with_reasons(PAGE.read_text(encoding="utf-8"))
    if "--write" in sys.argv:
        PAGE.write_text(fresh, encoding="utf-8")
    raise SystemExit(fresh != PAGE.read_text(encoding="utf-8"))
