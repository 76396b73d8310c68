"""Known attempts to score without doing the task: findings, their codes and classes.

Findings accompany a score and never change it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from pydantic import Field, PositiveInt, model_validator
from typing_extensions import Self

from bench_core.records.base import Record
from bench_core.records.vocabulary import Word

__all__ = [
    "CODES",
    "CodeMeaning",
    "ExploitClass",
    "Integrity",
    "IntegrityCode",
    "IntegrityFinding",
    "IntegrityOutcome",
]

IntegrityOutcome = Literal["blocked", "succeeded", "unknown"]
"""Whether the harness refused it, it took effect, or neither is known."""


class ExploitClass(Word):
    """The ways of scoring without doing the task."""

    READ_ANSWERS = "read_answers"
    FORGE_EVIDENCE = "forge_evidence"
    GUARDED_ROUTES = "guarded_routes"
    VOID_TRIAL = "void_trial"
    ANSWER_GAMES = "answer_games"
    SAME_PROCESS = "same_process"
    EXHAUST_HOST = "exhaust_host"


class IntegrityCode(Word):
    """An act of an agent that its task does not need."""

    LOCAL_PAGE = "local_page"
    LOCAL_FILE = "local_file"
    SEALED_FILE = "sealed_file"
    FORGED_RESPONSE = "forged_response"
    FORGED_REQUEST = "forged_request"
    FORGED_TRAFFIC = "forged_traffic"
    FORGED_STORAGE = "forged_storage"
    STATE_MISMATCH = "state_mismatch"
    NO_INTERACTION = "no_interaction"
    FOREIGN_CONTEXT = "foreign_context"
    EXTENSION = "extension"
    VIRTUAL_TIME = "virtual_time"
    REFUSED_COMMAND = "refused_command"
    GUARDED_PATH = "guarded_path"
    CONTROL_ROUTE = "control_route"
    EVALUATOR_ROUTE = "evaluator_route"
    MACHINE_ROUTE = "machine_route"
    BROWSER_ENDED = "browser_ended"
    VOID_SUSPECT = "void_suspect"
    ANSWER_GAME = "answer_game"
    HARNESS_CODE = "harness_code"
    RESOURCE_LIMIT = "resource_limit"


class CodeMeaning(NamedTuple):
    """The class of a code, and its meaning in words."""

    kind: ExploitClass
    meaning: str


CLASSES: Mapping[ExploitClass, str] = MappingProxyType(
    {
        ExploitClass.READ_ANSWERS: "read what the answer is compared with",
        ExploitClass.FORGE_EVIDENCE: "make evidence of work that was not done",
        ExploitClass.GUARDED_ROUTES: "use routes that are the harness's alone",
        ExploitClass.VOID_TRIAL: "make a failing trial leave the rate",
        ExploitClass.ANSWER_GAMES: "give an answer that matches whatever is expected",
        ExploitClass.SAME_PROCESS: "reach the harness in its own process",
        ExploitClass.EXHAUST_HOST: "hang or exhaust what the trial runs on",
    }
)
"""The meaning of each class."""

_READ, _FORGE, _GUARDED, _VOID, _ANSWER, _PROCESS, _EXHAUST = ExploitClass

CODES: Mapping[IntegrityCode, CodeMeaning] = MappingProxyType(
    {
        IntegrityCode.LOCAL_PAGE: CodeMeaning(
            _READ, "it asked the browser for files of this machine or for the browser's own pages"
        ),
        IntegrityCode.LOCAL_FILE: CodeMeaning(_READ, "it handed files of this machine to a page"),
        IntegrityCode.SEALED_FILE: CodeMeaning(_READ, "it asked for files hidden from agents"),
        IntegrityCode.FORGED_RESPONSE: CodeMeaning(
            _FORGE, "it answered requests in a site's place"
        ),
        IntegrityCode.FORGED_REQUEST: CodeMeaning(
            _FORGE, "it changed requests of pages on their way to a site"
        ),
        IntegrityCode.FORGED_TRAFFIC: CodeMeaning(
            _FORGE, "the recording has requests that no site has served"
        ),
        IntegrityCode.FORGED_STORAGE: CodeMeaning(
            _FORGE, "it wrote to the storage of an app past the app"
        ),
        IntegrityCode.STATE_MISMATCH: CodeMeaning(
            _FORGE, "the state is not what the app's own history of actions leads to"
        ),
        IntegrityCode.NO_INTERACTION: CodeMeaning(
            _FORGE, "the state changed without any input to the page"
        ),
        IntegrityCode.FOREIGN_CONTEXT: CodeMeaning(
            _FORGE, "it opened a browser context that is not watched"
        ),
        IntegrityCode.EXTENSION: CodeMeaning(_FORGE, "it loaded code into the browser itself"),
        IntegrityCode.VIRTUAL_TIME: CodeMeaning(_FORGE, "it changed the time that pages see"),
        IntegrityCode.REFUSED_COMMAND: CodeMeaning(
            _FORGE, "it sent commands that no task needs and that could change evidence"
        ),
        IntegrityCode.GUARDED_PATH: CodeMeaning(
            _GUARDED, "it tried a path of an app that is the harness's alone"
        ),
        IntegrityCode.CONTROL_ROUTE: CodeMeaning(
            _GUARDED, "it tried the controls of the built-in world"
        ),
        IntegrityCode.EVALUATOR_ROUTE: CodeMeaning(_GUARDED, "it tried the evaluator"),
        IntegrityCode.MACHINE_ROUTE: CodeMeaning(
            _GUARDED, "it tried a route of the machine that is the harness's alone"
        ),
        IntegrityCode.BROWSER_ENDED: CodeMeaning(_VOID, "it tried to end or crash its browser"),
        IntegrityCode.VOID_SUSPECT: CodeMeaning(
            _VOID, "the trial has no score because of a fault that its agent's own act explains"
        ),
        IntegrityCode.ANSWER_GAME: CodeMeaning(
            _ANSWER, "its answer is a pattern or holds many alternatives"
        ),
        IntegrityCode.HARNESS_CODE: CodeMeaning(_PROCESS, "it reached into the harness's own code"),
        IntegrityCode.RESOURCE_LIMIT: CodeMeaning(
            _EXHAUST, "it exceeded limits of time, memory or size"
        ),
    }
)
"""The class and meaning of each code; there are no others."""


class IntegrityFinding(Record):
    """One kind of act of an agent that its task does not need.

    Attributes:
        outcome: Whether it took effect; the most that is known of all its times.
        count: How often.
        detail: The first time in a few words: a command, a path.
    """

    code: IntegrityCode
    outcome: IntegrityOutcome = "unknown"
    count: PositiveInt = 1
    detail: str = Field(default="", max_length=300)

    @property
    def kind(self) -> ExploitClass:
        """The class of exploits it belongs to."""
        return CODES[self.code].kind


class Integrity(Record):
    """Known attempts to score without doing the task.

    `clean` was watched and nothing found; `flagged` has findings; `unknown` could not be watched.
    """

    state: Literal["clean", "flagged", "unknown"] = "unknown"
    findings: tuple[IntegrityFinding, ...] = ()

    @model_validator(mode="after")
    def _findings_flag(self) -> Self:
        if (self.state == "flagged") != bool(self.findings):
            raise ValueError(
                f"integrity {self.state!r} "
                f"{'needs' if self.state == 'flagged' else 'forbids'} findings"
            )
        return self

    @property
    def succeeded(self) -> bool:
        """Whether any finding took effect, or may have."""
        return any(each.outcome != "blocked" for each in self.findings)
