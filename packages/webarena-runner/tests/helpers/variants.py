"""Wrong variants of a right trial, which an evaluator must score 0.0."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from webarena_runner.patterns import is_pattern
from webarena_runner.reference_solutions.examples import example
from webarena_runner.reference_solutions.traffic import navigation
from webarena_runner.tasks import task_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench_core.records import Task

__all__ = ["Variant", "wrong_variants"]

_OTHER_TYPE = {"RETRIEVE": "MUTATE", "MUTATE": "NAVIGATE", "NAVIGATE": "RETRIEVE"}
_SITE_FAILED = 500


class Variant(NamedTuple):
    """An answer and traffic that are wrong in one respect, named by `name`."""

    name: str
    answer: Any
    entries: list[dict[str, Any]]


def wrong_variants(
    task: Task, answer: dict[str, Any], entries: Sequence[dict[str, Any]]
) -> Iterator[Variant]:
    """Yield variants of a right answer and right traffic, each of which fails the task.

    Args:
        task: The task; only what its definition checks is altered.
        answer: An answer that scores 1.0 together with `entries`.
        entries: Entries of a HAR, recorded or written.
    """
    for name, wrong in _wrong_answers(answer):
        yield Variant(name, wrong, list(entries))
    for name, traffic in _wrong_traffic(task, list(entries)):
        yield Variant(name, answer, traffic)


def _wrong_answers(answer: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    status = "UNKNOWN_ERROR" if answer["status"] == "SUCCESS" else "SUCCESS"
    yield "another status", {**answer, "status": status}
    yield "another type", {**answer, "task_type": _OTHER_TYPE[answer["task_type"]]}
    yield "prose", f"I am done: {answer['retrieved_data']}"
    if answer["task_type"] != "RETRIEVE":
        return
    data = answer["retrieved_data"]
    more = [*(data or []), "one more"]
    yield "an item too many", {**answer, "retrieved_data": more}
    if data:
        yield "no data", {**answer, "retrieved_data": None}
        yield "other data", {**answer, "retrieved_data": [_other(data[0]), *data[1:]]}


def _other(value: Any) -> Any:
    """Return a value that differs from `value` beyond the evaluator's tolerances."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        # beyond all tolerances: 0.1 for amounts, 10 % for durations, 2 % for distances
        return value * 3 + 1000
    if isinstance(value, dict):
        return {key: _other(each) for key, each in value.items()}
    return "something else"


def _wrong_traffic(
    task: Task, entries: list[dict[str, Any]]
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    definitions: Any = task.config["eval"]
    checks = [each for each in definitions if each["evaluator"] == "NetworkEventEvaluator"]
    wanted = [each for each in checks if not each.get("should_not_exist")]
    for each in checks:
        if each.get("should_not_exist"):
            yield "a forbidden request", [*entries, _forbidden(each["expected"], entries)]
    if not wanted:
        return
    if task_type(task) == "NAVIGATE" and any(_is_get(each) for each in wanted):
        yield "one page too many", [*entries, _elsewhere(entries)]
    if any(not _is_get(each) for each in wanted):
        yield from _wrong_changes(wanted, entries)


def _wrong_changes(
    wanted: list[dict[str, Any]], entries: list[dict[str, Any]]
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    changed = [each for each in entries if each["request"]["method"] != "GET"]
    yield "nothing sent", [each for each in entries if each not in changed]
    yield (
        "sent elsewhere",
        [_at(each, "/elsewhere") if each in changed else each for each in entries],
    )
    yield (
        "refused by the site",
        [_answered(each, _SITE_FAILED) if each in changed else each for each in entries],
    )
    if any(each["expected"].get("post_data") for each in wanted):
        yield "sent empty", [_emptied(each) if each in changed else each for each in entries]


def _is_get(check: dict[str, Any]) -> bool:
    return bool(check["expected"].get("http_method", "GET") == "GET")


def _elsewhere(entries: list[dict[str, Any]]) -> dict[str, Any]:
    parts = urlsplit(entries[0]["request"]["url"])
    return navigation(f"{parts.scheme}://{parts.netloc}/elsewhere")


def _forbidden(expected: dict[str, Any], entries: list[dict[str, Any]]) -> dict[str, Any]:
    parts = urlsplit(entries[0]["request"]["url"])
    url = expected["url"][0] if isinstance(expected["url"], list) else expected["url"]
    path = example(url) if is_pattern(url) else url
    entry = navigation(f"{parts.scheme}://{parts.netloc}/{path.partition('__/')[2]}")
    entry["request"]["method"] = expected.get("http_method", "GET")
    return entry


def _at(entry: dict[str, Any], path: str) -> dict[str, Any]:
    parts = urlsplit(entry["request"]["url"])
    url = f"{parts.scheme}://{parts.netloc}{path}"
    return {**entry, "request": {**entry["request"], "url": url}}


def _answered(entry: dict[str, Any], status: int) -> dict[str, Any]:
    return {**entry, "response": {**entry["response"], "status": status}}


def _emptied(entry: dict[str, Any]) -> dict[str, Any]:
    emptied = copy.deepcopy(entry)
    emptied["request"].pop("postData", None)
    return emptied
