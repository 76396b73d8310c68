"""How many interactions it takes to get to the step at which an agent went wrong: ten planted bugs, beside peers.

An agent orders lamps in a shop; in each of ten tasks it has one bug. Counted are clicks and keys from the opened page to
the step of the bug, by fixed rules that do not know the bug:

- bench-report: open the task that fails newly (both trials stand beside each other at their first difference); where
  both did the same, back to one trial and to the step marked as failed.
- Playwright's trace viewer: choose the trace of the failed trial, then one action after the other. Beside it the fewest
  possible: whoever knows the bug, or sees it in the list of actions, clicks its action at once.
- `inspect view`, of the log that `bench-report export inspect` writes: choose the log and the sample, then page down until
  the message of the step is in sight. Nothing there says which message it is: the reader must see it among the others.

Usage: bench_interactions.py [--only-ours]; PROCTOR_INSPECT is the Python of an environment with inspect-ai, without which that
peer is left out.
"""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bench_core.records import Step, StepView, Task, TrialResult
from bench_core.run_folder import TrialArtifacts
from bench_core.testing import make_run
from bench_report import build_report

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from playwright.sync_api import Browser, Page

BOUND = 4
HEIGHT = 900
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
SHOP = (
    "<title>Shop</title><input name=search><button>Search</button><button>Add blue lamp</button>"
    "<button>Add desk lamp</button><button>Cart</button><input name=address><button>Check out</button>"
)

Action = dict[str, Any]


def click(name: str) -> Action:
    """Return a click on the button of this name."""
    return {"kind": "click", "text": name}


def fill(field: str, text: str) -> Action:
    """Return text typed into a field."""
    return {"kind": "type", "field": field, "text": text}


RIGHT: tuple[Action, ...] = (
    fill("search", "blue lamp"), click("Search"), click("Add blue lamp"), click("Cart"), fill("address", "Main Street 1"),
    click("Check out"), {"kind": "done", "answer": "17"},
)  # fmt: skip
SCROLL = {"kind": "scroll", "target": {"x": 500, "y": 300}, "dx": 0, "dy": 400}
BESIDE = {"kind": "click", "target": {"x": 900, "y": 700}}


class Bug(NamedTuple):
    """What is planted: what the agent does, at which of its steps it goes wrong, and whether that step fails.

    An omission has no step of the agent; `step` is then the one of the right trial that is missing.
    """

    name: str
    actions: tuple[Action, ...]
    step: int
    omitted: bool = False
    fails: bool = False


def changed(step: int, *instead: Action) -> tuple[Action, ...]:
    """Return the right actions with others instead of that of one step."""
    return (*RIGHT[: step - 1], *instead, *RIGHT[step:])


BUGS = (
    Bug("takes another article", changed(3, click("Add desk lamp")), 3),
    Bug("misspells what it looks for", changed(1, fill("search", "blue lmap")), 1),
    Bug("clicks beside the button", changed(3, BESIDE), 3),
    Bug("leaves out the address", changed(5), 5, omitted=True),
    Bug("writes another address", changed(5, fill("address", "Main Street 7")), 5),
    Bug("stops before it orders", (*RIGHT[:5], RIGHT[-1]), 6, omitted=True),
    Bug("adds the lamp twice", changed(3, RIGHT[2], RIGHT[2]), 4),
    Bug("scrolls for ever", (*RIGHT[:2], *[SCROLL] * 20), 3),
    Bug("goes on after a failed click", RIGHT, 4, fails=True),
    Bug("answers another number", changed(7, {"kind": "done", "answer": "16"}), 7),
)


class Server(ThreadingHTTPServer):
    """Serves a folder on loopback until the block ends."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Where a browser finds it."""
        return f"http://127.0.0.1:{self.server_port}"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


