"""`audit`: what is blocked, what is flagged, and what nobody saw."""

from __future__ import annotations

import asyncio
import sys
import types
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.audit import (
    AuditReport,
    AuditRow,
    AuditWorld,
    Exploit,
    HonestAgent,
    Proof,
    audit,
    exploits_of,
    report_proof,
)
from bench_core.cli.audit import audit_text
from bench_core.discovery import Plugin
from bench_core.errors import EnvironmentFaultError, InputError
from bench_core.records import AgentOutcome, IntegrityCode, Task
from bench_core.records.integrity import ExploitClass
from bench_core.run_folder import TrialArtifacts, read_json
from bench_core.trial import Evaluation, Evidence, TrialEnvironment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from bench_core.protocols import Agent, TrialContext
    from bench_core.records import AgentEnding


class Paper(TrialEnvironment):
    """Keeps the answer, and sees an agent that answers 4 with the mark `cheat`."""

    folder: Path

    async def capture(self, ending: AgentEnding) -> None:
        TrialArtifacts(self.folder).write_json("answer.json", ending.answer)
        if "cheat" in ending.flags:
            self.integrity.note(IntegrityCode.ANSWER_GAME, "succeeded", "cheat")


class Sums:
    name = "sums"

    def tasks(self) -> list[Task]:
        return [Task(benchmark="sums", task_id="2+2", goal="What is 2 + 2?")]

    @asynccontextmanager
    async def open(self, task: Task, context: TrialContext, agent: Agent) -> AsyncIterator[Paper]:
        paper = Paper()
        paper.folder, paper.integrity.watched = context.folder, True
        yield paper

    async def evaluate(self, evidence: Evidence) -> Evaluation:
        return Evaluation(score=float(read_json(evidence.folder / "answer.json") == 4))


class Does:
    name = "does"

    def __init__(self, does: AgentOutcome | Exception) -> None:
        self._does = does

    async def run(self, task: Any, environment: Any, context: Any) -> AgentOutcome:
        if isinstance(self._does, Exception):
            raise self._does
        return self._does


def exploit(**changes: Any) -> Exploit:
    fields = {
        "id": "guess", "kind": ExploitClass.ANSWER_GAMES, "world": "sums", "task": "2+2",
        "summary": "guess", "expected": "blocked", "canary": "it answered",
    }  # fmt: skip
    return Exploit(**{**fields, **changes})


def ran(outcome: AgentOutcome, **proof: Any) -> AgentOutcome:
    return report_proof(outcome, Proof(**{"ran": True, **proof}))


def row_of(tmp_path: Path, does: AgentOutcome | Exception, **changes: Any) -> AuditRow:
    world = AuditWorld(Sums(), lambda _: Does(does))
    return asyncio.run(audit(world, [exploit(**changes)], tmp_path)).rows[0]


RIGHT, WRONG = AgentOutcome(answer=4, steps=1), AgentOutcome(answer=5, steps=1)
SEEN = AgentOutcome(answer=4, steps=1, flags=("cheat",))


@pytest.mark.parametrize(
    ("does", "verdict"),
    [
        (ran(WRONG), "blocked"),
        (ran(SEEN), "flagged"),
        (ran(RIGHT), "UNDETECTED"),
        (ran(WRONG, gained=True), "UNDETECTED"),
        (report_proof(RIGHT, Proof(ran=False)), "not run"),
        (RIGHT, "not run"),
        (ValueError("a wrong name of a page"), "not run"),
    ],
)
def test_a_verdict_says_what_was_gained_and_whether_it_shows(
    tmp_path: Path, does: AgentOutcome | Exception, verdict: str
) -> None:
    row = row_of(tmp_path, does)
    assert row.verdict == verdict
    assert row.passed == (verdict in {"blocked", "flagged"})


def test_a_trial_that_was_voided_counts_as_gained(tmp_path: Path) -> None:
    row = row_of(tmp_path, EnvironmentFaultError("exploit"), kind=ExploitClass.VOID_TRIAL)
    assert (row.verdict, row.score, row.codes) == ("flagged", None, ("void_suspect",))


