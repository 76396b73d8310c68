"""Evaluators: the installed webarena-verified, or one in another Python environment."""

from __future__ import annotations

import json
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from bench_core.child_process import ChildGoneError, SpawnedProcess, blocking, encode_line
from bench_core.closing import Closing
from bench_core.errors import EvaluationError, InputError
from webarena_runner.config import EnvironmentConfig, official_config
from webarena_runner.evaluator_loader import evaluator_module, quiet

__all__ = ["Evaluator", "ForeignEvaluator", "InstalledEvaluator"]

_WORKER = Path(__file__).with_name("evaluator_worker.py")
_ONLY_URLS: dict[str, Any] = {"sites": {"__all__": {"urls"}}}
_START_S = 120.0
_PATIENCE_S = 300.0


class Evaluator(Protocol):
    """An evaluator: webarena-verified's own result for an answer and a recording."""

    def result(
        self, config: EnvironmentConfig, task_id: str, answer: Path | None, har: Path
    ) -> dict[str, Any]:
        """Return the official result as JSON without null fields, for an answer or for none at all."""
        ...


class InstalledEvaluator:
    """webarena-verified as installed with this package."""

    def result(
        self, config: EnvironmentConfig, task_id: str, answer: Path | None, har: Path
    ) -> dict[str, Any]:
        """Evaluate in this process."""
        evaluator = _evaluator(config.model_dump_json(include=_ONLY_URLS))
        with quiet():
            result = evaluator.evaluate_task(
                task_id=int(task_id), agent_response=answer, network_trace=har
            )
        found = json.dumps(result.model_dump(mode="json", exclude_none=True), ensure_ascii=False)
        # a page may post half a surrogate pair, which is quoted in the result and is not UTF-8
        record: dict[str, Any] = json.loads(found.encode("utf-8", "replace"))
        return record


class ForeignEvaluator(Closing):
    """webarena-verified of another environment, in its own process; a context manager.

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
        self._process = self._started()

    @property
    def pid(self) -> int:
        """The id of its process."""
        return self._process.pid

    def _started(self) -> SpawnedProcess:
        try:
            command = [str(self.python), "-W", "ignore", str(_WORKER)]
            process = blocking(SpawnedProcess.start(command))
        except OSError as error:
            raise InputError(f"{self.python} is not a Python interpreter: {error}") from error
        try:
            ready = blocking(process.ask(encode_line("begin"), _START_S))
        except ChildGoneError as error:
            if error.is_late:
                raise InputError(f"the evaluator of {self.python} {error}") from error
            message = error.exit.output.strip()[-300:]
            raise InputError(
                f"{self.python} cannot evaluate: {message or 'it printed nothing'}; it needs "
                "`pip install webarena-verified`"
            ) from error
        self.version = str(ready.get("version"))
        return process

    def result(
        self, config: EnvironmentConfig, task_id: str, answer: Path | None, har: Path
    ) -> dict[str, Any]:
        """Evaluate in the other environment.

        Raises:
            EvaluationError: Its process has died, failed, or did not answer.
        """
        request = encode_line(
            "evaluate",
            config=config.official(),
            task_id=int(task_id),
            answer=None if answer is None else str(answer.resolve()),
            har=str(har.resolve()),
        )
        with self._lock:
            if not self._process.alive:
                self._process = self._started()
            try:
                reply = blocking(self._process.ask(request, self.patience_s))
            except ChildGoneError as error:
                raise EvaluationError(f"the evaluator of {self.python} {error}") from error
        if reply["type"] != "result":
            raise EvaluationError(f"the evaluator of {self.python} failed: {reply.get('reason')}")
        result: dict[str, Any] = reply["value"]
        return result

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        blocking(self._process.ended())


@lru_cache(maxsize=8)
def _evaluator(config_json: str) -> Any:
    """Return the evaluator for these URLs; making one reads all 812 tasks."""
    api, config = evaluator_module("api"), EnvironmentConfig.model_validate_json(config_json)
    with quiet():
        return api.WebArenaVerified(config=official_config(config))
