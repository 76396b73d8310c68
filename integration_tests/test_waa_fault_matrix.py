"""The simulated desktop or the evaluator of a WAA trial fails; its record says so and loses nothing."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from test_support.part_faults import PART_FAULTS, PartFault

from bench_core.records import AgentOutcome, Limits, Status, Step
from bench_core.run_folder import TrialArtifacts, list_artifacts, read_run
from bench_core.run_spec import RunSpec, TaskFilter
from bench_core.runs import RunEnvironment, run_benchmark_sync
from bench_core.scheduling import Backoff, NoLocks, Policy
from bench_core.testing.faults import CALL, CALL_USD
from bench_core.trial import AgentLimits
from waa_client.actions import Block
from waa_client.benchmark import WaaBenchmark
from waa_client.environment import EnvironmentSettings
from waa_client.pool import VmPool
from waa_client.tasks import load_tasks
from waa_client.vm import VmOptions
from waa_client.world.launch import built_in_world

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from bench_core.protocols import TrialContext
    from bench_core.records import AgentTask, TrialResult

TASK = "clock/02F10F89-7171-4D37-8550-A00BA8930CDF-WOS"
SIGNALS = {"TERM", "KILL", "STOP"}
LOOK = Block(code="computer.mouse.move_abs(x=0.5, y=0.5)")

SERVERS = """
import sys
from pathlib import Path

def desktop():
    from waa_server_ext.simulate import SimulatedVm
    with SimulatedVm(port=0) as vm:
        serve(vm.address)

def evaluator(vm, cache):
    from waa_server_ext.evaluation import EvaluatorSettings, make_evaluator
    from waa_server_ext.server import Service, ServiceSettings, running_server
    cache = Path(cache)
    settings = EvaluatorSettings(cache=cache, offline=True, skip_sleeps=True, vm_timeout_s=1.5)
    with Service(make_evaluator(settings), ServiceSettings(vm=vm, cache=cache)) as service:
        with running_server(service) as server:
            serve(f"127.0.0.1:{server.port}")

def serve(address):
    print(address, flush=True)
    sys.stdin.read()

{"desktop": desktop, "evaluator": evaluator}[sys.argv[1]](*sys.argv[2:])
"""


class Part:
    """A server in a process of its own, behind a relay that may answer in its place."""

    def __init__(self, *command: str) -> None:
        self._command = command
        self._process: subprocess.Popen[str] | None = None
        self._stopped = threading.Event()
        self.fault: str | None = None
        self.before: Callable[[str], None] = lambda path: None
        self.address = ""
        part = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                part._answer(self)

            do_POST = do_GET  # the base class wants the name

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.host = f"127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def mend(self) -> None:
        """Let it work, in a new process where the last one has ended."""
        self.fault, self.before = None, lambda path: None
        if self._process is not None:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGCONT)
            if self._process.poll() is None:
                return
        self.end()
        line = [sys.executable, "-c", SERVERS, *self._command]
        self._process = subprocess.Popen(
            line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()

    def fail(self, fault: str) -> None:
        """Fail from now on."""
        if fault not in SIGNALS:
            self.fault = fault
            return
        assert self._process is not None
        os.kill(self._process.pid, signal.Signals[f"SIG{fault}"])
        if fault != "STOP":
            self._process.wait(20)

    def end(self) -> None:
        """End the process, whatever state it is in."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                assert stream is not None
                stream.close()
            self._process = None

    def close(self) -> None:
        self._stopped.set()
        self.end()
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("content-length") or 0))
        self.before(handler.path)
        if self.fault == "late":
            self._stopped.wait(10)
        status, kind, answer = 500, "text/html", b"<html>no</html>"
        if self.fault == "garbage":
            status, answer = 200, b"\x00\xffgarbage"
        if self.fault is None:
            try:
                status, kind, answer = self._asked(handler, body)
            except OSError:
                return
            if self.fault == "late":
                self._stopped.wait(10)
        if self.fault == "nothing" or self._stopped.is_set():
            return
        with suppress(OSError):
            handler.send_response(status)
            handler.send_header("content-type", kind)
            handler.send_header("content-length", str(len(answer)))
            handler.end_headers()
            handler.wfile.write(answer)

    def _asked(self, handler: BaseHTTPRequestHandler, body: bytes) -> tuple[int, str, bytes]:
        upstream = http.client.HTTPConnection(self.address, timeout=10)
        try:
            headers = {
                name: value for name, value in handler.headers.items() if name.lower() != "host"
            }
            upstream.request(handler.command, handler.path, body or None, headers)
            answer = upstream.getresponse()
            data = answer.read()
        except http.client.HTTPException as error:
            raise ConnectionError(str(error)) from error
        finally:
            upstream.close()
        if self.fault not in {None, "late"}:  # it failed while it was asked
            return 500, "text/html", b"<html>no</html>"
        return answer.status, answer.headers.get("content-type", ""), data


