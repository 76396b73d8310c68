"""How many interactions lead from opening a tool to the step of a planted bug, here and in two other viewers.

Each run has 20 trials, of which one failed: the button of one of its 30 steps, both drawn by seed, was not there. A
reader opens the tool and acts until the error of that step can be read on the screen. A click, a key, a turned wheel of
one screenful and a text typed into a field count one each. The same real trajectory is read in three places:

- the report's page: "Look at one" of the failed trials, then the first step that the strip marks as failed;
- Playwright's trace viewer, which shows one trial: choosing the file of the failed one counts one; then the first action
  with an error, turning the list as far as that takes;
- `inspect view` of the exported log: the log, the failed sample, then the wheel.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.sync_api import Error, sync_playwright

from bench_core.records import Step, Task, TrialResult
from bench_core.testing import make_run
from bench_report import build_report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page

TRIALS, STEPS, MOST = 20, 30, 3
WINDOW = {"width": 1280, "height": 860}
FAILED = "The button was not there"


def main() -> int:
    """Run the campaign and return 1 where the page took more than three interactions."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=60)
    parser.add_argument("--inspect", default=shutil.which("inspect"), help="inspect-ai's command.")
    asked = parser.parse_args()
    rng = random.Random(asked.seed)
    chromium = os.environ.get("CHROME_PATH") or shutil.which("chromium")
    counts: dict[str, list[int | None]] = {"page": [], "trace viewer": [], "inspect view": []}
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for number in range(asked.runs):
            folder, trial, step = (
                Path(place) / str(number),
                rng.randrange(TRIALS),
                rng.randint(2, STEPS),
            )
            run, trace = record(browser, folder, trial, step)
            build_report([run], folder / "report", formats=["html"])
            (folder / "logs").mkdir()
            subprocess.run(
                ["bench-report", "export", "inspect", str(run), "--out", str(folder / "logs")],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            shown = f"{FAILED} in step {step}"
            counts["page"].append(_in_page(browser, folder / "report" / "index.html", shown))
            with _served([sys.executable, "-m", "playwright", "show-trace", "--host", "127.0.0.1", "--port", "{port}", str(trace)]) as url:  # fmt: skip
                counts["trace viewer"].append(_in_trace(browser, url, f"missing-{step}"))
            if asked.inspect:
                command = [asked.inspect, "view", "--host", "127.0.0.1", "--port", "{port}", "--log-dir", str(folder / "logs")]  # fmt: skip
                with _served(command) as url:
                    counts["inspect view"].append(_in_inspect(browser, url, f"task-{trial}", shown))
        browser.close()
    sys.stdout.write(f"{asked.runs} runs, seed {asked.seed}: interactions to the planted step\n")
    for name, found in counts.items():
        words = (
            ", ".join("not found" if each is None else str(each) for each in found)
            or "not installed"
        )
        sys.stdout.write(f"  {name:13} {words}\n")
    return int(not all(each is not None and each <= MOST for each in counts["page"]))


def record(browser: Browser, folder: Path, failed: int, at: int) -> tuple[Path, Path]:
    """Let Chromium click through the steps and return the run folder, and Playwright's trace of the failed trial."""
    tasks = [Task(benchmark="clicks", task_id=f"task-{n}", goal=f"Press {STEPS} buttons.") for n in range(TRIALS)]  # fmt: skip
    results = [_result(task.task_id, ok=n != failed) for n, task in enumerate(tasks)]
    run = make_run(folder / "run", tasks=tasks, results=results, benchmark="clicks")
    trace = folder / "trace.zip"
    context = browser.new_context(viewport=WINDOW)
    context.tracing.start(screenshots=True, snapshots=True)
    page = context.new_page()
    page.set_content("".join(f"<button id=b{n}>Button {n}</button>" for n in range(1, STEPS + 1)))
    trial = run / "trials" / "1" / tasks[failed].task_id
    (trial / "screenshots").mkdir(parents=True, exist_ok=True)
    lines = []
    for n in range(1, STEPS + 1):
        picture = f"screenshots/{n}.png"
        page.screenshot(path=trial / picture)
        with suppress(Error):
            page.click(f"#missing-{n}" if n == at else f"#b{n}", timeout=300 if n == at else 30_000)
        error = f"{FAILED} in step {n}" if n == at else None
        action = {"kind": "click", "target": {"x": 40.0 * n % 1200, "y": 20.0, "unit": "px"}}
        lines.append(
            Step(step=n, thought=f"Press button {n}.", actions=(action,), results=(error or "ok",), error=error, screenshot=picture).model_dump_json()
        )  # fmt: skip
    context.tracing.stop(path=trace)
    context.close()
    (trial / "trajectory.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return run, trace


def _result(task_id: str, *, ok: bool) -> TrialResult:
    return TrialResult(
        benchmark="clicks", task_id=task_id, trial=1, agent="clicker", model=None, status="completed", score=float(ok),
        method="count", steps=STEPS, failure_mode=None if ok else "wrong_end_state",
        checks=[{"criterion": "all buttons pressed", "passed": ok}],
    )  # fmt: skip


def _in_page(browser: Browser, report: Path, shown: str) -> int | None:
    return _interactions(
        browser, report.as_uri(), "html[data-ready]", shown,
        [lambda p: p.locator("#failures .clusters td a").first.click(), lambda p: p.locator("dialog .frame.failed").first.click()],
    )  # fmt: skip


def _in_trace(browser: Browser, url: str, shown: str) -> int | None:
    # the file of the failed trial was chosen; where its action is out of sight, the list is turned to it
    error = ".action-list-show-all, .list-view-entry.error, .tree-view-entry.error, [role=treeitem].error"
    found = _interactions(
        browser, url, ".action-list, .actions-tab, [role=tree]", shown,
        [lambda p: p.locator(error).first.click(timeout=5_000), *[_turn] * 4],
    )  # fmt: skip
    return None if found is None else 1 + found


def _in_inspect(browser: Browser, url: str, sample: str, shown: str) -> int | None:
    return _interactions(
        browser, url, "text=clicks", shown,
        [lambda p: p.get_by_text("clicks").first.click(), lambda p: p.get_by_text(sample, exact=False).first.click(), *[_turn] * 40],
    )  # fmt: skip


def _turn(page: Page) -> None:
    page.mouse.move(700, 600)
    page.mouse.wheel(0, WINDOW["height"] * 0.8)


def _interactions(
    browser: Browser, url: str, ready: str, shown: str, acts: list[Callable[[Page], Any]]
) -> int | None:
    """Act until the text can be seen, and return after how many acts; None where it cannot."""
    page = browser.new_page(viewport=WINDOW)
    page.set_default_timeout(60_000)
    try:
        page.goto(url)
        page.wait_for_selector(ready, state="attached")
        for number in range(len(acts) + 1):
            page.wait_for_timeout(1_500)  # what an act shows may come a moment later
            if _in_sight(page, shown):
                return number
            if number < len(acts):
                acts[number](page)
    except Error as error:
        sys.stderr.write(f"{url}: {str(error)[:300]}\n")
    finally:
        if place := os.environ.get("PICTURES"):
            page.screenshot(path=f"{place}/{re.sub(r'[^a-z0-9]+', '-', url.lower())[-60:]}.png")
        page.close()
    return None


def _in_sight(page: Page, shown: str) -> bool:
    """Whether an element with the text lies in the window and nothing lies over it."""
    boxes = [each.bounding_box() for each in page.get_by_text(re.compile(re.escape(shown) + r"(?!\d)")).all() if each.is_visible()]  # fmt: skip
    height = WINDOW["height"]
    return any(
        box and box["y"] >= 0 and box["y"] + min(box["height"], 30) <= height for box in boxes
    )


@contextmanager
def _served(command: list[str]) -> Iterator[str]:
    """Start a viewer on a free port and yield its address once it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([each.format(port=port) if "{port}" in each else each for each in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    try:
        if "show-trace" in command:
            assert server.stdout
            line = next(line for line in server.stdout if "http" in line)
            url = re.search(r"http\S+", line)[0]  # type: ignore[index]  # the line has one
        for _ in range(3000):
            with suppress(OSError):
                urllib.request.urlopen(url, timeout=5).close()  # noqa: S310  # our own server
                break
            time.sleep(0.1)
        yield url
    finally:
        os.killpg(server.pid, signal.SIGKILL)  # `show-trace` is a Python that starts a node
        server.wait()


if __name__ == "__main__":
    sys.exit(main())
