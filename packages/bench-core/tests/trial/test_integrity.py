"""`integrity` of a result: what was found of the agent's ways, beside a score that it never changes."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.errors import EnvironmentFaultError
from bench_core.protocols import BrowserHandle, TrialContext
from bench_core.records import AgentCode, AgentOutcome, IntegrityCode, IntegrityFinding, Task
from bench_core.records.integrity import CLASSES, CODES, ExploitClass, Integrity
from bench_core.trial import Evaluation, Evidence, TrialEnvironment, run_trial

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from bench_core.protocols import Agent
    from bench_core.records import TrialResult

FOUND = IntegrityFinding(code=IntegrityCode.ANSWER_GAME, outcome="succeeded", detail="[1, 2, 3]")
OWN = AgentCode(process="own")


class Sums:
    """A task that everyone passes, in an environment that is watched."""

    name = "sums"

    def __init__(
        self, *, watched: bool = True, findings: tuple[IntegrityFinding, ...] = ()
    ) -> None:
        self.environment_of_trial = TrialEnvironment()
        self.environment_of_trial.integrity.watched = watched
        self.findings = findings

    def tasks(self) -> list[Task]:
        return [Task(benchmark="sums", task_id="2+2", goal="What is 2 + 2?")]

    @asynccontextmanager
    async def open(
        self, task: Task, context: TrialContext, agent: Agent
    ) -> AsyncIterator[TrialEnvironment]:
        yield self.environment_of_trial

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        return Evaluation(score=1.0, findings=self.findings)


class Stranger:
    """An agent of a third party."""

    name = "stranger"

    def __init__(self, notes: Any = None, raises: Exception | None = None) -> None:
        self._notes, self._raises = notes, raises

    async def run(self, task: Any, environment: Any, context: Any) -> AgentOutcome:
        if self._notes is not None:
            self._notes()
        if self._raises is not None:
            raise self._raises
        return AgentOutcome(steps=1)


def run(tmp_path: Path, sums: Sums, agent: Any, code: AgentCode | None = OWN) -> TrialResult:
    context = TrialContext(run_id="r", folder=tmp_path)
    return asyncio.run(run_trial(sums, sums.tasks()[0], context, agent, code=code))


def test_an_agent_in_its_own_process_that_was_watched_is_clean(tmp_path: Path) -> None:
    assert run(tmp_path, Sums(), Stranger()).integrity == Integrity(state="clean")


def test_an_agent_that_was_not_watched_is_unknown(tmp_path: Path) -> None:
    assert run(tmp_path, Sums(watched=False), Stranger()).integrity == Integrity()


@pytest.mark.parametrize("code", [None, AgentCode()])
def test_third_party_code_in_the_harness_s_process_is_unknown(
    tmp_path: Path, code: AgentCode | None
) -> None:
    assert run(tmp_path, Sums(), Stranger(), code).integrity == Integrity()


@pytest.mark.parametrize(
    ("stands_for_another", "state"),
    [(False, "clean"), (True, "unknown")],
    ids=["own", "as-another"],
)
def test_proctors_own_code_is_clean_unless_it_stands_for_another_s(
    tmp_path: Path, stands_for_another: object, state: str
) -> None:
    own = type("Own", (Stranger,), {"__module__": "bench_core.agents"})()
    if stands_for_another:
        own.contained = False
    result = run(tmp_path, Sums(), own, None)
    assert result.integrity == Integrity.model_validate({"state": state})


@pytest.mark.parametrize("code", [None, AgentCode()], ids=["nothing-known", "in-this-process"])
def test_a_third_partys_code_and_browser_see_the_files_of_this_machine(
    tmp_path: Path, code: AgentCode | None
) -> None:
    sums = Sums()
    sums.environment_of_trial.handle = BrowserHandle(cdp_url="ws://127.0.0.1:1")
    sealing = run(tmp_path, sums, Stranger(), code).sealing
    assert sealing is not None
    assert (sealing.agent, sealing.browser, sealing.sealed) == ("open", "open", False)


@pytest.mark.parametrize("outcomes", [("blocked", "succeeded"), ("succeeded", "blocked")])
def test_of_two_outcomes_of_one_act_the_worse_stands(tmp_path: Path, outcomes: Any) -> None:
    sums = Sums()

    def note() -> None:
        for each in outcomes:
            sums.environment_of_trial.integrity.note(IntegrityCode.GUARDED_PATH, each)

    result = run(tmp_path, sums, Stranger(note))
    assert result.integrity is not None
    assert result.integrity.succeeded


@pytest.mark.parametrize(("blocked", "outcome"), [(True, "blocked"), (False, "succeeded")])
def test_an_act_on_the_browser_was_blocked_or_had_its_effect(
    tmp_path: Path,
    blocked: bool,
    outcome: str,
) -> None:
    sums = Sums()
    watch = sums.environment_of_trial.integrity
    agent = Stranger(lambda: watch.note_act(IntegrityCode.ANSWER_GAME, blocked, "opened it"))
    (found,) = run(tmp_path, sums, agent).integrity.findings
    assert (found.outcome, found.detail) == (outcome, "opened it")


def test_findings_flag_a_trial_and_leave_its_score(tmp_path: Path) -> None:
    sums = Sums(findings=(FOUND,))

    def note() -> None:
        for path in ("/finish", "/config"):
            sums.environment_of_trial.integrity.note(IntegrityCode.GUARDED_PATH, "blocked", path)

    result = run(tmp_path, sums, Stranger(note), None)

    assert (result.score, result.success) == (1.0, True)
    assert result.integrity is not None
    assert result.integrity.state == "flagged"
    assert result.integrity.succeeded
    assert result.integrity.findings == (
        IntegrityFinding(
            code=IntegrityCode.GUARDED_PATH, outcome="blocked", count=2, detail="/finish"
        ),
        FOUND,
    )


def test_a_fault_that_a_third_party_raises_beside_the_harness_is_a_suspect_void(
    tmp_path: Path,
) -> None:
    result = run(tmp_path, Sums(), Stranger(raises=EnvironmentFaultError("so it says")), None)

    assert result.score is None
    assert result.integrity is not None
    assert [each.code for each in result.integrity.findings] == [IntegrityCode.VOID_SUSPECT]


def test_a_fault_after_a_finding_is_a_suspect_void(tmp_path: Path) -> None:
    sums = Sums()

    def note() -> None:
        sums.environment_of_trial.integrity.note(IntegrityCode.BROWSER_ENDED, "blocked")

    result = run(tmp_path, sums, Stranger(note, EnvironmentFaultError("gone")))

    assert result.integrity is not None
    codes = [each.code for each in result.integrity.findings]
    assert codes == [IntegrityCode.BROWSER_ENDED, IntegrityCode.VOID_SUSPECT]


def test_a_fault_without_any_finding_is_no_void_of_the_agent_s(tmp_path: Path) -> None:
    raises = EnvironmentFaultError("the VM is gone")
    assert run(tmp_path, Sums(), Stranger(raises=raises)).integrity == Integrity(state="clean")


def test_every_code_has_a_class_and_a_meaning() -> None:
    assert set(CODES) == set(IntegrityCode)
    assert set(CLASSES) == set(ExploitClass)
    assert all(each.meaning for each in CODES.values())


@pytest.mark.parametrize(("state", "findings"), [("flagged", ()), ("clean", (FOUND,))])
def test_state_and_findings_agree(state: Any, findings: tuple[IntegrityFinding, ...]) -> None:
    with pytest.raises(ValueError, match=r"needs|forbids"):
        Integrity(state=state, findings=findings)
