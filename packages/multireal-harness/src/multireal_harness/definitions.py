"""The task format of REAL: one JSON file, lenient about keys nobody knows and keeping them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

if TYPE_CHECKING:
    from bench_core.records import Task

__all__ = ["Definition", "Eval", "EvalKind", "Site", "definition_of", "scoring_state"]

EvalKind = Literal["jmespath", "llm_boolean", "script"]

TODO = "TODO"


class _Lenient(BaseModel):
    """Keeps the keys it does not know: the format has grown before."""

    model_config = ConfigDict(frozen=True, extra="allow")


class Site(_Lenient):
    """One web app of a task."""

    id: str = Field(min_length=1)
    name: str = ""
    url: str = ""

    @property
    def origin(self) -> str:
        """The URL without the slash some task sets end it with."""
        return self.url.rstrip("/")


class Eval(_Lenient):
    """One criterion: a query with the value expected of it, a rubric for a judge, or a script.

    Attributes:
        expected_value: Of a query; the benchmark's own default is the empty text.
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
        """What it checks, in words where there are any."""
        return self.description or self.rubric or self.query or self.script

    @property
    def is_todo(self) -> bool:
        """Whether nobody has said yet what to expect."""
        return isinstance(self.expected_value, str) and self.expected_value.startswith(TODO)


class Definition(_Lenient):
    """A task as its file has it.

    Attributes:
        sites: One for v1 and v2 (`website`), two or three for multi-app tasks (`websites`).
    """

    id: str = Field(min_length=1)
    goal: str
    sites: tuple[Site, ...] = Field(min_length=1)
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
        found = data.get("websites") or ([data["website"]] if data.get("website") else [])
        return {**data, "sites": found}

    @property
    def multi(self) -> bool:
        """Whether queries name the app first, as those of multi-app tasks do."""
        return len(self.sites) > 1 or bool((self.model_extra or {}).get("websites"))

    @property
    def apps(self) -> tuple[str, ...]:
        """The ids of its apps."""
        return tuple(site.id for site in self.sites)


def definition_of(task: Task) -> Definition:
    """Return the definition a task of the registry was made from."""
    return Definition.model_validate(task.config["definition"])


def scoring_state(definition: Definition, states: dict[str, Any]) -> Any:
    """Return what queries run on: all apps by id, or the one app's state for v1 and v2."""
    return states if definition.multi else states.get(definition.apps[0])
