"""What a verdict costs over HTTP: ours, and a bare endpoint that calls the same code in the server.

Both score the committed cases with the evaluators of the miniature tree (or of the checkout in
`PROCTOR_WAA_CHECKOUT`) on the same fixture VMs. Ours runs them in a process of their own, bounds
and records every call and syncs the verdict to the disk before it answers; the bare one does not.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
from flask import Flask, jsonify, request

from bench_core.cli import render_table
from waa_server_ext.evaluation.evaluators import EvaluatorSettings
from waa_server_ext.evaluation.isolation import IsolatedEvaluator
from waa_server_ext.fixture import FixtureVm
from waa_server_ext.server import Service, ServiceSettings
from waa_server_ext.server.startup import running_server
from waa_server_ext.vanilla.checkout import find_checkout
from waa_server_ext.vanilla.desktop_env import DesktopEnvStandIn, Watch
from waa_server_ext.vanilla.evaluator_loader import load_vanilla
from waa_server_ext.vm.local_server import make_threaded_server
from waa_server_ext.vm.state import VmState

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(__file__).resolve().parents[1]
CASES = json.loads((PACKAGE / "tests" / "cases" / "vanilla.json").read_text(encoding="utf-8"))
CHECKOUT = Path(
    os.environ.get("PROCTOR_WAA_CHECKOUT", "").split(os.pathsep)[0]
    or PACKAGE / "tests" / "miniature"
)
VM_HOST = "127.88.1.1"
ROUNDS = 3
MOST_MS = 150.0
"""Promised: a verdict costs at most this much more than the bare call, in the median."""


@dataclass
class Row:
    """What was measured of one way to evaluate."""

    name: str
    milliseconds: list[float] = field(default_factory=list)
    agreed: int = 0
    asked: int = 0

    @property
    def median(self) -> float:
        """Milliseconds per verdict."""
        return statistics.median(self.milliseconds)


@contextlib.contextmanager
def ours(folder: Path) -> Iterator[str]:
    """Serve as `waa-server-ext serve` does."""
    settings = EvaluatorSettings(cache=folder / "ours", checkout=CHECKOUT, skip_sleeps=True)
    service_settings = ServiceSettings(vm=VM_HOST, cache=folder / "ours")
    with (
        IsolatedEvaluator(settings) as evaluator,
        Service(evaluator, service_settings) as service,
        running_server(service) as server,
    ):
        yield f"http://127.0.0.1:{server.port}"


@contextlib.contextmanager
def bare(folder: Path) -> Iterator[str]:
    """Serve vanilla's functions in the server's own process, as a first sketch would."""
    vanilla = load_vanilla(find_checkout(CHECKOUT))
    app, turn = Flask("bare"), threading.Lock()
    (folder / "bare").mkdir()
    os.chdir(folder / "bare")

    @app.post("/evaluate")
    def evaluate() -> Any:
        body = request.get_json()
        with turn:
            watch = Watch()
            environment = DesktopEnvStandIn(vanilla, watch, VM_HOST, body["action_history"])
            environment.cache_dir_base = tempfile.mkdtemp(dir=folder)
            score = watch.run(lambda: environment.score(body["task"]))
        return jsonify(score=None if watch.error else float(score))

    server = make_threaded_server("127.0.0.1", 0, app)
    server.start()
    with contextlib.redirect_stdout(None):
        yield f"http://127.0.0.1:{server.server_address[1]}"
    server.stop()


def measure(client: httpx.Client, url: str, case: dict[str, Any], row: Row) -> None:
    """Score one case and add what it took to `row`."""
    with FixtureVm(VmState.load(case["vm_state"]), host=VM_HOST) as vm:
        text = json.dumps(case["task"]).replace("${CLOUD_BASE}", vm.cloud_base)
        body = {"task": json.loads(text), "action_history": case["action_history"]}
        started = time.perf_counter()
        answer = client.post(f"{url}/evaluate", json=body)
        row.milliseconds.append((time.perf_counter() - started) * 1000)
    row.asked += 1
    row.agreed += answer.json().get("score") == case["vanilla"]["score"]


def main() -> int:
    """Print the table; 1 where a promise was missed."""
    rows = [Row("waa-server-ext"), Row("bare endpoint")]
    with (
        tempfile.TemporaryDirectory() as folder,
        ours(Path(folder)) as our_url,
        bare(Path(folder)) as bare_url,
        httpx.Client(timeout=120) as client,
    ):
        for _ in range(ROUNDS):
            for case in CASES:
                for row, url in zip(rows, (our_url, bare_url), strict=True):
                    measure(client, url, case, row)
        os.chdir("/")
    own, peer = rows
    table = [
        (
            row.name,
            f"{row.agreed}/{row.asked}",
            f"{row.median:.1f}",
            f"{row.median / peer.median:.1f}x",
        )
        for row in rows
    ]
    print(render_table(("evaluates with", "agree with vanilla", "ms per verdict", "ratio"), table))
    extra = own.median - peer.median
    kept = extra <= MOST_MS and own.agreed == own.asked
    print(
        f"\n{extra:.1f} ms more per verdict, of {MOST_MS:.0f} promised: {'kept' if kept else 'MISSED'}"
    )
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