def make(folder: Path, trials: Sequence[tuple[tuple[Action, ...], int | None, bool]]) -> Path:
    """Write a run of one trial for each bug: actions, the step that fails, and whether it passes."""
    tasks = [
        Task(benchmark="shop", task_id=f"lamp-{n}", goal="Order a blue lamp.")
        for n in range(len(BUGS))
    ]
    results = [
        TrialResult.model_validate({
            "benchmark": "shop", "task_id": task.task_id, "trial": 1, "agent": folder.name, "status": "completed",
            "score": float(passed), "method": "state 1.0", "steps": len(actions),
            "failure_mode": None if passed else "wrong_answer",
            "checks": [{"criterion": "the order in the shop", "passed": passed}],
        })
        for task, (actions, _, passed) in zip(tasks, trials, strict=True)
    ]  # fmt: skip
    make_run(folder, tasks=tasks, results=results, trials=1, agent=folder.name)
    for task, (actions, failed, _) in zip(tasks, trials, strict=True):
        artifacts = TrialArtifacts(folder / "trials" / "1" / task.task_id)
        for number, action in enumerate(actions, 1):
            artifacts.append_view(StepView(step=number, size=(1000, 600)))
            error = "the element is covered by another" if number == failed else None
            picture = artifacts.write_bytes(f"screenshots/step-{number:03d}.png", PIXEL)
            artifacts.append_step(
                Step(step=number, actions=(action,), screenshot=picture, error=error)
            )
    return folder


