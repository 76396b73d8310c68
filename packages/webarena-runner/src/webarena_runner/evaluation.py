"""Scores of trial folders from webarena-verified's own evaluator.

Its scores are used unchanged, unless it reports `error` with score 0.0. To find the cause of the
error it is asked again about the same recording with no answer at all. If that gives no error, the
answer was the cause, and the agent failed, 0.0: an answer with a null `task_type`, one with data where
the task has none, one that is not a valid regular expression. Otherwise the recording, the task definition
or the evaluator is the cause: the trial gets no score, and the official one stays in the details.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from pydantic import FiniteFloat, JsonValue

from bench_core.errors import EvaluationError
from bench_core.records import Check, Record, Task
from bench_core.records.codec import decode_json
from webarena_runner.answers import (
    AgentAnswer,
    answer_flags,
    answer_text,
    read_answer,
    without_patterns,
)
from webarena_runner.config import EnvironmentConfig
from webarena_runner.evaluators import Evaluator, InstalledEvaluator
from webarena_runner.expectations import expected_requests
from webarena_runner.tasks import task_sites
from webarena_runner.traffic_faults import TrafficFault, traffic_fault_in
from webarena_runner.unreadable import unreadable_requests

ANSWER_FILE = "agent_response.json"
HAR_FILE = "network.har"
CONFIG_FILE = "run_config.json"
"""webarena-verified's command line reads the sites' URLs of a task from this file."""
RECORD_FILE = "evaluation.json"

ANSWER_EVALUATOR = "AgentResponseEvaluator"


class Evaluation(Record):
    """webarena-verified's result of a trial, and the score Proctor records for it.

    Attributes:
        score: The official score, or None for an official error that the answer did not cause.
        malformed: Whether the answer is outside the response format.
        problem: Why there is no score, which part is malformed, or which the evaluator could not read.
        traffic_fault: A fault in the traffic that may explain the score.
        unreadable: Why there is no score: requests with bodies that no site's own page sends, and that the
            evaluator cannot read.
        official: webarena-verified's own result, without its null fields.
    """

    score: FiniteFloat | None
    official_status: Literal["success", "failure", "error", "partial_match"]
    official_score: FiniteFloat
    malformed: bool = False
    problem: str | None = None
    answer: AgentAnswer
    checks: tuple[Check, ...] = ()
    flags: tuple[str, ...] = ()
    traffic_fault: TrafficFault | None = None
    unreadable: tuple[str, ...] = ()
    method: str
    official: dict[str, JsonValue]


def evaluate(
    task: Task,
    folder: Path,
    evaluator: Evaluator | None = None,
    instead: dict[str, JsonValue] | None = None,
) -> Evaluation:
    """Score a trial from the files in its folder: the answer, the traffic and the sites' URLs.

    A response `instead` of the stored answer is scored in its place, and stored nowhere.

    Raises:
        EvaluationError: One of the three files is missing or unreadable.
    """
    if instead is not None:
        with TemporaryDirectory(prefix="webarena-answer-") as scratch:
            write_answer(Path(scratch), without_patterns(instead))
            return _evaluate(task, folder, evaluator, Path(scratch) / ANSWER_FILE)
    return _evaluate(task, folder, evaluator, folder / ANSWER_FILE)


def _evaluate(task: Task, folder: Path, evaluator: Evaluator | None, answered: Path) -> Evaluation:
    judge, har = evaluator or InstalledEvaluator(), folder / HAR_FILE
    answer = read_answer(_read(answered))
    config = read_config(folder / CONFIG_FILE)
    if not har.is_file():
        raise EvaluationError(f"{har} is missing: nothing was recorded")
    result = judge.result(config, task.task_id, answered, har)
    caused_by_answer = (
        result["status"] == "error"
        and judge.result(config, task.task_id, None, har)["status"] != "error"
    )
    fault = None if result["evaluators_results"] else read_recording(folder)[1]
    undecided = result["status"] == "error" and not caused_by_answer
    error = None
    if result["status"] == "error":
        messages = (each.get("error_msg") for each in result["evaluators_results"])
        error = result.get("error_msg") or next(
            filter(None, messages), "the evaluator gave no reason"
        )
    definitions: Any = task.config["eval"]
    schemas = (each["results_schema"] for each in definitions if "results_schema" in each)
    # After an error there may be fewer results than definitions.
    pairs = zip(definitions, result["evaluators_results"], strict=False)
    found = Evaluation(
        score=None if undecided else result["score"],
        official_status=result["status"],
        official_score=result["score"],
        malformed=answer.problem is not None,
        problem=(fault or error) if undecided else (answer.problem or error),
        answer=answer,
        checks=tuple(_check(*pair, answer) for pair in pairs),
        flags=answer_flags(answer, next(schemas, None)),
        method=f"webarena-verified {result['webarena_verified_version']}",
        official=result,
    )
    expected = expected_requests(task, found.checks)
    more: dict[str, Any] = {
        "traffic_fault": traffic_fault_in(har, config, task_sites(task), expected),
        "unreadable": unreadable_requests(har) if found.score is None else (),
    }
    return found.model_copy(update={name: value for name, value in more.items() if value})


def read_recording(folder: Path) -> tuple[Any, str | None]:
    """Return the recording in `folder`, and why it cannot be evaluated, or None when it can."""
    try:
        document: Any = decode_json((folder / HAR_FILE).read_text(encoding="utf-8"))
        entries = document["log"]["entries"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        return None, f"{HAR_FILE} is not a HAR: {error!r}"
    # without entries the evaluator reports an error even for tasks that check the answer alone
    return document, None if entries else f"{HAR_FILE} has no entries: no request was recorded"


def write_answer(folder: Path, answer: JsonValue) -> None:
    """Store the agent's answer where the evaluator and the official tools look for it."""
    # half a surrogate pair is not text, which must not keep a failing answer from its score
    (folder / ANSWER_FILE).write_text(answer_text(answer), encoding="utf-8", errors="replace")


