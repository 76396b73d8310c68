"""An evaluator in a separate process, which can hang, crash or print without doing harm.

The server does not import the evaluator. A call that outlives its deadline ends together with the
process that runs it, browser drivers included; the next call starts a new one.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from bench_core.child_process import (
    ChildGoneError,
    FrameError,
    SpawnedProcess,
    blocking,
    encode_line,
)
from bench_core.closing import Closing
from bench_core.errors import EnvironmentFaultError, EvaluationError, InputError
from waa_server_ext.evaluation.evaluators import Description, EvaluatorSettings
from waa_server_ext.evaluation.verdicts import EvaluationFault, SetupReport, Verdict

_START_S = 300.0
"""Importing vanilla's evaluators takes 4 s on an idle machine, minutes on an overloaded one."""
_GRACE_S = 10.0  # lets an evaluation that ends by its own deadline still return its verdict
_TEMPORARY = ("TMPDIR", "TEMP", "TMP")
"""The variables for the place of temporary files, set so that they, too, go below the cache."""


class _GoneError(Exception):
    """The evaluating process has ended, or must be ended."""


class IsolatedEvaluator(Closing):
    """Runs the evaluator of `settings` in a child process; a context manager.

    A call still running `grace_s` seconds after its deadline is ended together with its process.

    Raises:
        InputError: The evaluator cannot be made: no checkout, a missing package.
        EvaluationError: The process ended or hung during its start.
    """

    def __init__(self, settings: EvaluatorSettings, *, grace_s: float = _GRACE_S) -> None:
        self._settings = settings
        self._grace_s = grace_s
        self._lock = threading.Lock()
        self._worker: _EvaluatorProcess | None = None
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
        try:
            reply = self._call(
                "evaluate",
                deadline,
                task=task,
                action_history=list(action_history),
                vm=vm,
                replayed=replayed,
            )
            return Verdict.model_validate_json(reply["verdict"])
        except _GoneError as gone:
            return Verdict(
                score=None,
                reason=f"not scored: the evaluator is gone: {gone}",
                evaluation_error=EvaluationFault(
                    phase="evaluate", type="EvaluatorGone", message=str(gone)
                ),
                evaluator=self._description.kind,
                fidelity=self._description.fidelity,
            )

    def set_up(
        self, task: Mapping[str, Any], *, vm: str, deadline: float | None = None
    ) -> SetupReport:
        """Run the task's setup steps; see `Evaluator`.

        Raises:
            EnvironmentFaultError: The process died after an unknown number of steps.
        """
        try:
            reply = self._call("set_up", deadline, task=task, vm=vm)
            return SetupReport.model_validate_json(reply["report"])
        except _GoneError as gone:
            raise EnvironmentFaultError(f"the evaluator is gone: {gone}") from gone

    def describe(self) -> Description:
        """Describe the evaluator; see `Evaluator`."""
        return self._description

    @property
    def pid(self) -> int | None:
        """The id of the evaluating process, None if there is none."""
        return self._worker.pid if self._worker else None

    def close(self) -> None:
        """End the process; safe to call twice."""
        with self._lock:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()

    def _call(self, kind: str, deadline: float | None, **fields: Any) -> dict[str, Any]:
        with self._lock:
            worker = self._running()
            seconds = None if deadline is None else max(deadline - time.monotonic(), 0.0)
            longest = None if seconds is None else seconds + self._grace_s
            try:
                reply = worker.ask(encode_line(kind, seconds=seconds, **fields), longest)
            except FrameError as error:
                raise InputError(str(error)) from error
            except ChildGoneError as gone:
                self._worker = None
                worker.end()
                raise _GoneError(f"its process {gone}") from gone
        if reply["type"] == "refused":
            raise InputError(reply["reason"])
        if reply["type"] == "broken":
            raise _GoneError(f"it is broken: {reply['reason']}")
        return reply

    def _running(self) -> _EvaluatorProcess:
        if self._worker is None:
            self._worker = _EvaluatorProcess(self._settings)
        return self._worker


class _EvaluatorProcess:
    """The child process, its folder of temporary files and its current evaluation."""

    def __init__(self, settings: EvaluatorSettings) -> None:
        settings.cache.mkdir(parents=True, exist_ok=True)
        self._scratch = tempfile.mkdtemp(prefix="worker-", dir=settings.cache)
        command = [sys.executable, "-W", "ignore", "-m", "waa_server_ext.evaluation.worker"]
        environment = {
            **os.environ,
            "PYTHONUTF8": "1",  # vanilla reads text in the locale's encoding, which is cp1252 on Windows
            "NUMBA_CACHE_DIR": str(settings.cache / "numba"),  # librosa's default is its own folder
            **dict.fromkeys(_TEMPORARY, self._scratch),
        }
        self._process = blocking(SpawnedProcess.start(command, environment))
        self.pid = self._process.pid
        try:
            reply = self.ask(encode_line("begin", settings=settings.model_dump_json()), _START_S)
        except ChildGoneError as gone:
            self.end()
            raise EvaluationError(f"the evaluator did not start: its process {gone}") from gone
        except BaseException:
            self.end()
            raise
        if reply["type"] == "fatal":
            self.end()
            raise (InputError if reply["input"] else EvaluationError)(reply["reason"])
        self.description = Description.model_validate(reply["description"])

    def ask(self, line: bytes, seconds: float | None) -> dict[str, Any]:
        return blocking(self._process.ask(line, seconds))

    def end(self) -> None:
        self._process.kill()
        blocking(self._process.ended())
        shutil.rmtree(self._scratch, ignore_errors=True)
