"""812 tasks x 3 trials x 30 steps with screenshots beside the same of a single task: is the page still usable?

Prints sizes, and the seconds until the table is drawn, until a trial shows its step, and until two trials stand beside
each other, in headless Chromium. Who opens the address of a trial waits for the table and at most as long again.
Usage: bench_trajectories.py [TASKS]
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from bench_core.records import Step
from bench_core.testing import make_results, make_run, make_tasks
from bench_report import build_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser

TASKS, TRIALS, STEPS = 812, 3, 30
OPENINGS = 3
PAGE = 5_000_000
RATIO = 5.0
OPENED = 2.0


class Measured(NamedTuple):
    """Sizes in bytes, and seconds until something can be used."""

    page: int
    beside: int
    table_s: float
    trial_s: float
    pair_s: float


def make(folder: Path, tasks: int, picture: bytes) -> Path:
    """Write a run folder with a trajectory and a screenshot of every step in each trial."""
    planned = make_tasks(tasks)
    make_run(folder, tasks=planned, trials=TRIALS, results=(), artifacts=False)
    results = list(make_results(planned, trials=TRIALS))
    lines = "".join(each.model_dump_json() + "\n" for each in results)
    (folder / "results.jsonl").write_text(lines, encoding="utf-8")
    steps = [
        Step(step=n, thought=f"thought {n} " * 20, actions=({"click": {"index": n}},), screenshot=f"screenshots/{n}.png")
        for n in range(1, STEPS + 1)
    ]  # fmt: skip
    trajectory = "".join(step.model_dump_json() + "\n" for step in steps)
    kept = folder / "pictures"
    kept.mkdir()
    for n in range(1, STEPS + 1):  # linked below: a file has no more than 65,000 names
        (kept / f"{n}.png").write_bytes(picture)
    for each in results:
        trial = folder / "trials" / str(each.trial) / each.task_id
        (trial / "screenshots").mkdir(parents=True)
        (trial / "trajectory.jsonl").write_text(trajectory, encoding="utf-8")
        for n in range(1, STEPS + 1):
            (trial / "screenshots" / f"{n}.png").hardlink_to(kept / f"{n}.png")
    return folder


def measure(browser: Browser, run: Path, out: Path, task: str) -> Measured:
    """Build the report and open its table, a trial and a pair of trials, each in a fresh window."""
    report, _ = build_report([run], out, formats=["html"])
    page = (out / "index.html").as_uri()
    name = report.runs[0].info.run_id
    trial = f"#open={quote(json.dumps([name, task, 1]))}"
    pair = f"{trial}&with={quote(json.dumps([name, 2]))}"
    shown = (
        ("", "#grid tbody tr[data-index='0']"),
        (trial, ".viewer .pictures img"),
        (pair, ".side-by-side .step-head"),
    )
    times = [
        statistics.median(_opened(browser, page + where, drawn) for _ in range(OPENINGS))
        for where, drawn in shown
    ]
    beside = sum(each.stat().st_size for each in out.glob("evidence/*"))
    return Measured((out / "index.html").stat().st_size, beside, *times)


def _opened(browser: Browser, address: str, drawn: str) -> float:
    window = browser.new_page(viewport={"width": 1280, "height": 900})
    window.set_default_timeout(300_000)
    began = time.perf_counter()
    window.goto(address, wait_until="commit")
    window.wait_for_selector(drawn)
    window.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    took = time.perf_counter() - began
    window.close()
    return took


def main() -> int:
    """Measure, print, and return 1 when a bound is missed."""
    from playwright.sync_api import sync_playwright

    tasks = int(sys.argv[1]) if len(sys.argv) > 1 else TASKS
    executable = os.environ.get("CHROME_PATH") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        base = Path(place)
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        window = browser.new_page(viewport={"width": 1280, "height": 720})
        window.set_content("<h1>A screen</h1>" + "<p>Some words on it.</p>" * 40)
        picture = window.screenshot()
        window.close()
        small = measure(browser, make(base / "small", 1, picture), base / "small-report", "0")
        large_run = make(base / "large", tasks, picture)
        large = measure(browser, large_run, base / "large-report", str(tasks - 1))
        browser.close()
    print(f"{tasks} tasks x {TRIALS} trials x {STEPS} steps, beside 1 x {TRIALS} x {STEPS}")
    for name, found in (("large", large), ("small", small)):
        print(
            f"  {name}: page {found.page / 1e6:.2f} MB, beside it {found.beside / 1e6:.2f} MB; table after "
            f"{found.table_s:.2f} s, trial after {found.trial_s:.2f} s, two trials after {found.pair_s:.2f} s"
        )
    bounds = [("page under 5 MB", large.page < PAGE)] + [
        (f"{what}: {took / base_s:.1f} times as long as {beside}, under {bound:g}", took / base_s < bound)
        for what, took, base_s, beside, bound in (
            ("table", large.table_s, small.table_s, "in the small one", RATIO),
            ("trial", large.trial_s, large.table_s, "the table", OPENED),
            ("two trials", large.pair_s, large.table_s, "the table", OPENED),
        )
    ]  # fmt: skip
    for text, held in bounds:
        print(f"  {'ok  ' if held else 'MISS'} {text}")
    return int(not all(held for _, held in bounds))


if __name__ == "__main__":
    sys.exit(main())
