"""The pictures of docs/gallery.md, taken from pages that are built here, so that they never age.

    python -m nox_support.gallery

needs bench-report, Playwright and Chromium (`CHROME_PATH`). The runs are made from seeds; the screens of the shop
that an agent walks through are drawn by the same Chromium.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from nox_support.packages import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["SHOTS", "main"]

FOLDER = ROOT / "docs" / "_static" / "gallery"
_DESKTOP = (1280, 860)
_PHONE = (390, 800)
_START = datetime(2026, 3, 1, 9, tzinfo=UTC)
_UNFAIR = "click:#failures .links a >> nth=0"


class Shot(NamedTuple):
    """A picture: of which report, in which window, after what was done, and of which part."""

    name: str
    report: str
    acts: tuple[str, ...] = ()
    size: tuple[int, int] = _DESKTOP
    scheme: str = "light"
    part: str | None = None


SHOTS = (
    Shot("report", "two"),
    Shot("report-dark", "two", scheme="dark"),
    Shot("report-phone", "two", size=_PHONE),
    Shot("several", "several", part="#differences", acts=("unfold:#differences details:last-of-type",)),
    Shot("slices", "several", part=".slice-map >> nth=0"),
    Shot("pictures", "several", part="#charts"),
    Shot("evaluation", "judged", part="#evaluation"),
    Shot("details", "two", part="#result", acts=("unfold:#result details",)),
    Shot("failures", "shop", part="#failures"),
    Shot("tasks", "several", part="#tasks", acts=("click:[data-outcome=mixed]",)),
    Shot("trials", "shop", part="#tasks", size=(1280, 1100), acts=("click:[data-view=trials]", "click:[data-outcome=fail]")),
    Shot("slice", "shop", part="#tasks", acts=("click:#slices table.slices th a",)),
    Shot("trial", "shop", acts=("open:1", "key:ArrowRight")),
    Shot("step", "shop", part="dialog .step-side", acts=("open:1", "key:ArrowRight", "unfold:dialog .step-side details")),
    Shot("trial-dark", "shop", acts=("open:1", "key:ArrowRight"), scheme="dark"),
    Shot("trial-phone-dark", "shop", acts=("open:1", "key:ArrowRight"), size=_PHONE, scheme="dark"),
    Shot("side-by-side", "shop", acts=(_UNFAIR, "wait:.side-by-side .picture img")),
    Shot("side-by-side-dark", "shop", acts=(_UNFAIR, "wait:.side-by-side .picture img"), scheme="dark"),
    Shot("side-by-side-phone", "shop", acts=(_UNFAIR, "wait:.side-by-side .picture img"), size=_PHONE),
    Shot("print", "shop", part="dialog", size=(760, 1900), acts=("open:1", "print:")),
    Shot("live", "live", acts=("wait:#progress .run-progress",)),
)  # fmt: skip
"""Everything in the gallery."""


def main() -> None:
    """Build the reports, open each as a reader would, and write the pictures."""
    from playwright.sync_api import sync_playwright  # the noxfile imports this package

    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("CHROME_PATH"), args=["--no-sandbox"]
        )
        pages = _reports(Path(place), _screens(browser))
        with _served(_going_on(Path(place) / "live")) as address:
            pages["live"] = address
            for shot in SHOTS:
                _take(browser, pages[shot.report], shot)
                print(FOLDER / f"{shot.name}.png")
        browser.close()


def _take(browser: Any, address: str, shot: Shot) -> None:
    width, height = shot.size
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=shot.scheme
    )
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("html[data-ready]", state="attached")
    for act in shot.acts:
        _act(page, *act.split(":", 1))
    page.wait_for_load_state("networkidle")
    # a part may be taller than the window, and the bar that stays on top would be in the middle of it
    page.eval_on_selector(".top", "bar => { bar.style.position = 'static'; }")
    target = FOLDER / f"{shot.name}.png"
    if shot.part:
        page.locator(shot.part).first.screenshot(path=target)
    else:
        page.screenshot(path=target)
    context.close()


def _act(page: Any, kind: str, what: str) -> None:
    if kind == "click":
        page.click(what)
    elif kind == "key":
        page.keyboard.press(what)
    elif kind == "wait":
        page.wait_for_selector(what)
    elif kind == "print":  # as the browser does for a printer, on a sheet as wide as the window
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        # a browser loads all pictures before it prints
        load = (
            "all => Promise.all(all.map(each => { each.loading = 'eager'; return each.decode(); }))"
        )
        page.eval_on_selector_all(".printed img", load)
    elif kind == "unfold":
        page.eval_on_selector_all(what, "all => all.forEach(each => { each.open = true; })")
    else:  # open the example of the n-th failure
        page.click(f"#failures .clusters td:last-child a >> nth={what}")
        page.wait_for_selector(".viewer .picture img")


def _reports(place: Path, screens: Sequence[bytes]) -> dict[str, str]:
    from bench_core.testing import make_run
    from bench_report import build_report

    agents = [
        ("planner", "openai:gpt-5.2"),
        ("reader", "anthropic:claude-5"),
        ("small", "local:llama"),
    ]
    made = [
        make_run(place / name, tasks=120, trials=3, seed=seed, agent=name, model=model)
        for seed, (name, model) in enumerate(agents, 1)
    ]
    wrong = {("t3", 1), ("t7", 2)}
    hasty = {(f"t{n}", trial) for n in (1, 3, 5, 6, 9) for trial in (1, 2)} | {("t7", 2), ("t8", 1)}
    shop = [_shop(place / "careful", wrong, screens), _shop(place / "hasty", hasty, screens)]
    runs = {"two": made[:2], "several": made, "judged": [_judged(place / "judged")], "shop": shop}
    for name, folders in runs.items():
        build_report(folders, place / "reports" / name, formats=["html"], screenshots="embed")
    return {name: (place / "reports" / name / "index.html").as_uri() for name in runs}


def _going_on(folder: Path) -> Path:
    """Make a run that has 140 of 360 results and a budget, as a process leaves it that still works on it."""
    from bench_core.records import Event
    from bench_core.testing import make_results, make_run, make_tasks

    tasks = make_tasks(120)
    began = datetime.now(UTC) - timedelta(minutes=40)
    results = [
        each.model_copy(update={"started": began + timedelta(seconds=15 * n)})
        for n, each in enumerate(islice(make_results(tasks, trials=3), 140))
    ]
    make_run(
        folder, tasks=tasks, trials=3, results=results, agent="planner", model="openai:gpt-5.2"
    )
    info = json.loads((folder / "run.json").read_text("utf-8"))
    info["sessions"][-1] |= {"started": began.isoformat(), "finished": None, "outcome": "running"}
    (folder / "run.json").write_text(json.dumps(info), encoding="utf-8")
    limits = {"max_cost_usd": 25.0, "max_minutes": 180.0}
    events = [Event(time=began, kind="budget", data=limits)] + [
        Event(
            time=began + timedelta(minutes=38), kind="attempt_started",
            task_id=tasks[n].task_id, trial=2, attempt=1,
        )
        for n in (20, 21)
    ]  # fmt: skip
    lines = "".join(f"{each.model_dump_json()}\n" for each in events)
    (folder / "events.jsonl").write_text(lines, encoding="utf-8")
    return folder


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    from bench_report.live.server import serve

    server = serve([folder])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _judged(folder: Path) -> Path:
    """Make a run whose query and judge err, a part of it with known truth."""
    import random  # of this one run

    from bench_core.testing import make_results, make_run, make_tasks

    dice = random.Random(1)  # noqa: S311  # reproducible, not secret
    tasks = make_tasks(68, per_template=1)
    results = []
    for place, result in enumerate(make_results(tasks)):
        truth = dice.random() < 0.4  # the agent's rate
        query = dice.random() < (0.8 if truth else 0.03)
        judge = dice.choices(
            ("pass", "fail", "abstain"), (0.85, 0.1, 0.05) if truth else (0.1, 0.85, 0.05)
        )[0]
        passed = query or judge == "pass"
        fields = {
            "status": "completed", "error": None, "score": float(passed), "success": passed,
            "method": "jmespath 1.1" if query else "llm-judge 0.1",
            "confidence": 0.95 if query == (judge == "pass") else 0.5,
            "failure_mode": None if passed else "wrong_answer",
            "details": {"query_passed": query, "judge": {"outcome": judge}}
            | ({"ground_truth": truth} if place < 25 else {}),  # those a person looked at
        }  # fmt: skip
        results.append(type(result).model_validate(result.model_dump() | fields))
    return make_run(folder, tasks=tasks, results=results)


_PAGES = (
    ("Lamps", ("<p><input size=30> <button>Search</button><p>Desk lamp, 39.00 <button>Add to cart</button>"
              "<p>Blue lamp, 42.00 <button>Add to cart</button><p>Floor lamp, 89.00 <button>Add to cart</button>")),
    ("Lamps", ("<p><input size=30 value='blue lamp'> <button>Search</button><p>Desk lamp, 39.00 <button>Add to cart"
              "</button><p>Blue lamp, 42.00 <button>Add to cart</button>")),
    ("Cart", "<p>1 lamp<p><input value='Main Street 1'> <button>Check out</button>"),
    ("Thank you", "<p>Order 17 has been placed."),
)  # fmt: skip
_STYLE = (
    "body{font:17px sans-serif;margin:0;color:#223}header{background:#27435c;color:#fff;padding:18px 28px;font-size:20px}"
    "main{padding:10px 28px}button,input{font:inherit;padding:7px 12px}"
)
_SIZE = (1000, 560)
_ADD_DESK, _ADD_BLUE, _CHECK_OUT = (171, 208, 128, 37), (174, 262, 128, 37), (270, 208, 110, 37)


def _screens(browser: Any) -> list[bytes]:
    page = browser.new_context(viewport={"width": _SIZE[0], "height": _SIZE[1]}).new_page()
    taken = []
    for title, body in _PAGES:
        page.set_content(
            f"<style>{_STYLE}</style><header>Corner shop</header><main><h1>{title}</h1>{body}</main>"
        )
        taken.append(page.screenshot())
    page.context.close()
    return taken


def _click(element: str) -> dict[str, Any]:
    return {"kind": "click", "target": {"element": element}}


_BEGIN = {
    "kind": "type",
    "text": "blue lamp",
    "target": {"x": 170.0, "y": 155.0, "unit": "px"},
    "enter": True,
}
_END = {"kind": "done", "answer": "17"}
_SEEN = [
    {"id": "5", "role": "button", "name": "Add desk lamp", "rect": _ADD_DESK},
    {"id": "7", "role": "button", "name": "Add blue lamp", "rect": _ADD_BLUE},
    {"id": "9", "role": "button", "name": "Check out", "rect": _CHECK_OUT},
]


def _shop(folder: Path, wrong: set[tuple[str, int]], screens: Sequence[bytes]) -> Path:
    """Make a run of an agent that orders lamps; in the trials of `wrong` it takes the desk lamp."""
    from bench_core.records import Task, TrialResult
    from bench_core.testing import make_run

    tasks = [
        Task(benchmark="shop", task_id=f"t{n}", goal="Order a blue lamp and give the number of the order.",
             groups={"site": ("shop" if n % 2 else "admin",)})
        for n in range(12)
    ]  # fmt: skip
    keys = [(task.task_id, trial) for task in tasks for trial in (1, 2)]
    results = []
    for task_id, trial in keys:
        passed = (task_id, trial) not in wrong
        ordered, found = (
            {"items": [{"sku": sku, "quantity": 1}], "to": "Main Street 1"}
            for sku in ("lamp-blue", "lamp-blue" if passed else "lamp-desk")
        )
        results.append(
            TrialResult.model_validate({
                "benchmark": "shop", "task_id": task_id, "trial": trial, "agent": folder.name, "status": "completed",
                "score": float(passed), "method": "state 1.0", "steps": 4, "cost_usd": 0.04,
                "failure_mode": None if passed else "wrong_answer",
                "checks": [
                    {"criterion": "the order in the shop", "passed": passed, "expected": ordered, "actual": found},
                    {"criterion": "no other order", "passed": True},
                ],
            })
        )  # fmt: skip
    make_run(folder, tasks=tasks, results=results, trials=2, agent=folder.name)
    for task_id, trial in keys:
        second = _click("5" if (task_id, trial) in wrong else "7")
        _evidence(
            folder / "trials" / str(trial) / task_id, [_BEGIN, second, _click("9"), _END], screens
        )
    return folder


_THOUGHTS = (
    "The shop has a search box. I look for the blue lamp there.",
    "There are two lamps. I add the one from the task to the cart.",
    "The cart has the lamp, so I check out.",
    "The order has the number 17.",
)


def _evidence(folder: Path, actions: Sequence[dict[str, Any]], screens: Sequence[bytes]) -> None:
    from bench_core.records import Step, StepView
    from bench_core.run_folder.artifacts import TrialArtifacts

    artifacts = TrialArtifacts(folder)
    entries = []
    for number, (action, screen) in enumerate(zip(actions, screens, strict=True), 1):
        began = _START + timedelta(seconds=9 * number)
        picture = artifacts.write_bytes(f"screenshots/step-{number:03d}.png", screen)
        view = {"step": number, "size": _SIZE, "elements": _SEEN, "tabs": ("Corner shop",)}
        artifacts.append_view(StepView.model_validate(view))
        artifacts.append_step(
            Step(
                step=number, started=began, duration_s=4.2, url=f"http://shop.test/{number}",
                title=_PAGES[number - 1][0], screenshot=picture, thought=_THOUGHTS[number - 1],
                actions=(action,), results=("ok",),
            )
        )  # fmt: skip
        request = {
            "method": "POST" if number in {2, 3} else "GET",
            "url": f"http://shop.test/api/{number}",
        }
        sent = (began + timedelta(seconds=2)).isoformat()
        entries.append(
            {"startedDateTime": sent, "time": 31, "request": request, "response": {"status": 200}}
        )
    in_cart = "lamp-desk" if actions[1]["target"]["element"] == "5" else "lamp-blue"
    _states(artifacts, in_cart)
    artifacts.path("network.har").write_text(
        json.dumps({"log": {"entries": entries}}), encoding="utf-8"
    )


def _states(artifacts: Any, sku: str) -> None:
    """Leave the shop's own history, as apps with a state do."""
    noted = (
        (2, "cart/add", {"sku": sku}),
        (3, "order/place", {"order": 17, "to": "Main Street 1"}),
    )
    history = [
        {
            "type": kind,
            "payload": payload,
            "timestamp": (_START + timedelta(seconds=9 * number + 1)).timestamp() * 1000,
        }
        for number, kind, payload in noted
    ]
    ended = {"added": {"orders": {"17": {"items": [{"sku": sku, "quantity": 1}]}}}}
    states = {"shop": {"actionhistory": history, "initialfinaldiff": ended}}
    artifacts.path("finish_state.json").write_text(json.dumps(states), encoding="utf-8")


if __name__ == "__main__":
    main()
