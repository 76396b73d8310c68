"""Runs webarena-verified in its own environment: orders on standard input, results on output.

Needs nothing but the standard library and webarena-verified, of whatever version.
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
    """Answer each line of JSON with one, until there are no more."""
    answers, sys.stdout = sys.stdout, sys.stderr  # what the evaluator prints is no answer
    api = importlib.import_module("webarena_verified.api")  # prints on some versions
    configs = importlib.import_module("webarena_verified.types.config")
    logging.disable(logging.CRITICAL)
    made: dict[str, Any] = {}
    _say(answers, {"version": version("webarena-verified")})
    for line in sys.stdin:
        order = json.loads(line)
        key = json.dumps(order["config"], sort_keys=True)
        if key not in made:
            config = configs.WebArenaVerifiedConfig.model_validate(order["config"])
            made[key] = api.WebArenaVerified(config=config)
        _say(answers, _answer(made[key], order))


def _answer(evaluator: Any, order: dict[str, Any]) -> dict[str, Any]:
    try:
        result = evaluator.evaluate_task(
            task_id=order["task_id"],
            agent_response=order["answer"] and Path(order["answer"]),
            network_trace=Path(order["har"]),
        )
        answer: dict[str, Any] = json.loads(result.model_dump_json(exclude_none=True))
    except Exception as error:  # noqa: BLE001  # another version may fail in other ways
        return {"fault": f"{type(error).__name__}: {error}"}
    return answer


def _say(answers: Any, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
