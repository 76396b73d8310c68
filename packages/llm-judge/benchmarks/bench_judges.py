"""Careless scripted models on 200 generated cases, half of them wrong: what becomes of their passes.

The same models are asked in the ways of others: one overall answer on the head of the state (WebJudge), and a yes
or no per rubric without evidence (as autoevals and pydantic-evals ask). A careless model says yes either way;
what differs is what is made of it. With `--docs FILE` the table is written between its marks there::

    python packages/llm-judge/benchmarks/bench_judges.py --docs docs/judge-calibration.md
"""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_core.cli.tables import render_table
from bench_core.models import Model, ScriptedAdapter
from llm_judge import Judge
from llm_judge.benching import bench
from llm_judge.generated import generated_cases
from llm_judge.personas import adversary, gullible_spare, rubber_stamp, sloppy

if TYPE_CHECKING:
    from llm_judge.benching import BenchReport

CASES, SEED, BOUND = 200, 0, 0.02
MODELS: dict[str, Any] = {
    "rubber stamp": rubber_stamp,
    "sloppy": sloppy,
    "gullible": gullible_spare(
        "confirmed"
    ),  # every state holds it: a record it takes for an order to pass
    "adversary": adversary,
}
BEGIN, END = "<!-- careless models: begin -->", "<!-- careless models: end -->"


def main() -> None:
    """Print the table; exit with 1 if a careless model passes more than 2% of wrong states."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--docs", type=Path)
    docs = parser.parse_args().docs
    reports = {name: asyncio.run(judged(persona)) for name, persona in MODELS.items()}
    operators = sorted(
        {row.operator for each in reports.values() for row in each.rows if row.wrong_states}
    )
    rows = [
        (operator, *(passed(each, operator) for each in reports.values()), "all", "all")
        for operator in operators
    ]
    totals = [total(each) for each in reports.values()]
    rows.append(("**all**", *(f"**{passed} of {n}**" for passed, n in totals), "100%", "100%"))
    headers = ("wrong by", *reports, "asked as WebJudge", "asked per rubric")
    print(render_table(headers, rows))
    if docs is not None:
        write(docs, headers, rows)
    raise SystemExit(1 if any(passed > BOUND * n for passed, n in totals) else 0)


async def judged(persona: Any) -> BenchReport:
    """Try one model."""
    judge = Judge(Model(ScriptedAdapter(persona)))
    return await bench(judge, generated_cases(CASES, seed=SEED), workers=1)


def passed(report: BenchReport, operator: str) -> str:
    """How many states made wrong so it passes."""
    row = next(each for each in report.rows if each.operator == operator)
    return f"{row.passed} of {row.n}"


def total(report: BenchReport) -> tuple[int, int]:
    """How many wrong states it passes."""
    wrong = [each for each in report.rows if each.wrong_states]
    return sum(each.passed for each in wrong), sum(each.n for each in wrong)


def write(path: Path, headers: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """Write the table between its marks."""
    text = path.read_text(encoding="utf-8")
    lines = [f"| {' | '.join(each)} |" for each in (headers, ("---",) * len(headers), *rows)]
    before, _, rest = text.partition(BEGIN)
    path.write_text(
        f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{rest.partition(END)[2]}",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