class Parts:
    """The two parts of a trial."""

    def __init__(self, cache: Path) -> None:
        self.desktop = Part("desktop")
        self.evaluator = Part("evaluator", self.desktop.host, str(cache))

    def mend(self) -> None:
        self.desktop.mend()
        self.evaluator.mend()

    def fail(self, fault: PartFault) -> None:
        part: Part = getattr(self, fault.part)
        part.fail(fault.fault)

    def fail_while_evaluated(self, fault: PartFault) -> None:
        """Fail as the evaluator asks the desktop for what its score depends on, however often it has asked before."""

        def before(path: str) -> None:
            if path == SCORED_BY:
                self.desktop.before = lambda path: None
                self.fail(fault)

        self.desktop.before = before


SCORED_BY = "/check_if_timer_started"
"""On a busy machine other questions of an evaluation may come late, or again."""


class Spender:
    """Does something, makes a model call, and then a part fails."""

    name = "spender"
    in_process = True

    def __init__(self, fault: PartFault | None, parts: Parts) -> None:
        self._fault = fault
        self._parts = parts

    async def run(self, task: AgentTask, environment: Any, context: TrialContext) -> AgentOutcome:
        fault, parts = self._fault, self._parts
        TrialArtifacts(context.folder).append_step(Step(step=1))
        context.meter.spend(CALL, CALL_USD)
        desktop = environment.live
        await desktop.run(LOOK)
        if fault is not None and fault.phase in {"work", "capture"}:
            parts.fail(fault)
        if fault is not None and fault.phase == "evaluate":
            parts.fail_while_evaluated(fault)
        if fault is not None and fault.phase == "work":
            await desktop.observe()
        return AgentOutcome()


@contextmanager
def running_parts(cache: Path) -> Iterator[Parts]:
    with ExitStack() as stack:
        parts = Parts(cache)
        stack.callback(parts.desktop.close)
        stack.callback(parts.evaluator.close)
        yield parts


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Parts]:
    with running_parts(tmp_path_factory.mktemp("cache")) as running:
        yield running


def slack_of(fault: PartFault | None) -> float:
    """How long calls may take: a busy machine gets its time where nobody waits for what never comes."""
    if fault is not None and fault.phase == "open":
        return 0.02  # nothing has to be answered where a part fails from the start
    return 0.1 if fault is not None and fault.fault in {"STOP", "late"} else 1.0


def run(fault: PartFault | None, parts: Parts, out: Path) -> tuple[TrialResult, Path]:
    """Run one trial in which a part fails, and return its record and its folder."""
    parts.mend()
    at_open = fault is not None and fault.phase == "open"
    benchmark = WaaBenchmark(
        load_tasks(built_in_world().tasks_folder()),
        pool=VmPool([f"http://{parts.desktop.host}"], NoLocks(),
                    evaluators=[f"http://{parts.evaluator.host}"]),
        settings=EnvironmentSettings(
            ask_again_s=0.01, evaluation_s=60.0 if fault is None else 6.0, boot_s=0.5
        ),
        options=VmOptions(tries=2, wait_s=0.01, slack=slack_of(fault)),
    )  # fmt: skip
    spec = RunSpec(
        tasks=TaskFilter(ids=(TASK,)), agent="spender", world="built-in", timing="fast",
        attempts=2, limits=Limits(time_limit_s=60),
    )  # fmt: skip

    def begun(*_: object) -> Spender:
        if not at_open:
            parts.mend()  # for the second try
        return Spender(fault, parts)

    run_environment = RunEnvironment(
        locks=NoLocks(),
        agent_for=begun,
        agent_limits=AgentLimits(overtime_s=0.2, stop_s=1.0),
        policy=Policy(attempts=2, backoff=Backoff(first_s=0.0)),
    )
    if fault is not None and at_open:
        parts.fail(fault)
    run_benchmark_sync(benchmark, spec, out, run_environment=run_environment)
    view = read_run(out)
    (result,) = view.results.values()
    return result, view.trial_folder(result.key)


def check(fault: PartFault, result: TrialResult, folder: Path) -> None:
    """Compare a record with its row of the table."""
    assert (result.status, result.score) == (fault.status, None), result.error
    assert {"not_retried", "harness_error"} & set(result.flags) == set(fault.flags)
    assert len(result.attempts) == (1 if fault.flags else 2)
    worked = fault.phase != "open"
    assert [each.usage for each in result.spent] == [CALL] * worked
    assert [each.cost_usd for each in result.spent] == [CALL_USD] * worked
    assert result.steps == worked
    assert set(result.artifact_paths) == set(list_artifacts(folder))
    assert "log.txt" in result.artifact_paths
    assert ("action_history.json" in result.artifact_paths) == worked


@pytest.mark.parametrize(
    "fault", [each for each in PART_FAULTS if each.benchmark == "waa"], ids=lambda each: each.name
)
def test_a_part_of_waa_that_fails(fault: PartFault, parts: Parts, tmp_path: Path) -> None:
    check(fault, *run(fault, parts, tmp_path / "run"))


def test_a_trial_whose_parts_all_work_is_scored(parts: Parts, tmp_path: Path) -> None:
    result, _ = run(None, parts, tmp_path / "run")
    assert (result.status, result.score, result.suspect) == (Status.COMPLETED, 0.0, ())
