"""Records of `lint`: findings about evals, and rewrites of defective ones."""

from __future__ import annotations

from importlib import resources
from typing import Literal

from pydantic import JsonValue, TypeAdapter

from bench_core.records import Record

Severity = Literal["fatal", "warning", "info"]

# Of the 230 published evals 72 have an `index_in_projection`, 38 a `dead_field`, 16 an
# `inverted_expected` and 13 a `list_result`; with the other defects 120 can never be met as meant.
CODES = TypeAdapter(dict[str, tuple[Severity, str]]).validate_json(
    resources.files(__package__).joinpath("codes.json").read_bytes()
)
"""Every code with its severity and its message, which begins with `The query`."""


class LintFinding(Record):
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
        left: Its remaining faults: no correct run satisfies it, or an untouched state does.
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
    findings: tuple[LintFinding, ...] = ()
    fix: Fix | None = None

    @property
    def fatal(self) -> bool:
        """Whether no correct run satisfies it, or a wrong one does."""
        return any(each.severity == "fatal" for each in self.findings)


def finding(code: str, detail: str = "", where: str = "") -> LintFinding:
    """Make a finding of a known code."""
    severity, says = CODES[code]
    message = f"The query {says}" + (f": {detail}" if detail else "")
    return LintFinding(code=code, severity=severity, message=message, where=where)
