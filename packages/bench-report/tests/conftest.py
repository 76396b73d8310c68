"""Run folders, reports and a real Chromium for the tests."""

from __future__ import annotations

import base64
import gzip
import json
import os
import random
import re
import shutil
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from bench_core.records import Status, Step, Task, TrialResult
from bench_core.testing import make_results, make_run, make_tasks
from bench_report import build_report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, ConsoleMessage, Page

    Builds = Callable[..., "Built"]
    Results = Callable[..., TrialResult]
    Runs = Callable[..., Path]
    Visits = Callable[..., "Visit"]

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
"""A whole PNG file."""


@dataclass
class Built:
    """A report with the contents of its files."""

    report: Any
    folder: Path

    @property
    def html(self) -> str:
        return (self.folder / "index.html").read_text("utf-8")

    @property
    def markdown(self) -> str:
        return (self.folder / "report.md").read_text("utf-8")

    @property
    def json(self) -> dict[str, Any]:
        return json.loads((self.folder / "report.json").read_text("utf-8"))

    def embedded(self, element: str) -> Any:
        """Return the JSON of a data element of the page, unpacked where it is packed."""
        found = re.search(rf'<script [^>]*id="{element}"[^>]*>(.*?)</script>', self.html, re.DOTALL)
        assert found, f"the page has no element {element}"
        text = found.group(1)
        if text.startswith("{"):
            return json.loads(text)
        return json.loads(gzip.decompress(base64.b64decode(text)))

    def table(self) -> Any:
        """Return what the page's table is made of, every column with a value for every row."""
        table = self.embedded("table-data")
        for name, column in table["trials"].items():
            if "same" in column:
                table["trials"][name] = [column["same"]] * table["size"]
        return table


# How long an example takes depends on who shares the machine; no test asserts timings.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.fixture
def pixel() -> bytes:
    """Return a whole PNG file."""
    return PIXEL


@pytest.fixture
def build(tmp_path: Path) -> Callable[..., Built]:
    """Build the report of run folders."""

    def builder(*runs: Path, name: str = "report", **options: Any) -> Built:
        report, _ = build_report(runs, tmp_path / name, **options)
        return Built(report, tmp_path / name)

    return builder


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Path]:
    """Make a run folder in `runs/<name>`."""

    def maker(name: str = "a", **settings: Any) -> Path:
        return make_run(tmp_path / "runs" / name, **settings)

    return maker


@pytest.fixture
def scored_run(run: Callable[..., Path]) -> Callable[..., Path]:
    """Make a run folder from outcomes: task id to the scores of its trials, `None` for none."""

    def maker(
        outcomes: dict[str, list[float | None]], name: str = "scored", **settings: Any
    ) -> Path:
        templates = settings.pop("templates", {})
        goals = settings.pop("goals", {})
        tasks = [
            Task(
                benchmark="demo",
                task_id=task_id,
                goal=goals.get(task_id, f"Do {task_id}."),
                groups={"site": ("gitlab",)},
                template=templates.get(task_id),
            )
            for task_id in outcomes
        ]
        results = [
            _result(task_id, trial, score)
            for task_id, scores in outcomes.items()
            for trial, score in enumerate(scores, start=1)
        ]
        trials = max([1, *map(len, outcomes.values())])
        settings = {"tasks": tasks, "results": results, "trials": trials} | settings
        return run(name, **settings)

    return maker


@pytest.fixture
def judged_run(run: Callable[..., Path]) -> Callable[..., Path]:
    """Make a run of 68 tasks whose query and judge err, with `known` trials of known truth."""

    def maker(known: int = 25, seed: int = 1, name: str = "judged", **settings: Any) -> Path:
        random_ = random.Random(seed)  # noqa: S311  # reproducible, not secret
        tasks = make_tasks(68, per_template=1)
        made = make_results(tasks, seed=seed, statuses={Status.COMPLETED: 1.0})
        results = [_judged(each, random_, known=place < known) for place, each in enumerate(made)]
        return run(name, tasks=tasks, results=results, **settings)

    return maker


