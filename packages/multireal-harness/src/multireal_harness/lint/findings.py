"""Records of `lint`: findings about evals, and rewrites of defective ones."""

from __future__ import annotations

from typing import Literal

from pydantic import JsonValue

from bench_core.records import Record

__all__ = ["CODES", "EvalReport", "Finding", "Fix", "Severity", "finding"]

Severity = Literal["fatal", "warning", "info"]

# Of the 230 published evals 72 have an `index_in_projection`, 38 a `dead_field`, 16 an
# `inverted_expected` and 13 a `list_result`; with the other defects 120 can never be met as meant.
CODES: dict[str, tuple[Severity, str]] = {
    "does_not_compile": ("fatal", "is not JMESPath"),
    "unknown_function": ("fatal", "calls a function JMESPath does not have"),
    "wrong_arguments": ("fatal", "calls a function with the wrong number or kind of arguments"),
    "index_in_projection": ("fatal", "takes an element inside a projection, which is always empty"),
    "list_result": ("fatal", "gives a list where true or false is expected"),
    "value_result": ("fatal", "gives another kind of value than the one expected"),
    "wrong_number": (
        "fatal",
        "passes for exactly one thing, and the criterion asks for another number",
    ),
    "ordering_of_text": ("fatal", "orders what is no number, which JMESPath answers with null"),
    "never_equal": ("fatal", "compares two kinds of values, which are never equal"),
    "contradictory_use": ("fatal", "uses one value both as a list and as an object"),
    "inverted_expected": ("fatal", "expects false of a criterion that asks for something"),
    "foreign_app": ("fatal", "asks an app the task does not use"),
    "dead_field": ("fatal", "asks for a field the app's states never have"),
    "list_op_on_dict": ("fatal", "treats an object of the app's state as a list"),
    "todo_expectation": ("fatal", "has a placeholder for an expectation"),
    "number_result": ("warning", "gives a number where true is expected: only 1 passes"),
    "first_of_unordered": ("warning", "takes the first value of an object without order"),
    "null_agent_passes": ("warning", "is satisfied by an untouched state"),
    "too_deep": ("warning", "nests too deeply to be checked"),
    "raises_on_empty_state": ("warning", "raises an error on an untouched state"),
    "hard_coded_year": ("warning", "asks for a year the goal does not name"),
    "literal_not_in_goal": ("info", "asks for a text that the goal does not contain"),
}
"""Every code with its severity and its message, which begins with `The query`."""


class Finding(Record):
    """One thing that is wrong with an eval.

    Attributes:
        where: The part of the query that the finding is about.
    """

    code: str
    severity: Severity
    message: str
    where: str = ""


class Fix(Record):
    """The eval as it should be.

    Attributes:
        weaker: Whether it asks for less than the criterion says, because the query did not ask for more either.
        left: What is still wrong with it: no correct run satisfies it, or an untouched state does.
    """

    query: str
    expected_value: JsonValue
    changes: tuple[str, ...]
    weaker: bool = False
    left: tuple[str, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether it can be written: it has no fatal finding."""
        return not self.left

    @property
    def sound(self) -> bool:
        """Whether it asks for all that the criterion says and has no fatal finding."""
        return self.usable and not self.weaker


class EvalReport(Record):
    """The findings about one eval of a task; `index` counts from 0."""

    task_id: str
    index: int
    query: str
    expected_value: JsonValue = None
    criterion: str = ""
    findings: tuple[Finding, ...] = ()
    fix: Fix | None = None

    @property
    def fatal(self) -> bool:
        """Whether no correct run satisfies it, or a wrong one does."""
        return any(each.severity == "fatal" for each in self.findings)


def finding(code: str, detail: str = "", where: str = "") -> Finding:
    """Make a finding of a known code."""
    severity, says = CODES[code]
    message = f"The query {says}" + (f": {detail}" if detail else "")
    return Finding(code=code, severity=severity, message=message, where=where)
