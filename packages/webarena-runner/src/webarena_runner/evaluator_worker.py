"""Worker process with webarena-verified in its own environment: requests on stdin, results on stdout.

Needs nothing but the standard library and webarena-verified, of any version.
"""

from __future__ import annotations

import importlib
import json
import logging
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any


def main() -> None:
    """Answer each line of JSON with one, until the input ends."""
    answers, sys.stdout = (
        sys.stdout,
        sys.stderr,
    )  # prints of the evaluator must not mix with the answers
    api = importlib.import_module("webarena_verified.api")  # prints on some versions
    configs = importlib.import_module("webarena_verified.types.config")
    # each error is logged with its traceback, and is in the result, too
    logging.disable(logging.CRITICAL)
    made: dict[str, Any] = {}
    sys.stdin.readline()  # it says `begin`
    _write(answers, {"type": "ready", "version": version("webarena-verified")})
    for line in sys.stdin:
        request = json.loads(line)
        key = json.dumps(request["config"], sort_keys=True)
        if key not in made:  # making one reads all 812 tasks: 0.13 s
            config = configs.WebArenaVerifiedConfig.model_validate(request["config"])
            made[key] = api.WebArenaVerified(config=config)
        _write(answers, _answer(made[key], request))


def _answer(evaluator: Any, request: dict[str, Any]) -> dict[str, Any]:
    try:
        result = evaluator.evaluate_task(
            task_id=request["task_id"],
            agent_response=request["answer"] and Path(request["answer"]),  # a str is an error
            network_trace=Path(request["har"]),
        )
        found = json.dumps(result.model_dump(mode="json", exclude_none=True), ensure_ascii=False)
        # a page may post half a surrogate pair, which is quoted in the result and is not UTF-8
        answer: dict[str, Any] = json.loads(found.encode("utf-8", "replace"))
    except Exception as error:  # noqa: BLE001  # another version may fail in other ways
        return {"type": "fault", "reason": f"{type(error).__name__}: {error}"}
    return {"type": "result", "value": answer}


def _write(answers: Any, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
