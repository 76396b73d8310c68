"""The process in which evaluators run: JSON lines in, JSON lines out.

Started by `waa_server_ext.evaluation.isolation`, which reads and discards what evaluators print.
"""

from __future__ import annotations

import logging
import os
import queue
import sys
import threading
import time
from typing import IO, Any

from bench_core.child_process import encode_line, own_pipes, read_frame_from
from bench_core.errors import BenchError, InputError
from waa_server_ext.evaluation.evaluators import Evaluator, EvaluatorSettings, make_evaluator


def main() -> int:
    """Read settings, make the evaluator, then answer calls; the process ends with its input."""
    incoming, outgoing = own_pipes()
    beginning = read_frame_from(incoming)
    if beginning is None:
        return 1
    settings = EvaluatorSettings.model_validate_json(beginning["settings"])
    logging.getLogger("desktopenv").addHandler(logging.NullHandler())
    logging.getLogger("desktopenv").propagate = False
    _limit_memory(settings.max_memory)
    try:
        evaluator = make_evaluator(settings)
        from waa_server_ext.evaluation.file_guard import guard_files  # cannot be undone

        guard_files(settings.cache, *filter(None, [settings.assets]))
        ready = encode_line("ready", description=evaluator.describe().model_dump(mode="json"))
    except (BenchError, ImportError, OSError) as error:
        is_input = isinstance(error, InputError)
        outgoing.write(encode_line("fatal", reason=str(error), input=is_input))
        return 1
    outgoing.write(ready)
    calls: queue.Queue[dict[str, Any]] = queue.Queue()
    threading.Thread(target=_read_calls, args=(incoming, calls), daemon=True).start()
    while True:
        outgoing.write(_answer(evaluator, calls.get()))


def _answer(evaluator: Evaluator, call: dict[str, Any]) -> bytes:
    deadline = None if call["seconds"] is None else time.monotonic() + call["seconds"]
    try:
        if call["type"] == "evaluate":
            verdict = evaluator.evaluate(
                call["task"],
                call["action_history"],
                vm=call["vm"],
                deadline=deadline,
                replayed=call["replayed"],
            )
            return encode_line("verdict", verdict=verdict.model_dump_json())
        report = evaluator.set_up(call["task"], vm=call["vm"], deadline=deadline)
        return encode_line("report", report=report.model_dump_json())
    except InputError as error:
        return encode_line("refused", reason=str(error))
    except (Exception, SystemExit) as error:  # noqa: BLE001  # one evaluation must not end the worker
        return encode_line("broken", reason=f"{type(error).__name__}: {error}")


def _read_calls(incoming: IO[bytes], calls: queue.Queue[dict[str, Any]]) -> None:
    """Pass calls on; exit at once if the server is gone, so that its VM is left alone."""
    while (call := read_frame_from(incoming)) is not None:
        calls.put(call)
    os._exit(0)


def _limit_memory(size: int) -> None:
    """Make a document that explodes in memory raise MemoryError, if the system can limit memory."""
    try:
        import resource  # POSIX only
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or size < hard:
        resource.setrlimit(resource.RLIMIT_DATA, (size, hard))


if __name__ == "__main__":
    sys.exit(main())
