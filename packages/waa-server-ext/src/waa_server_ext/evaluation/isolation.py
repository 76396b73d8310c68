"""An evaluator in a process of its own, which can hang, crash or print without doing harm.

The server imports nothing of the evaluator. A call that outlives its deadline ends with the process
that runs it, browser drivers included; the next call starts a new one.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import IO, TYPE_CHECKING, Any, cast

from bench_core.closing import Closing
from bench_core.errors import EnvironmentFaultError, EvaluationError, InputError
from waa_server_ext.evaluation.evaluators import Description
from waa_server_ext.evaluation.verdicts import EvaluationFault, SetupReport, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from waa_server_ext.evaluation.evaluators import EvaluatorSettings

__all__ = ["IsolatedEvaluator"]

_START_S = 300.0
"""Importing vanilla's evaluators takes 4 s on a quiet machine, minutes on a starved one."""
_GRACE_S = 10.0  # an evaluation that ends by its own deadline still returns its verdict
_TEMPORARY = ("TMPDIR", "TEMP", "TMP")
"""The variables that say where temporary files go, so that they go below the cache, too."""


class _WorkerGoneError(Exception):
    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class IsolatedEvaluator(Closing):
    """Runs the evaluator of `settings` in a child process; a context manager.

    A call that has not come back `grace_s` seconds after its deadline ends with its process.

    Raises:
        InputError: The evaluator cannot be made: no checkout, a missing package.
        EvaluationError: The process ended or hung while it started.
    """

    def __init__(self, settings: EvaluatorSettings, *, grace_s: float = _GRACE_S) -> None:
        self._settings = settings
        self._grace_s = grace_s
        self._lock = threading.Lock()
        self._worker: _Worker | None = None
        self._description = self._running().description

    def evaluate(
        self,
        task: Mapping[str, Any],
        action_history: Sequence[str],
        *,
        vm: str,
        deadline: float | None = None,
        replayed: bool = False,
    ) -> Verdict:
        """Score `task` on the VM; see `Evaluator`."""
        call = {
            "call": "evaluate", "task": task, "action_history": list(action_history), "vm": vm,
            "replayed": replayed,
        }  # fmt: skip
        try:
            return Verdict.model_validate_json(self._call(call, deadline)["verdict"])
        except _WorkerGoneError as gone:
            return Verdict(
                score=None,
                reason=f"not scored: the evaluator is gone: {gone.reason}",
                evaluation_error=EvaluationFault(
                    phase="evaluate", type="EvaluatorGone", message=gone.reason
                ),
                evaluator=self._description.kind,
                fidelity=self._description.fidelity,
            )

    def set_up(
        self, task: Mapping[str, Any], *, vm: str, deadline: float | None = None
    ) -> SetupReport:
        """Run the task's set-up steps; see `Evaluator`.

        Raises:
            EnvironmentFaultError: The process died, and how far it came is not known.
        """
        call = {"call": "set_up", "task": task, "vm": vm}
        try:
            return SetupReport.model_validate_json(self._call(call, deadline)["report"])
        except _WorkerGoneError as gone:
            raise EnvironmentFaultError(f"the evaluator is gone: {gone.reason}") from gone

    def describe(self) -> Description:
        """Say what the evaluator is; see `Evaluator`."""
        return self._description

    @property
    def pid(self) -> int | None:
        """The process that evaluates, while there is one."""
        return self._worker.pid if self._worker else None

    def close(self) -> None:
        """End the process; safe to call twice."""
        with self._lock:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()

    def _call(self, call: Mapping[str, Any], deadline: float | None) -> dict[str, Any]:
        with self._lock:
            worker = self._running()
            seconds = None if deadline is None else max(deadline - time.monotonic(), 0.0)
            longest = None if seconds is None else seconds + self._grace_s
            try:
                reply = worker.ask({**call, "seconds": seconds}, longest)
            except _WorkerGoneError:
                self._worker = None
                worker.end()
                raise
        if "refused" in reply:
            raise InputError(reply["refused"])
        if "broken" in reply:
            raise _WorkerGoneError(f"it is broken: {reply['broken']}")
        return reply

    def _running(self) -> _Worker:
        if self._worker is None:
            self._worker = _Worker(self._settings)
        return self._worker


class _Worker:
    """The child process and the pipe to it."""

    def __init__(self, settings: EvaluatorSettings) -> None:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as the process
        settings.cache.mkdir(parents=True, exist_ok=True)
        self._scratch = tempfile.mkdtemp(prefix="worker-", dir=settings.cache)
        self._process = subprocess.Popen(  # this package's own module
            [sys.executable, "-W", "ignore", "-m", "waa_server_ext.evaluation.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,  # until it has started; afterwards it is silent
            encoding="ascii",
            start_new_session=True,  # it may start a browser's driver: they end together
            env={
                **os.environ,
                "PYTHONUTF8": "1",  # vanilla reads text in the locale's encoding, which is cp1252 on Windows
                "NUMBA_CACHE_DIR": str(settings.cache / "numba"),  # librosa compiles beside itself
                **dict.fromkeys(_TEMPORARY, self._scratch),
            },
        )
        self._replies: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            self.description = self._start(settings)
        except BaseException:
            self.end()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, message: Mapping[str, Any], seconds: float | None) -> dict[str, Any]:
        self._send(json.dumps(message))
        return self._reply(seconds)

    def end(self) -> None:
        if sys.platform == "win32":
            self._process.kill()
        else:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join()
        self._stderr.close()
        shutil.rmtree(self._scratch, ignore_errors=True)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def _start(self, settings: EvaluatorSettings) -> Description:
        try:
            self._send(settings.model_dump_json())
            reply = self._reply(_START_S)
        except _WorkerGoneError as gone:
            raise EvaluationError(
                f"the evaluator did not start: {gone.reason}{self._last_line()}"
            ) from gone
        if "fatal" in reply:
            raise (InputError if reply["input"] else EvaluationError)(reply["fatal"])
        return Description.model_validate(reply["ready"])

    def _last_line(self) -> str:
        self._process.wait(_GRACE_S)
        self._stderr.seek(0)
        lines = self._stderr.read().decode("utf-8", "replace").strip().splitlines()
        return f" ({lines[-1]})" if lines else ""

    def _send(self, line: str) -> None:
        stdin = cast("IO[str]", self._process.stdin)
        try:
            stdin.write(line + "\n")
            stdin.flush()
        except (BrokenPipeError, OSError) as error:
            raise _WorkerGoneError("its process has ended") from error

    def _reply(self, seconds: float | None) -> dict[str, Any]:
        try:
            line = self._replies.get(timeout=seconds)
        except queue.Empty:
            raise _WorkerGoneError(
                f"it did not come back within {seconds:.0f} s and was ended"
            ) from None
        if not line:
            raise _WorkerGoneError("its process ended")
        reply: dict[str, Any] = json.loads(line)
        return reply

    def _read(self) -> None:
        stdout = cast("IO[str]", self._process.stdout)
        for line in stdout:
            self._replies.put(line)
        self._replies.put("")
