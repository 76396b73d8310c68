"""100,000 results: this page beside a plain HTML table of the same rows.

Prints CPU seconds to generate beside those of parsing the same JSON, size, and seconds until the table can be used in headless Chromium:
for this page its first rows are drawn, a plain table is parsed and laid out as a whole.
Usage: bench_page.py [RESULTS]
"""

from __future__ import annotations

import html
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bench_core.testing import make_results, make_run, make_tasks
from bench_report import build_report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.sync_api import Browser

    from bench_core.records import TrialResult

TRIALS = 20
OPENINGS = 3
READINGS = 5.0
SIZE = 5_000_000
RATIO = 15


class Measured(NamedTuple):
    """What one page costs."""

    name: str
    cpu_s: float
    size: int
    usable_s: float


def make(folder: Path, results: int) -> tuple[Path, list[TrialResult]]:
    """Write a run folder of so many results in one go: its own speed is not measured here."""
    tasks = make_tasks(results // TRIALS)
    made = list(make_results(tasks, trials=TRIALS))
    make_run(folder, tasks=tasks, trials=TRIALS, results=(), artifacts=False)
    lines = "".join(each.model_dump_json() + "\n" for each in made)
    (folder / "results.jsonl").write_text(lines, encoding="utf-8")
    return folder, made


def ours(run: Path, out: Path) -> tuple[float, Path]:
    """Build the page from the run folder in a process of its own, reading included."""
    command = [sys.executable, __file__, "--build", str(run), str(out)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # ourselves
    return float(done.stdout), out / "index.html"


def reading(run: Path) -> float:
    """Parse the lines of the results as JSON in a process of its own and return the CPU seconds that took."""
    command = [sys.executable, __file__, "--read", str(run / "results.jsonl")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # ourselves
    return float(done.stdout)


def read(path: Path) -> float:
    """Parse every line and keep it, as whoever works with results does."""
    began = time.process_time()
    with path.open("rb") as file:
        kept = [json.loads(line) for line in file]
    return time.process_time() - began if kept else 0.0


def build(run: Path, out: Path) -> float:
    """Build the page and return the CPU seconds that took."""
    began = time.process_time()
    build_report([run], out, formats=["html"])
    return time.process_time() - began


def plain(results: Sequence[TrialResult], page: Path) -> tuple[float, Path]:
    """Write the rows as one static table, as most tools do; reading is not even counted."""
    began = time.process_time()
    rows = "".join(map(_row, results))
    page.write_text(f"<!doctype html><meta charset=utf-8><table>{rows}</table>", encoding="utf-8")
    return time.process_time() - began, page


def _row(result: TrialResult) -> str:
    cells = (
        result.task_id, result.trial, result.status.value, result.score, result.failure_mode or "",
        result.steps, result.usage.total_tokens, result.cost_usd, result.timings_s.get("agent"),
    )  # fmt: skip
    return "<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in cells) + "</tr>\n"


def usable(browser: Browser, page: Path, drawn: str) -> float:
    """Return the median seconds from asking for the page until the row that matches `drawn` is laid out."""
    return statistics.median(_open(browser, page, drawn) for _ in range(OPENINGS))


def _open(browser: Browser, page: Path, drawn: str) -> float:
    window = browser.new_page(viewport={"width": 1280, "height": 900})
    window.set_default_timeout(300_000)
    began = time.perf_counter()
    window.goto(page.as_uri(), wait_until="commit")
    window.wait_for_selector(drawn)
    window.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    took = time.perf_counter() - began
    window.close()
    return took


def measure(results: int) -> tuple[list[Measured], float]:
    """Measure both pages in one run, and the CPU seconds of reading the results as JSON."""
    from playwright.sync_api import sync_playwright

    executable = os.environ.get("CHROME_PATH") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        base = Path(folder)
        first, _ = make(base / "first", TRIALS)
        ours(first, base / "first-report")  # after an installation it compiles modules, once
        run, made = make(base / "run", results)
        pages = (
            ("bench-report", *ours(run, base / "report"), "#grid tbody tr[data-index='5']"),
            ("plain table", *plain(made, base / "plain.html"), "tr:last-child"),
        )
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        found = [
            Measured(name, cpu, page.stat().st_size, usable(browser, page, drawn))
            for name, cpu, page, drawn in pages
        ]
        browser.close()
        return found, reading(run)


def main() -> int:
    """Measure, print, and return 1 when a bound is missed."""
    if sys.argv[1:2] == ["--build"]:
        print(build(Path(sys.argv[2]), Path(sys.argv[3])))
        return 0
    if sys.argv[1:2] == ["--read"]:
        print(read(Path(sys.argv[2])))
        return 0
    results = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    (page, table), parsed = measure(results)
    print(f"{results:,} results")
    for each in (page, table):
        print(
            f"  {each.name:13} {each.cpu_s:6.2f} s CPU  {each.size / 1e6:6.2f} MB  "
            f"usable after {each.usable_s:6.2f} s"
        )
    ratio = table.usable_s / page.usable_s
    bounds = [
        (
            f"generated in {page.cpu_s / parsed:.1f} times the CPU of parsing the JSON, under 5",
            page.cpu_s < READINGS * parsed,
        ),
        ("under 5 MB", page.size < SIZE),
        (f"the plain table takes {ratio:.0f} times as long, over 15", ratio > RATIO),
    ]
    for text, held in bounds:
        print(f"  {'ok  ' if held else 'MISS'} {text}")
    return int(not all(held for _, held in bounds))


if __name__ == "__main__":
    sys.exit(main())
