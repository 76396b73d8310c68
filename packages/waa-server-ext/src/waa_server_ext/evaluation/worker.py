"""The process in which evaluators run: JSON lines in, JSON lines out.

It is started by `waa_server_ext.evaluation.isolation`. Its standard output is the pipe; whatever evaluators
print goes nowhere.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from bench_core.errors import BenchError, InputError
from waa_server_ext.evaluation.evaluators import EvaluatorSettings, make_evaluator

if TYPE_CHECKING:
    from typing import IO

    from waa_server_ext.evaluation.evaluators import Evaluator

__all__ = ["main"]


def main() -> int:
    """Read settings, make the evaluator, then answer calls; the process ends with its input."""
    replies = _private_output()
    settings = EvaluatorSettings.model_validate_json(sys.stdin.readline())
    logging.getLogger("desktopenv").addHandler(logging.NullHandler())
    logging.getLogger("desktopenv").propagate = False
    _limit_memory(settings.max_memory)
    try:
        evaluator = make_evaluator(settings)
        from waa_server_ext.evaluation.file_guard import guard_files  # it cannot be undone

        guard_files(settings.cache, *filter(None, [settings.assets]))
        ready = {"ready": evaluator.describe().model_dump(mode="json")}
    except (BenchError, ImportError, OSError) as error:
        _reply(replies, {"fatal": str(error), "input": isinstance(error, InputError)})
        return 1
    _discard_output()
    _reply(replies, ready)
    calls: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_read_calls, args=(calls,), daemon=True).start()
    while True:
        _reply(replies, _answer(evaluator, json.loads(calls.get())))


def _answer(evaluator: Evaluator, call: dict[str, Any]) -> dict[str, Any]:
    deadline = None if call["seconds"] is None else time.monotonic() + call["seconds"]
    try:
        if call["call"] == "evaluate":
            verdict = evaluator.evaluate(
                call["task"],
                call["action_history"],
                vm=call["vm"],
                deadline=deadline,
                replayed=call["replayed"],
            )
            return {"verdict": verdict.model_dump_json()}
        report = evaluator.set_up(call["task"], vm=call["vm"], deadline=deadline)
        return {"report": report.model_dump_json()}
    except InputError as error:
        return {"refused": str(error)}
    except (Exception, SystemExit) as error:  # noqa: BLE001  # one evaluation must not end the worker
        return {"broken": f"{type(error).__name__}: {error}"}


def _read_calls(calls: queue.Queue[str]) -> None:
    """Pass calls on; end at once where the server has gone, so that nothing works on its VM any more."""
    for line in sys.stdin:
        calls.put(line)
    os._exit(0)


def _reply(replies: IO[str], message: dict[str, Any]) -> None:
    replies.write(json.dumps(message) + "\n")
    replies.flush()


def _private_output() -> IO[str]:
    """Keep the pipe for ourselves and send what others print to standard error."""
    pipe = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    return pipe


def _discard_output() -> None:
    """From now on let prints and complaints go nowhere, so that they fill no disk."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)


def _limit_memory(size: int) -> None:
    """Let a document that explodes in memory end in MemoryError, where the system can do that."""
    try:
        import resource  # POSIX only
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or size < hard:
        resource.setrlimit(resource.RLIMIT_DATA, (size, hard))


if __name__ == "__main__":
    sys.exit(main())
