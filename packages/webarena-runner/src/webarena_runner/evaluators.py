"""Evaluators: the installed webarena-verified, or one in another Python environment."""

from __future__ import annotations

import json
import select
import subprocess
import threading
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from bench_core.closing import Closing
from bench_core.errors import BenchError, EvaluationError, InputError
from webarena_runner.config import EnvironmentConfig, official_config
from webarena_runner.evaluator_loader import evaluator_module, quiet

__all__ = ["Evaluator", "ForeignEvaluator", "InstalledEvaluator"]

_WORKER = Path(__file__).with_name("evaluator_worker.py")
_ONLY_URLS: dict[str, Any] = {"sites": {"__all__": {"urls"}}}
_START_S = 120.0
_PATIENCE_S = 300.0


class _BrokenError(Exception):
    """The evaluator's process has ended or must be ended."""


class Evaluator(Protocol):
    """An evaluator: webarena-verified's own result for an answer and a recording."""

    def result(
        self, config: EnvironmentConfig, task_id: str, answer: Path | None, har: Path
    ) -> dict[str, Any]:
        """Return the official result as JSON without null fields, for an answer or for none at all."""
        ...


class InstalledEvaluator:
    """webarena-verified as it is installed beside this package."""

    def result(
        self, config: EnvironmentConfig, task_id: str, answer: Path | None, har: Path
    ) -> dict[str, Any]:
        """Evaluate in this process."""
        evaluator = _evaluator(config.model_dump_json(include=_ONLY_URLS))
        with quiet():
            result = evaluator.evaluate_task(
                task_id=int(task_id), agent_response=answer, network_trace=har
            )
        record: dict[str, Any] = json.loads(result.model_dump_json(exclude_none=True))
        return record


class ForeignEvaluator(Closing):
    """webarena-verified of another environment, in a process of its own; a context manager.

    If the process ends one trial has no score; the next trial gets a new process.

    Args:
        python: That environment's interpreter.
        patience_s: Longest time for the evaluation of one trial.
    """

    def __init__(self, python: Path, patience_s: float = _PATIENCE_S) -> None:
        self.python = python
        self.version = ""
        self.patience_s = patience_s
        self._lock = threading.Lock()
        self._start()

    @property
    def pid(self) -> int:
        """The id of its process."""
        return self._process.pid

    def _start(self) -> None:
        try:
            self._process = subprocess.Popen(  # noqa: S603  # the user's own interpreter
                # warnings would fill the pipe of stderr, which is read only where the process does not start
                [str(self.python), "-W", "ignore", str(_WORKER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
            )
        except OSError as error:
            raise InputError(f"{self.python} is no Python interpreter: {error}") from error
        try:
            self.version = str(self._read(starting=True).get("version"))
        except BenchError:
            self.close()
            raise
        except _BrokenError as error:
            self._process.kill()
            self.close()
            raise InputError(f"the evaluator of {self.python} {error}") from error

    def result(
        self, config: EnvironmentConfig, task_id: str, answer: Path | None, har: Path
    ) -> dict[str, Any]:
        """Evaluate in the other environment.

        Raises:
            EvaluationError: Its process has died, failed, or did not answer.
        """
        request = {
            "config": config.official(),
            "task_id": int(task_id),
            "answer": None if answer is None else str(answer.resolve()),
            "har": str(har.resolve()),
        }
        with self._lock:
            if self._process.poll() is not None:
                self.close()
                self._start()
            try:
                return self._ask(request)
            except _BrokenError as error:
                self._process.kill()
                self._process.wait()
                raise EvaluationError(f"the evaluator of {self.python} {error}") from error

    def close(self) -> None:
        """End the process."""
        if self._process.stdin is not None:
            with suppress(OSError):  # it has died with a request unread
                self._process.stdin.close()
        self._process.wait()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None  # noqa: S101  # it is a pipe
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except OSError as error:
            raise _BrokenError(f"has died: {error}") from error
        return self._read()

    def _read(self, *, starting: bool = False) -> dict[str, Any]:
        assert self._process.stdout is not None  # noqa: S101  # it is a pipe
        assert self._process.stderr is not None  # noqa: S101  # same
        # `select` sees the pipe only: one line per request leaves nothing in Python's own buffer
        within_s = _START_S if starting else self.patience_s
        if not select.select([self._process.stdout], [], [], within_s)[0]:
            raise _BrokenError(f"did not answer within {within_s:g} s")
        line = self._process.stdout.readline()
        if not line and not starting:
            raise _BrokenError("has died")
        if not line:
            message = self._process.stderr.read().strip()[-300:]
            raise InputError(
                f"{self.python} cannot evaluate: {message or 'it printed nothing'}; it needs "
                "`pip install webarena-verified`"
            )
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError:
            raise _BrokenError(f"answered with garbage: {line[:100]!r}") from None
        if "fault" in answer:
            raise EvaluationError(f"the evaluator of {self.python} failed: {answer['fault']}")
        return answer


@lru_cache(maxsize=8)
def _evaluator(config_json: str) -> Any:
    """Return the evaluator for these URLs; making one reads all 812 tasks."""
    api, config = evaluator_module("api"), EnvironmentConfig.model_validate_json(config_json)
    with quiet():
        return api.WebArenaVerified(config=official_config(config))
