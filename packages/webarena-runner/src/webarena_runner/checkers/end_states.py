"""An end state of a task, as the evaluator sees it: the requests that were recorded, and the answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pydantic import JsonValue

from bench_core.checkers import Verdict

Entry = dict[str, Any]


@dataclass(frozen=True)
class EndState:
    """A trial's end state: the answer in the response format, and the entries of its HAR."""

    answer: dict[str, JsonValue]
    entries: tuple[Entry, ...]

    def with_data(self, data: JsonValue) -> EndState:
        """Return it with other retrieved data."""
        return replace(self, answer={**self.answer, "retrieved_data": data})

    def with_entries(self, *entries: Entry) -> EndState:
        """Return it with other traffic."""
        return replace(self, entries=entries)

    def shown(self, pages: int) -> JsonValue:
        """Return the parts that a reader needs; the first `pages` entries are the start pages."""
        acts = [_line(each) for each in self.entries[pages:]]
        return {"answer": self.answer, "after the start page": acts}


@dataclass(frozen=True)
class Variation:
    """A changed end state, the change, and whether it fulfills the task, with the reason."""

    operator: str
    verdict: Verdict
    change: str
    why: str
    state: EndState


def _line(entry: Entry) -> JsonValue:
    request, response = entry["request"], entry["response"]
    line = f"{request['method']} {request['url']} -> {response['status']}"
    headers = {each["name"].lower(): each["value"] for each in request["headers"]}
    if headers.get("sec-fetch-dest") == "document":
        line += " (page shown)"
    parts = [line, f"from {headers['referer']}" if "referer" in headers else None]
    parts += [request.get("postData", {}).get("text"), response["content"].get("text") or None]
    return "\n".join(filter(None, parts))
