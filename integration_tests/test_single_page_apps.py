"""Multi-REAL's real path on five apps of unlike frameworks, each at its own origin and with its own kind of store.

They are built with npm from `single_page_apps/`, which asks the npm registry: set PROCTOR_NPM=1.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.run_folder import read_run
from bench_core.run_spec import RunSpec
from bench_core.runs import RunEnvironment, run_benchmark, run_benchmark_sync
from bench_core.scheduling import NoLocks
from bench_core.testing import FaultMatrix
from multireal_harness.agents.scripted_agent import ScriptedAgent
from multireal_harness.benchmark import MultiRealBenchmark
from multireal_harness.browsers import Browsers
from multireal_harness.environment import EnvironmentSettings
from multireal_harness.states.capture import CaptureSettings
from multireal_harness.tasks import load_tasks
from multireal_harness.world import Solution

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench_core.records import Task

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        "PROCTOR_NPM" not in os.environ or shutil.which("npm") is None,
        reason="builds apps with npm from its registry: set PROCTOR_NPM=1",
    ),
]

SOURCES = Path(__file__).parent / "single_page_apps"
APPS = ("react", "vue", "svelte", "preact", "plain")
PAIRS = [("react", "vue"), ("svelte", "preact"), ("plain", "react")]
GOOD = {"task": "react-vue-1", "name": "good", "passes": True}
ADDED = "differences.notes.added[?title == 'Buy milk']"


def task_of(first: str, second: str, urls: dict[str, str]) -> dict[str, Any]:
    return {
        "id": f"{first}-{second}-1",
        "goal": f"Add the note 'Buy milk' in {first} and in {second}.",
        "websites": [{"id": each, "name": each, "url": urls[each]} for each in (first, second)],
        "points": 2,
        "evals": [
            {
                "type": "jmespath",
                "query": f"length({each}.{ADDED}) == `1` && length({each}.differences.notes.added) == `1`",
                "expected_value": True,
                "description": f"Verify the note was added in {each}.",
            }
            for each in (first, second)
        ],
    }


def solution_of(first: str, second: str) -> Solution:
    steps: list[dict[str, str]] = []
    for each in (first, second):
        steps += [
            {"do": "open", "app": each},
            {"do": "fill", "field": "title", "text": "Buy milk"},
            {"do": "click", "text": "Add"},
            {"do": "click", "text": "Buy milk"},  # it is there when the app has kept it
        ]
    return Solution.model_validate({**GOOD, "steps": [*steps, {"do": "done"}]})


class Serving(BaseHTTPRequestHandler):
    app = ""
    script = b""
    stores: dict[str, bytes]

    def do_GET(self) -> None:
        page = f'<div id="app"></div><script src="/app.js" data-app="{self.app}"></script>'
        kind, body = "text/html", f"<!doctype html>{page}".encode()
        if self.path == "/app.js":
            kind, body = "text/javascript", self.script
        elif self.path.startswith("/store/"):
            kind, body = "application/json", self.stores.get(self.path, b"null")
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self) -> None:
        self.stores[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def urls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Build the apps, and serve each at an origin of its own."""
    folder = tmp_path_factory.mktemp("apps") / "sources"
    shutil.copytree(SOURCES, folder)
    for command in (["npm", "install", "--no-audit"], ["node", "build.mjs", "built"]):
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False
        )  # fixed words
        assert done.returncode == 0, done.stderr
    servers = {}
    for each in APPS:
        script = (folder / "built" / f"{each}.js").read_bytes()
        handler = type("Handler", (Serving,), {"app": each, "script": script, "stores": {}})
        servers[each] = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=servers[each].serve_forever, daemon=True).start()
    yield {name: f"http://127.0.0.1:{each.server_port}" for name, each in servers.items()}
    for each in servers.values():
        each.shutdown()
        each.server_close()


@pytest.fixture
def tasks(urls: dict[str, str], tmp_path: Path) -> list[Task]:
    (tmp_path / "tasks").mkdir()
    for pair in PAIRS:
        task = task_of(*pair, urls)
        (tmp_path / "tasks" / f"{task['id']}.json").write_text(json.dumps(task), encoding="utf-8")
    return load_tasks(tmp_path / "tasks")


@pytest.mark.parametrize(
    ("works", "score"), [(True, 1.0), (False, 0.0)], ids=["scripted", "nothing"]
)
def test_three_trials_of_each_task_with_two_workers(
    works: bool, score: float, tasks: list[Task], tmp_path: Path
) -> None:
    solutions = {f"multi.{a}-{b}-1": solution_of(a, b) for a, b in PAIRS}
    nothing = Solution.model_validate({**GOOD, "steps": [{"do": "done"}]})
    outcome = run_benchmark_sync(
        MultiRealBenchmark(tasks),
        RunSpec(agent="scripted", trials=3, workers=2),
        tmp_path / "run",
        run_environment=RunEnvironment(
            locks=NoLocks(),
            agent_for=lambda task, *_: ScriptedAgent(solutions[task.task_id] if works else nothing),
        ),
    )
    results = list(read_run(Path(outcome.folder)).results.values())
    assert [(each.status.value, each.score) for each in results] == [("completed", score)] * 9
    assert [each.flags for each in results] == [()] * 9


class TestFaults(FaultMatrix):
    @pytest.fixture
    def loop(self) -> Iterator[asyncio.Runner]:
        with asyncio.Runner() as runner:
            yield runner

    @pytest.fixture
    def benchmark_under_test(
        self, tasks: list[Task], loop: asyncio.Runner
    ) -> Iterator[MultiRealBenchmark]:
        browsers = Browsers()
        capture = CaptureSettings(app_s=15, quiet_s=3)
        settings = EnvironmentSettings(track=False, capture=capture)
        yield MultiRealBenchmark(tasks, browsers=browsers, settings=settings)
        loop.run(browsers.close())

    @pytest.fixture
    def runs(self, loop: asyncio.Runner) -> Callable[..., object]:
        return lambda *given, **named: loop.run(run_benchmark(*given, **named))

    @pytest.fixture
    def task(self, tasks: list[Task]) -> Task:
        return next(each for each in tasks if each.task_id == "multi.react-vue-1")

    @pytest.fixture
    def solver(self) -> ScriptedAgent:
        return ScriptedAgent(solution_of("react", "vue"))

    @pytest.fixture
    def spec(self) -> RunSpec:
        return RunSpec(agent="faulty", sealing="off")
