"""The requests that a task's definition expects, matched by method, address and query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from bench_core.records import Check, Task
from webarena_runner.patterns import is_pattern, same_text

_EVALUATOR = "NetworkEventEvaluator"
# The status of the eight contact-form tasks' request, which goes to a port that browsers refuse.
_UNANSWERED = -1


@dataclass(frozen=True)
class ExpectedRequest:
    """One request that a check looks for.

    Attributes:
        urls: Alternatives, as the definition has them: with `__SITE__`, or a pattern `^...$`.
        query: Values that the query must have.
        passed: The evaluator's result.
        is_any: Whether any such request counts, not only the last one.
    """

    method: str
    urls: tuple[str, ...]
    query: Mapping[str, Sequence[str]]
    passed: bool
    is_any: bool = False

    def matches(self, method: str, url: str) -> bool:
        """Return whether a request is this one, without regard to its body and response.

        `url` begins with `__SITE__`, as in a definition.
        """
        if method.upper() != self.method:
            return False
        given = parse_qs(url.partition("?")[2], keep_blank_values=True)
        return any(_same_address(each, url) for each in self.urls) and all(
            any(same_text(each, value) for each in wanted for value in given.get(name, [""]))
            for name, wanted in self.query.items()
        )


def expected_requests(task: Task, checks: Sequence[Check]) -> Iterator[ExpectedRequest]:
    """Yield the requests that `checks`, those of `task` in order, look for in the traffic.

    Requests that must not be made are left out, and those that no site is expected to answer.
    """
    definitions: Any = task.config["eval"]
    # After an error of the evaluator's there may be fewer checks than definitions.
    for definition, check in zip(definitions, checks, strict=False):
        expected = definition["expected"]
        if (
            definition["evaluator"] == _EVALUATOR
            and not definition.get("should_not_exist")
            and expected.get("response_status") != _UNANSWERED
        ):
            urls = expected["url"] if isinstance(expected["url"], list) else [expected["url"]]
            yield ExpectedRequest(
                method=expected.get("http_method", "GET").upper(),
                urls=tuple(urls),
                query=expected.get("query_params") or {},
                passed=bool(check.passed),
                # six tasks of the data set accept any such request
                is_any=not definition.get("last_event_only", True),
            )


def _same_address(wanted: str, url: str) -> bool:
    address = url.partition("?")[0]
    if is_pattern(wanted):
        return same_text(wanted, address) or same_text(wanted, url)
    # the evaluator compares paths without regard to case and to a slash at the end
    return _bare(wanted.partition("?")[0]) == _bare(address)


def _bare(address: str) -> str:
    return address.rstrip("/").lower()