class Hand:
    """Clicks and presses keys, and counts that."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.count = 0

    def click(self, selector: str) -> None:
        """Click the first element that matches."""
        self.page.locator(selector).first.click()
        self.count += 1

    def press(self, key: str) -> None:
        """Press a key."""
        self.page.keyboard.press(key)
        self.count += 1


def ours(browser: Browser, page_file: Path, bug: Bug) -> int:
    """Return the interactions from the opened report to the step of the bug."""
    page = browser.new_page(viewport={"width": 1280, "height": HEIGHT})
    page.set_default_timeout(180_000)
    page.goto(page_file.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    hand = Hand(page)
    hand.click(f"#failures .links a:text-is('lamp-{BUGS.index(bug)}')")
    page.wait_for_selector(".side-by-side .step-head")
    if page.locator(".pair-list .first").count() == 0:  # both did the same
        hand.press("c")
        page.wait_for_selector("dialog .viewer .frame")
        hand.click(".frame.failed")
    side = 2 if bug.omitted else 1
    inside = (
        f".pair > section:nth-child({side})"
        if page.locator(".side-by-side").count()
        else ".step-side"
    )
    wanted = page.locator(f"{inside} .step-head:has-text('Step {bug.step} of')")
    while wanted.count() == 0 and hand.count < 100:
        hand.press("n")
    page.close()
    return hand.count


def record(browser: Browser, bug: Bug, file: Path) -> list[int]:
    """Let the agent work in a real page while Playwright records; return which of its actions are in the trace."""
    from playwright.sync_api import Error

    context = browser.new_context()
    context.tracing.start(screenshots=True, snapshots=True)
    page = context.new_page()
    page.set_content(SHOP)
    kept = []
    for number, action in enumerate(bug.actions, 1):
        if action["kind"] == "done":
            continue  # an answer is no action of the browser
        kept.append(number)
        if bug.fails and number == bug.step:
            with contextlib.suppress(Error):  # what is planted
                page.click("#covered", timeout=200)
        elif action["kind"] == "type":
            page.fill(f"[name={action['field']}]", action["text"])
        elif action["kind"] == "scroll":
            page.mouse.wheel(0, action["dy"])
        elif "target" in action:
            page.mouse.click(action["target"]["x"], action["target"]["y"])
        else:
            page.get_by_role("button", name=action["text"]).click()
    context.tracing.stop(path=file)
    context.close()
    return kept


def trace_viewer(
    browser: Browser, viewer: str, trace: str, bug: Bug, kept: list[int]
) -> tuple[int | None, int | None]:
    """Return the interactions by the rule and the fewest possible; `None` where no action shows the bug."""
    step = bug.step - 1 if bug.omitted else bug.step  # the last action before what is missing
    if step not in kept:
        return None, None
    page = browser.new_page(viewport={"width": 1280, "height": HEIGHT})
    page.set_default_timeout(180_000)
    page.goto(f"{viewer}/index.html?trace={trace}")
    page.wait_for_selector(".action-title")
    titles = page.locator(".action-title")
    first = titles.count() - len(kept)  # before them the page is made
    hand = Hand(page)
    hand.count = 1  # the trace was chosen among those of all trials
    for place in range(kept.index(step) + 1):
        titles.nth(first + place).click()
        hand.count += 1
    page.close()
    return hand.count, 2


def inspect_view(browser: Browser, url: str, bug: Bug) -> int:
    """Return the interactions until the message of the step is in sight."""
    page = browser.new_page(viewport={"width": 1280, "height": HEIGHT})
    page.set_default_timeout(180_000)
    page.goto(url)
    hand = Hand(page)
    hand.click("text='shop'")
    hand.click(f"text='lamp-{BUGS.index(bug)}'")
    step = bug.step - 1 if bug.omitted else bug.step  # the last one before what is missing
    message = page.locator("text='act'").nth(step - 1)
    message.wait_for(state="attached")
    while hand.count < 100:
        box = message.bounding_box()
        if box is not None and box["y"] + box["height"] <= HEIGHT:
            break
        hand.press("PageDown")
    page.close()
    return hand.count


@contextlib.contextmanager
def inspect_server(run: Path, folder: Path, python: str) -> Iterator[str]:
    """Serve a run to `inspect view` on loopback."""
    folder.mkdir()
    # it lists only logs that are named like its own
    log = folder / "2026-03-01T09-00-00+00-00_shop_AbCdEfGhIjKlMnOpQrStUv.json"
    report = Path(sys.executable).with_name("bench-report")
    subprocess.run(
        [report, "export", "inspect", run, "--out", log], check=True, stdout=subprocess.DEVNULL
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [Path(python).with_name("inspect"), "view", "start", "--log-dir", folder]
    viewer = subprocess.Popen(
        [*command, "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        url = f"http://127.0.0.1:{port}/"
        for _ in range(120):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(url, timeout=5).close()
                break
            time.sleep(1.0)
        yield url
    finally:
        viewer.terminate()
        viewer.wait()


def main() -> int:
    """Plant, count, print, and return 1 where one of ours takes more than the bound."""
    from playwright.sync_api import sync_playwright

    executable = os.environ.get("CHROME_PATH") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        base = Path(place)
        right = make(base / "right", [(RIGHT, None, True)] * len(BUGS))
        wrong = make(
            base / "wrong", [(b.actions, b.step if b.fails else None, False) for b in BUGS]
        )
        build_report([right, wrong], base / "report", formats=["html"])
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        counts = [ours(browser, base / "report" / "index.html", bug) for bug in BUGS]
        peers = [] if "--only-ours" in sys.argv else _peers(browser, base / "traces")
        python = os.environ.get("PROCTOR_INSPECT")
        seen: list[int] = []
        if python and peers:
            with inspect_server(wrong, base / "logs", python) as url:
                seen = [inspect_view(browser, url, bug) for bug in BUGS]
        browser.close()
    print(
        f"{'planted':32} {'bench-report':>12}  Playwright trace viewer: by the rule, fewest  inspect view: in sight"
    )
    for number, (bug, count) in enumerate(zip(BUGS, counts, strict=True)):
        rule, least = peers[number] if peers else ("", "")
        print(
            f"{bug.name:32} {count:12}  {'not shown' if rule is None else rule!s:>36} {'' if least is None else least!s:>7} "
            f"{seen[number] if seen else '':>23}"
        )
    held = max(counts) <= BOUND
    print(f"  {'ok  ' if held else 'MISS'} at most {BOUND} interactions: {max(counts)}")
    return int(not held)


def _peers(browser: Browser, folder: Path) -> list[tuple[int | None, int | None]]:
    import playwright

    folder.mkdir()
    app = Path(playwright.__file__).parent / "driver/package/lib/vite/traceViewer"
    shutil.copytree(app, folder / "viewer")
    with Server(folder) as server:
        found = []
        for number, bug in enumerate(BUGS):
            kept = record(browser, bug, folder / f"{number}.zip")
            trace = f"{server.url}/{number}.zip"
            found.append(trace_viewer(browser, f"{server.url}/viewer", trace, bug, kept))
        server.shutdown()
    return found


if __name__ == "__main__":
    sys.exit(main())