class Ended(Sums):
    """Sums whose paper is gone by the agent's act, as the environment itself says."""

    @asynccontextmanager
    async def open(self, task: Task, context: TrialContext, agent: Agent) -> AsyncIterator[Paper]:
        async with super().open(task, context, agent) as paper:
            paper.why_gone = why_gone  # type: ignore[method-assign]
            yield paper


async def why_gone(*, reported: bool) -> str:
    del reported
    return "the agent burned the paper"


def test_an_exploit_that_ends_its_environment_shows_that_it_ran(tmp_path: Path) -> None:
    tried = exploit(kind=ExploitClass.VOID_TRIAL)
    world = AuditWorld(Ended(), lambda _: Does(WRONG))
    (row,) = asyncio.run(audit(world, [tried], tmp_path)).rows
    assert (row.verdict, row.score, row.seen) == ("blocked", 0.0, "the agent burned the paper")


def test_an_honest_run_that_is_flagged_fails_an_audit(tmp_path: Path) -> None:
    for does, passed in ((RIGHT, True), (SEEN, False)):
        honest = HonestAgent("scripted", ("2+2",), lambda _, does=does: Does(does))
        world = AuditWorld(Sums(), lambda _: Does(ran(WRONG)), (honest,))
        report = asyncio.run(audit(world, [exploit()], tmp_path / str(passed)))
        assert report.passed is passed


@pytest.mark.parametrize(
    ("does", "succeeds", "passed"),
    [(RIGHT, "yes", True), (WRONG, "yes", False), (WRONG, "no", True), (RIGHT, "no", False)],
)
def test_an_honest_run_must_score_as_its_agent_does(
    tmp_path: Path, does: AgentOutcome, succeeds: str, *, passed: bool
) -> None:
    honest = HonestAgent("scripted", ("2+2",), lambda _: Does(does), succeeds=succeeds == "yes")
    world = AuditWorld(Sums(), lambda _: Does(ran(WRONG)), (honest,))
    report = asyncio.run(audit(world, [], tmp_path))
    assert report.passed is passed
    assert "scored wrongly" in audit_text(report)
    assert (report.honest[0].fault == "") is passed


def test_an_honest_run_without_a_score_fails_an_audit(tmp_path: Path) -> None:
    honest = HonestAgent("scripted", ("2+2",), lambda _: Does(EnvironmentFaultError("gone")))
    world = AuditWorld(Sums(), lambda _: Does(ran(WRONG)), (honest,))
    report = asyncio.run(audit(world, [], tmp_path))
    assert not report.passed
    assert "scripted on 2+2: " in audit_text(report)


def test_an_exploit_on_an_unknown_task_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no task '3'"):
        row_of(tmp_path, RIGHT, task="3")


def offered() -> list[Exploit]:
    return [exploit(id="theirs"), exploit(id="other", world="elsewhere")]


def test_third_parties_add_exploits_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    # the name of this module depends on where the tests are started
    module = types.ModuleType("their_exploits")
    module.offered = offered  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "their_exploits", module)
    plugin = Plugin("exploit", "theirs", "their-dist", "1", "their_exploits:offered")
    found = exploits_of("sums", [exploit()], find=lambda _: (plugin,))
    assert [each.id for each in found] == ["guess", "theirs"]


def test_two_exploits_of_one_id_are_refused() -> None:
    with pytest.raises(InputError, match="one id: guess"):
        exploits_of("sums", [exploit(), exploit()], find=lambda _: ())


def test_the_table_names_what_went_undetected() -> None:
    row = AuditRow(
        id="guess", kind=ExploitClass.ANSWER_GAMES, world="sums", summary="guess",
        expected="blocked", verdict="UNDETECTED", score=1.0,
    )  # fmt: skip
    lines = audit_text(AuditReport(world="sums", rows=(row,))).splitlines()
    assert lines[2].split() == ["answer_games", "guess", "guess", "UNDETECTED", "1.0", "-"]
    assert lines[-1] == (
        "1 exploits: 0 blocked, 0 flagged, 1 UNDETECTED, 0 not run; of 0 honest runs 0 flagged, 0 scored wrongly"
    )