def _judged(result: TrialResult, random_: random.Random, *, known: bool) -> TrialResult:
    truth = random_.random() < 0.4
    query = random_.random() < (0.8 if truth else 0.03)
    judge = random_.choices(
        ("pass", "fail", "abstain"), (0.85, 0.1, 0.05) if truth else (0.1, 0.85, 0.05)
    )[0]
    passed = query or judge == "pass"
    verdict = {"pass": True, "fail": False}.get(judge)
    checks = [
        {"criterion": "the end state", "passed": passed, "decided_by": by}
        for by, passed in (("query", query), ("judge", verdict))
    ]
    fields = result.model_dump() | {
        "score": float(passed),
        "success": passed,
        "method": "jmespath 1.1" if query else "llm-judge 0.1",
        "confidence": 0.95 if query == (judge == "pass") else 0.5,
        "failure_mode": None if passed else "wrong_answer",
        "checks": checks,
        "details": {"ground_truth": truth} if known else {},
    }
    return TrialResult.model_validate(fields)


@pytest.fixture
def large_run(tmp_path: Path) -> Path:
    """Write a run of 5,000 tasks and 20 trials in one go, as no scheduler would."""
    tasks = make_tasks(5_000)
    folder = make_run(tmp_path / "large", tasks=tasks, trials=20, results=(), artifacts=False)
    lines = (each.model_dump_json() + "\n" for each in make_results(tasks, trials=20))
    (folder / "results.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


@pytest.fixture
def scored_result() -> Callable[..., TrialResult]:
    """Make a result from a score; other fields as given."""
    return _result


def _result(task_id: str, trial: int, score: float | None, **fields: Any) -> TrialResult:
    status = "environment_error" if score is None else "completed"
    return TrialResult(
        **{
            "benchmark": "demo",
            "task_id": task_id,
            "trial": trial,
            "agent": "scripted",
            "model": "openai:gpt-5.2",
            "status": status,
            "score": score,
            "method": None if score is None else "exact match 1.0",
        }
        | fields
    )


@pytest.fixture
def add_trajectory() -> Callable[..., Path]:
    """Give a trial a trajectory; every step's screenshot is a pixel."""
    return _add_trajectory


def _add_trajectory(run: Path, task_id: str, steps: list[Step], trial: int = 1) -> Path:
    folder = run / "trials" / str(trial) / task_id
    (folder / "screenshots").mkdir(parents=True, exist_ok=True)
    for step in steps:
        if step.screenshot:
            (folder / step.screenshot).write_bytes(PIXEL)
    lines = "".join(step.model_dump_json() + "\n" for step in steps)
    (folder / "trajectory.jsonl").write_text(lines, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def report_of_runs() -> Callable[..., Built]:
    """Build a report that several tests share."""

    def builder(runs: list[Path], out: Path, **options: Any) -> Built:
        return Built(build_report(runs, out, **options)[0], out)

    return builder


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Build the report of an agent and of a hasty one in a shop; both left all evidence there is.

    The hasty agent puts the desk lamp into the cart in every trial of three of the eight tasks, and in the
    second trial of a fourth one; the careful one does so in the first trial of task t3.
    """
    place = tmp_path_factory.mktemp("shop")
    careful = _shop_run(place / "careful", {("t3", 1)})
    wrong = {(task, trial) for task in ("t1", "t3", "t5") for trial in (1, 2)} | {("t6", 2)}
    report, _ = build_report([careful, _shop_run(place / "hasty", wrong)], place / "report")
    return Built(report, place / "report")


_SHOP_STEPS: list[dict[str, Any]] = [
    {"kind": "type", "text": "blue lamp", "target": {"x": 120, "y": 150, "unit": "px"}},
    {"kind": "click", "target": {"element": "7"}},
    {"kind": "click", "target": {"x": 0.26, "y": 0.3, "unit": "relative"}},
    {"kind": "done", "answer": "17"},
]
_HASTY_STEPS: list[dict[str, Any]] = [
    _SHOP_STEPS[0],
    {"kind": "click", "target": {"element": "5"}},
    {"kind": "scroll", "target": {"x": 500, "y": 300}, "dx": 0, "dy": 400},
    {"kind": "drag", "start": {"x": 100, "y": 100}, "end": {"x": 400, "y": 300}},
    {"kind": "done", "answer": "16"},
]
_SHOP_ELEMENTS = [
    {"id": "5", "role": "button", "name": "Add desk lamp", "rect": [110, 200, 120, 40]},
    {"id": "7", "role": "button", "name": "Add blue lamp", "rect": [110, 255, 120, 40]},
]


def _shop_run(folder: Path, wrong: set[tuple[str, int]]) -> Path:
    tasks = [
        Task(benchmark="shop", task_id=f"t{n}", goal=f"Order blue lamp {n}.", groups={"site": ("shop",)})
        for n in range(8)
    ]  # fmt: skip
    keys = [(task.task_id, trial) for task in tasks for trial in (1, 2)]
    results = [_shop_result(key, folder.name, passed=key not in wrong) for key in keys]
    make_run(folder, tasks=tasks, results=results, trials=2, agent=folder.name)
    for task_id, trial in keys:
        _shop_evidence(
            folder / "trials" / str(trial) / task_id,
            _HASTY_STEPS if (task_id, trial) in wrong else _SHOP_STEPS,
        )
    return folder


def _shop_result(key: tuple[str, int], agent: str, *, passed: bool) -> TrialResult:
    ordered = {"items": [{"sku": "lamp-blue", "quantity": 1}], "to": "home"}
    other = {"items": [{"sku": "lamp-desk", "quantity": 1}], "to": "home"}
    checks = [
        {"criterion": "no other order", "passed": True},
        {"criterion": "the order", "passed": passed, "expected": ordered, "actual": ordered if passed else other},
    ]  # fmt: skip
    return TrialResult(
        benchmark="shop", task_id=key[0], trial=key[1], agent=agent, model="openai:gpt-5.2", status="completed",
        score=float(passed), method="exact match 1.0", checks=checks, steps=4,
        failure_mode=None if passed else "wrong_answer",
    )  # fmt: skip


def _shop_evidence(folder: Path, actions: list[dict[str, Any]]) -> None:
    (folder / "screenshots").mkdir(parents=True, exist_ok=True)
    start = datetime(2026, 3, 1, 9, tzinfo=timezone.utc)
    steps, views, entries = [], [], []
    for number, action in enumerate(actions, 1):
        name = f"screenshots/{number}.png"
        (folder / name).write_bytes(PIXEL)
        began = start + timedelta(seconds=10 * number)
        steps.append(
            Step(step=number, started=began, duration_s=4.2, url=f"http://127.0.0.1/{number}", title=f"Page {number}",
                 thought=f"thought {number}", actions=(action,), results=("ok",), screenshot=name).model_dump_json()
        )  # fmt: skip
        view = {"step": number, "size": [1000, 620], "tabs": ["Lamps", "Help"]}
        views.append(json.dumps(view | {"elements": _SHOP_ELEMENTS, "text": f"Lamps {number}"}))
        entries.append({
            "startedDateTime": (began + timedelta(seconds=2)).isoformat(), "time": 31.5,
            "request": {"method": "POST" if number == 2 else "GET", "url": f"http://shop.test/api/{number}"},
            "response": {"status": 200},
        })  # fmt: skip
    (folder / "trajectory.jsonl").write_text("\n".join(steps) + "\n", encoding="utf-8")
    (folder / "observations.jsonl").write_text("\n".join(views) + "\n", encoding="utf-8")
    (folder / "network.har").write_text(json.dumps({"log": {"entries": entries}}))
    sku = "lamp-desk" if actions is _HASTY_STEPS else "lamp-blue"
    bought = {
        "type": "cart/add",
        "payload": {"sku": sku},
        "timestamp": (start.timestamp() + 25) * 1000,
    }
    state = {"actionhistory": [bought], "initialfinaldiff": {"added": {"cart": [sku]}}}
    (folder / "finish_state.json.gz").write_bytes(
        gzip.compress(json.dumps({"shop": state}).encode())
    )


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Start the Chromium of this machine."""
    from playwright.sync_api import sync_playwright  # only browser tests need it

    executable = os.environ.get("CHROME_PATH") or next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if executable is None:
        pytest.skip("no Chromium: set CHROME_PATH or install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()


class Visit:
    """A page opened from disk, with its console messages, requests and dialogs."""

    def __init__(self, page: Page) -> None:
        self.page = page
        page.set_default_timeout(180_000)  # who else works on this machine is not known
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.dialogs: list[str] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)

    def open(self, built: Built, fragment: str = "") -> Page:
        self.page.goto((built.folder / "index.html").as_uri() + fragment)
        self.page.wait_for_selector("html[data-ready]", state="attached")
        return self.page

    def overflow(self) -> int:
        """Return how many pixels the page is wider than its window."""
        return self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Callable[..., Visit]]:
    """Open a window of a size and scheme."""
    contexts = []

    def visitor(width: int = 1280, height: int = 900, scheme: Any = "light") -> Visit:
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme
        )
        contexts.append(context)
        return Visit(context.new_page())

    yield visitor
    for context in contexts:
        context.close()
