"""Native evaluators beside a checkout's own: how soon they start, how fast they score, their memory.

Both run in a process of their own, as the server runs them, and score the same cases on the same
fixture VMs. The peer needs `PROCTOR_WAA_CHECKOUT` (a checkout) and, where this interpreter lacks the
extra `vanilla`, `PROCTOR_VANILLA_PYTHON` (one that has it); without them ours is measured alone.
Times are CPU time with that of children, so that who else is on the machine does not matter, and
those of a case are taken when everything has been imported. Each has run once before it is measured:
compiling what it imports belongs to the installation, and takes three times the memory of importing.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bench_core
import waa_server_ext
from bench_core.cli import render_table
from waa_server_ext.fixture import FixtureVm
from waa_server_ext.vm.state import VmState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Self

PACKAGE = Path(__file__).resolve().parents[1]
GOLDEN = (
    Path(os.environ.get("PROCTOR_DATA", PACKAGE.parents[2] / "shared" / "data"))
    / "waa/golden.jsonl"
)
COMMITTED = PACKAGE / "tests" / "native" / "cases" / "getters.jsonl"
HOST = "127.88.1.2"
SOONER, FASTER, SMALLER = 10.0, 1.0, 3.0
"""Promised: starts ten times sooner, scores at least as fast, needs a third of the memory."""
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Measured:
    """One kind of evaluator: CPU seconds and the most memory that it had at once."""

    name: str
    start_s: float
    cases_s: float
    peak_mb: float
    scored: int


def main() -> int:
    """Measure both, print a table, and say whether what is promised holds."""
    cases = _cases()
    native = _measure("native", sys.executable, {}, cases)
    checkout = os.environ.get("PROCTOR_WAA_CHECKOUT", "").split(os.pathsep)[0]
    if not checkout:
        _print([native], len(cases))
        print("no peer: set PROCTOR_WAA_CHECKOUT to a Windows Agent Arena checkout")
        return 0
    python = os.environ.get("PROCTOR_VANILLA_PYTHON", sys.executable)
    vanilla = _measure("vanilla", python, {"checkout": str(Path(checkout).resolve())}, cases)
    _print([native, vanilla], len(cases))
    return _judge(native, vanilla)


def _cases() -> list[dict[str, Any]]:
    """Return the golden cases but those that decode sound for half a minute, else our own."""
    path = GOLDEN if GOLDEN.exists() else COMMITTED
    found = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [case for case in found if not case.get("slow") and "evaluator" in case["task"]]


def _measure(name: str, python: str, more: dict[str, Any], cases: list[dict[str, Any]]) -> Measured:
    with _worker(python, more) as warm_up:
        for case in cases:
            _score(warm_up, case)
    with _worker(python, more) as worker, _Peak(worker.pid) as peak:
        start_s = _cpu(worker.pid)
        scored = sum(_score(worker, case) for case in cases)
        warm_s = _cpu(worker.pid)  # native imports when it is asked: measured is the next pass
        for case in cases:
            _score(worker, case)
        cases_s = _cpu(worker.pid) - warm_s
    return Measured(name, start_s, cases_s, peak.megabytes, scored)


@contextlib.contextmanager
def _worker(python: str, more: dict[str, Any]) -> Iterator[subprocess.Popen[str]]:
    """Start an evaluator in a process of its own, as the server does."""
    sources = [str(Path(each.__path__[0]).parent) for each in (waa_server_ext, bench_core)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sources)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryDirectory(prefix="bench-native-") as folder:
        worker = subprocess.Popen(
            [python, "-m", "waa_server_ext.evaluation.worker"], text=True, env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        settings = {"cache": folder, "skip_sleeps": True, "web_timeout_s": 20.0, **more}
        answer = _ask(worker, settings)
        if "ready" not in answer:
            raise SystemExit(f"{python}: {answer}")
        yield worker
        worker.stdin.close()  # type: ignore[union-attr]  # a pipe
        worker.wait()


class _Peak:
    """The most memory that a process and its children had at once, each at its worst so far."""

    def __init__(self, pid: int) -> None:
        self.megabytes = 0.0
        self._pid = pid
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._over.wait(0.1):
            with contextlib.suppress(OSError, IndexError):  # a child that ends meanwhile
                used = sum(map(_peak_kb, _family(self._pid))) / 1024
                self.megabytes = max(self.megabytes, used)


def _score(worker: subprocess.Popen[str], case: dict[str, Any]) -> bool:
    with FixtureVm(VmState.load(case["vm_state"]), host=HOST) as vm:
        task = json.loads(json.dumps(case["task"]).replace("${CLOUD_BASE}", vm.cloud_base))
        call = {
            "call": "evaluate", "task": task, "action_history": case["action_history"],
            "vm": vm.address, "seconds": 120,
        }  # fmt: skip
        answer = _ask(worker, call)
    return "verdict" in answer and json.loads(answer["verdict"])["score"] is not None


def _ask(worker: subprocess.Popen[str], call: dict[str, Any]) -> dict[str, Any]:
    assert worker.stdin is not None  # noqa: S101  # pipes
    assert worker.stdout is not None  # noqa: S101  # same
    worker.stdin.write(json.dumps(call) + "\n")
    worker.stdin.flush()
    return dict(json.loads(worker.stdout.readline()))


def _cpu(pid: int) -> float:
    """Return the CPU seconds of a process and of all its children, ended ones too."""
    ticks = 0
    for each in _family(pid):
        fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(int(field) for field in fields[11:15])
    return ticks / TICKS


def _peak_kb(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def _family(pid: int) -> list[int]:
    """Return a process and those below it that live."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in _family(int(child)))]


def _print(rows: list[Measured], cases: int) -> None:
    table = [
        (
            each.name,
            f"{each.start_s:.2f}",
            f"{each.cases_s / cases * 1000:.1f}",
            f"{each.peak_mb:.0f}",
            each.scored,
        )
        for each in rows
    ]
    if len(rows) == 2:
        native, vanilla = rows
        table.append(
            (
                "ratio",
                f"{vanilla.start_s / native.start_s:.1f}x",
                f"{vanilla.cases_s / native.cases_s:.1f}x",
                f"{vanilla.peak_mb / native.peak_mb:.1f}x",
                "",
            )
        )
    print(f"{cases} cases")
    print(
        render_table(("evaluators", "start, CPU s", "a case, CPU ms", "peak MB", "scored"), table)
    )


def _judge(native: Measured, vanilla: Measured) -> int:
    bounds = (
        ("starts sooner", vanilla.start_s / native.start_s, SOONER),
        ("scores as fast", vanilla.cases_s / native.cases_s, FASTER),
        ("needs less memory", vanilla.peak_mb / native.peak_mb, SMALLER),
    )
    missed = [(name, ratio, bound) for name, ratio, bound in bounds if ratio < bound]
    for name, ratio, bound in missed:
        print(f"missed: native {name} {ratio:.1f} times, promised {bound:g}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
