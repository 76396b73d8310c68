"""The task format of REAL: one JSON file per task; unknown keys are kept."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from bench_core.records import Task

__all__ = ["AppSite", "Definition", "Eval", "EvalKind", "definition_of", "scoring_state"]

EvalKind = Literal["jmespath", "llm_boolean", "script"]

TODO = "TODO"


class _Lenient(BaseModel):
    """A record that keeps unknown keys: the format has grown, and REAL's classes refuse such files."""

    model_config = ConfigDict(frozen=True, extra="allow")


class AppSite(_Lenient):
    """One web app of a task."""

    id: str = Field(min_length=1)
    name: str = ""
    url: str = ""

    @property
    def origin(self) -> str:
        """The URL without the slash that those of v2 end with: `//config` would be another path."""
        return self.url.rstrip("/")


class Eval(_Lenient):
    """One criterion: a query with the value expected of it, a rubric for a judge, or a script.

    Attributes:
        expected_value: The result a query must have; the benchmark's own default is the empty text.
    """

    type: str = ""
    query: str = ""
    expected_value: JsonValue = ""
    description: str = ""
    rubric: str = ""
    script: str = ""

    @property
    def kind(self) -> EvalKind:
        """Which evaluator decides; v2 has scripts without a type."""
        if self.script or self.type == "script":
            return "script"
        return "llm_boolean" if self.type == "llm_boolean" else "jmespath"

    @property
    def criterion(self) -> str:
        """The eval's criterion, in words if it has any; an answer is graded by the rubric, as REAL does."""
        if self.kind == "llm_boolean" and self.rubric:
            return self.rubric
        return self.description or self.rubric or self.query or self.script

    @property
    def question(self) -> str:
        """The judge's question about an end state: the criterion, with the value that its query expects.

        Whether a query expects true or false concerns the query, not the criterion.
        """
        if isinstance(self.expected_value, bool) or self.kind != "jmespath":
            return self.criterion
        wanted = json.dumps(self.expected_value, ensure_ascii=False)
        return f"{self.criterion} (expected value: {wanted})"

    @property
    def is_todo(self) -> bool:
        """Whether the expectation is still a placeholder."""
        return isinstance(self.expected_value, str) and self.expected_value.startswith(TODO)


class Definition(_Lenient):
    """A task as in its file.

    Attributes:
        sites: One for v1 and v2 (`website`), two or three for multi-app tasks (`websites`).
    """

    id: str = Field(min_length=1)
    goal: str
    sites: tuple[AppSite, ...] = Field(min_length=1)
    evals: tuple[Eval, ...] = ()
    difficulty: str = ""
    challenge_type: str = Field(default="", alias="challengeType")
    possible: bool = True
    points: float = 1.0
    version: str = ""

    @model_validator(mode="before")
    @classmethod
    def _sites_under_one_name(cls, data: Any) -> Any:
        if not isinstance(data, dict) or "sites" in data:
            return data
        # v1 and v2 have one `website`, multi-app tasks a list `websites`
        found = data.get("websites") or ([data["website"]] if data.get("website") else [])
        return {**data, "sites": found}

    @property
    def multi(self) -> bool:
        """Whether queries begin with the app's id, as those of multi-app tasks do."""
        return len(self.sites) > 1 or bool((self.model_extra or {}).get("websites"))

    @property
    def answer_schema(self) -> dict[str, JsonValue]:
        """The form of the answer that an agent ends with: a text if one is graded, else none."""
        if any(one.kind == "llm_boolean" for one in self.evals):
            return {"type": "string", "description": "what the task asks for, in words"}
        return {"type": "object", "properties": {}}

    @property
    def apps(self) -> tuple[str, ...]:
        """The ids of its apps."""
        return tuple(site.id for site in self.sites)


def definition_of(task: Task) -> Definition:
    """Return the definition from which a `Task` was made."""
    return Definition.model_validate(task.config["definition"])


def scoring_state(definition: Definition, states: dict[str, Any]) -> Any:
    """Return the object that queries search: all states by app id, or the one state for v1 and v2."""
    return states if definition.multi else states.get(definition.apps[0])