def write_config(folder: Path, config: EnvironmentConfig) -> None:
    """Store the sites' URLs, without credentials, next to the traffic, to score it again."""
    text = json.dumps(config.official(), indent=2)
    (folder / CONFIG_FILE).write_text(text + "\n", encoding="utf-8")


def _check(definition: Mapping[str, Any], result: Mapping[str, Any], answer: AgentAnswer) -> Check:
    is_answer = definition["evaluator"] == ANSWER_EVALUATOR
    messages = [
        message
        for assertion in result.get("assertions") or ()
        for message in assertion.get("assertion_msgs") or (assertion["assertion_name"],)
    ]
    return Check(
        criterion=_criterion(definition),
        expected=result.get("expected"),
        actual=result.get("actual_normalized")
        or (answer.value if is_answer else result.get("actual")),
        passed=None if result["status"] == "error" else result["score"] >= 1.0,
        reason=result.get("error_msg") or "; ".join(messages) or None,
    )


def _criterion(definition: Mapping[str, Any]) -> str:
    if definition["evaluator"] == ANSWER_EVALUATOR:
        return "answer"
    expected = definition["expected"]
    url = expected["url"] if isinstance(expected["url"], str) else " | ".join(expected["url"])
    never = "no " if definition.get("should_not_exist") else ""
    return f"{never}{expected.get('http_method', 'GET')} {url}"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise EvaluationError(f"cannot read {path}: {error}") from error


def read_config(path: Path) -> EnvironmentConfig:
    """Return the sites' URLs of a trial that `write_config` stored, or the official tools.

    Raises:
        EvaluationError: The file is missing, or does not name them.
    """
    text = _read(path)
    try:
        environments = decode_json(text)["environments"]
        sites = {
            key.strip("_").lower(): {"urls": each["urls"]} for key, each in environments.items()
        }
        return EnvironmentConfig.model_validate({"sites": sites})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise EvaluationError(f"{path} does not name the sites' URLs: {error}") from error
