"""Score the traffic up to each step of a trial by the official evaluator's checks of traffic.

Of the answer nothing is said: it is given at the end. A task whose answer alone decides has no such state.
"""

from __future__ import annotations

import json
import os
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from tempfile import mkstemp
from typing import Any

from bench_core.errors import EvaluationError
from bench_core.records import Step, Task
from webarena_runner.evaluation import (
    ANSWER_EVALUATOR,
    CONFIG_FILE,
    HAR_FILE,
    read_config,
    read_recording,
)
from webarena_runner.evaluators import Evaluator


def passed_after(
    task: Task, folder: Path, steps: Sequence[Step], evaluator: Evaluator
) -> list[bool | None]:
    """Return for each step whether the requests that began before the next one pass; None if unknown.

    Raises:
        EvaluationError: The answer alone decides, the steps have no times, or a file cannot be read.
    """
    definitions: Any = task.config["eval"]
    wanted = [
        place for place, each in enumerate(definitions) if each["evaluator"] != ANSWER_EVALUATOR
    ]
    if not wanted:
        raise EvaluationError("the answer alone decides this task")
    begun = [each.started for each in steps if each.started is not None]
    if len(begun) < len(steps):
        raise EvaluationError("the steps have no times")
    document, fault = read_recording(folder)
    if fault:
        raise EvaluationError(fault)
    config = read_config(folder / CONFIG_FILE)
    found: list[bool | None] = []
    handle, name = mkstemp(prefix="webarena-steps-", suffix=".har")
    os.close(handle)
    cut, before = Path(name), -1
    try:
        for count, text in _recordings(document, begun[1:]):
            if count == before:  # no request since: nothing changed
                found.append(found[-1])
                continue
            before = count
            if text is not None:
                cut.write_text(text, encoding="utf-8")
            har = folder / HAR_FILE if text is None else cut
            result = evaluator.result(config, task.task_id, None, har)
            checks = result["evaluators_results"]
            if len(checks) != len(definitions):
                found.append(None)
                continue
            decided = [checks[place] for place in wanted]
            unknown = any(each["status"] == "error" for each in decided)
            found.append(None if unknown else all(each["score"] >= 1.0 for each in decided))
    finally:
        cut.unlink()
    return found


def _recordings(document: Any, ends: Sequence[datetime]) -> Iterator[tuple[int, str | None]]:
    """Yield the number of requests up to each of `ends` and in all, and their recording; None for all."""
    entries = document["log"]["entries"]
    # each is written once, as a long recording has a thousand of them
    texts = [json.dumps(each, separators=(",", ":")) for each in entries]
    times = [
        datetime.fromisoformat(each["startedDateTime"].replace("Z", "+00:00")) for each in entries
    ]
    order = sorted(range(len(entries)), key=times.__getitem__)
    sorted_times = [times[place] for place in order]
    rest = json.dumps({**document["log"], "entries": []}, separators=(",", ":"))
    head, _, tail = rest.partition('"entries":[]')
    for end in (*ends, None):
        count = len(entries) if end is None else bisect_left(sorted_times, end)
        if count == len(entries):
            yield count, None
            continue
        kept = (texts[place] for place in sorted(order[:count]))
        yield count, f'{{"log":{head}"entries":[{",".join(kept)}]{tail}}}'
