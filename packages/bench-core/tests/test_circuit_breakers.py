"""What every trial fails for is tried once more, and then left for a later session."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from told import Told
from virtual_time import VirtualClock, run_in_virtual_time

from bench_core.budgets import RunBudget
from bench_core.errors import EnvironmentFaultError, EvaluationError
from bench_core.protocols import TrialContext
from bench_core.records import ErrorInfo, Resource, Status, Task, TrialKey, TrialResult
from bench_core.run_spec import PlannedTrial, Timeouts
from bench_core.scheduling import Backoff, Policy, Scheduler

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from bench_core.records import Event

PROBE_AFTER_S = 32.0
BACKOFF = Backoff(jitter=0.0)


class Session:
    """Trials of several sites under a scheduler, on a virtual clock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = VirtualClock()
        self.started: list[tuple[float, str]] = []
        self.results: dict[str, TrialResult] = {}
        self.events: list[str] = []
        self.told = Told()
        self.outcome = ""
        self.seconds: dict[str, float] = {}

    def append(self, result: TrialResult) -> None:
        self.results[result.task_id] = result

    def event(self, event: Event) -> None:
        self.events.append(event.kind)

    def new_attempt(self, key: TrialKey) -> Path:
        folder = self.folder / f"{key.task_id}-{len(self.started)}"
        folder.mkdir()
        return folder

    def run(self, trial: Callable[[str, float], Any], *names: str, **policy: Any) -> Session:
        """Run a trial for each name, `site-number`; `trial` returns its score or raises."""

        async def run_trial(task: Task, context: TrialContext) -> TrialResult:
            self.started.append((self.clock.elapsed_s, task.task_id))
            await asyncio.sleep(self.seconds.get(task.task_id, 1.0))
            return TrialResult(
                benchmark="toy", task_id=task.task_id, agent="a",
                **trial(task.task_id, self.clock.elapsed_s),
            )  # fmt: skip

        async def main() -> None:
            scheduler = Scheduler(
                run_trial,
                self,
                TrialContext(run_id="r", folder=self.folder, agent="a"),
                budget=RunBudget(),
                progress=self.told,
                policy=Policy(**{"attempts": 1, "backoff": BACKOFF, **policy}),
                clock=self.clock,
            )
            self.outcome = await scheduler.run([planned(name) for name in names])

        run_in_virtual_time(main(), self.clock)
        return self


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


def planned(name: str) -> PlannedTrial:
    site = Resource(name=name.partition("-")[0], mode="shared")
    task = Task(benchmark="toy", task_id=name, goal="", resources=(site,))
    return PlannedTrial(key=TrialKey(task_id=name), task=task, resources=task.resources)


def several(site: str, count: int) -> list[str]:
    return [f"{site}-{number}" for number in range(count)]


def fine(_: str, __: float) -> dict[str, Any]:
    return {"status": Status.COMPLETED, "score": 1.0}


def down(
    *sites: str, until: float = 1e9, phase: str = "environment", fault: str | None = None
) -> Any:
    """Trials of `sites` meet a fault until a time; all others score."""

    def trial(name: str, now: float) -> dict[str, Any]:
        if name.partition("-")[0] in sites and now < until:
            if phase == "environment":
                raise EnvironmentFaultError(f"port {len(name)}{now:.0f} does not answer")
            error = ErrorInfo(kind="ProviderError", message="no 1", phase=phase, fault=fault)
            return {"status": Status.ENVIRONMENT_ERROR, "score": None, "error": error}
        return fine(name, now)

    return trial


def test_a_site_that_stays_down_is_tried_once_more_and_left(session: Session) -> None:
    session.run(down("shop"), *several("shop", 20))
    assert len(session.started) == 6
    assert session.started[-1][0] == pytest.approx(5 + PROBE_AFTER_S)
    assert session.outcome == "aborted"
    assert [each for each in session.events if each.startswith("circuit")] == [
        "circuit_opened",
        "circuit_dead",
    ]
    opened, dead = session.told.notes
    assert opened.startswith("shop: 5 attempts in a row ended with 'port ")
    assert "14 trials that need it are left" in dead
    assert "run the same command again" in dead


def test_what_failed_on_a_site_that_is_given_up_has_ended(session: Session) -> None:
    session.run(down("shop"), *several("shop", 20), attempts=2)
    assert len(session.started) == 6
    assert sorted(each.task_id for each in session.told.ended) == several("shop", 6)
    assert len(session.told.notes) == 2


def test_who_waits_for_another_try_of_a_site_that_is_given_up_has_ended(session: Session) -> None:
    backoff = Backoff(first_s=60)  # the first wait is longer than that for the site
    faults = 2
    session.run(
        down("shop"),
        *several("shop", 9),
        attempts=2,
        backoff=backoff,
        max_consecutive_faults=faults,
    )
    assert len(session.started) == 3
    assert sorted(each.task_id for each in session.told.ended) == several("shop", 3)
    assert "7 trials that need it are left" in session.told.notes[-1]


def test_one_trial_at_a_time_tries_a_broken_site(session: Session) -> None:
    session.run(down("shop"), *several("shop", 20), workers=3)
    assert sum(now > PROBE_AFTER_S for now, _ in session.started) == 1


def test_a_trial_from_before_is_no_second_try_of_a_broken_site(session: Session) -> None:
    session.seconds = {"shop-0": PROBE_AFTER_S + 6.5, "shop-6": 3.0}
    session.run(down("shop", until=PROBE_AFTER_S + 7), *several("shop", 9), workers=2)
    assert session.outcome == "finished"
    assert session.told.notes[-1] == "shop works again: its trials go on"


def test_trials_whose_sites_are_well_go_on(session: Session) -> None:
    names = [
        name for pair in zip(several("shop", 9), several("wiki", 9), strict=True) for name in pair
    ]
    session.run(down("shop"), *names, workers=2)
    assert {name for name in session.results if name.startswith("wiki")} == set(several("wiki", 9))
    assert all(session.results[name].score == 1.0 for name in several("wiki", 9))
    assert sum(name.startswith("shop") for _, name in session.started) == 6
    assert session.outcome == "aborted"


def test_a_site_that_comes_back_is_used_again(session: Session) -> None:
    session.run(down("shop", until=20), *several("shop", 10), abandoned_patience_s=1.0)
    assert session.outcome == "finished"
    assert sum(each.score == 1.0 for each in session.results.values()) == 5
    assert session.told.notes[-1] == "shop works again: its trials go on"
    waited = [now for now, _ in session.started if 5 < now < 5 + PROBE_AFTER_S - 0.1]
    assert waited == []


@pytest.mark.parametrize(
    ("phase", "fault", "thing"),
    [
        ("agent", "overloaded", "the model"),
        ("agent", "harness_fault", "the harness"),
        ("evaluation", None, "the evaluator"),
        ("evaluation", "evaluator_down", "the evaluator"),
    ],
)
def test_what_all_trials_need_ends_the_session(
    session: Session, phase: str, fault: str | None, thing: str
) -> None:
    faulty = down("shop", "wiki", phase=phase, fault=fault)
    session.run(faulty, *several("shop", 9), *several("wiki", 9))
    assert len(session.started) == 6
    assert session.outcome == "aborted"
    assert session.told.notes[0].startswith(f"{thing}: 5 attempts in a row ended with 'no 1'")


@pytest.mark.parametrize("fault", ["environment", None])
def test_a_site_that_fails_while_the_agent_works_is_not_the_model(
    session: Session, fault: str | None
) -> None:
    session.run(down("shop", phase="agent", fault=fault), *several("shop", 9), *several("wiki", 9))
    assert session.told.notes[0].startswith("shop: 5 attempts in a row ended")
    assert all(session.results[name].score == 1.0 for name in several("wiki", 9))


@pytest.mark.parametrize("fault", ["no_money", "auth", "not_found"])
def test_what_every_trial_would_meet_stops_the_run_with_one_sentence(
    session: Session, fault: str
) -> None:
    session.run(down("shop", phase="agent", fault=fault), *several("shop", 9), attempts=3)
    assert (len(session.started), session.outcome) == (1, "aborted")
    assert session.results["shop-0"].score is None
    (note,) = session.told.notes
    assert note.startswith("The run stops, as ")
    assert "run the same command again" in note
    assert "run_stopped" in session.events


def test_faults_that_differ_or_come_between_successes_open_nothing(session: Session) -> None:
    def now_and_then(name: str, now: float) -> dict[str, Any]:
        number = int(name.partition("-")[2])
        if number % 5 == 4:
            return fine(name, now)
        raise EnvironmentFaultError("down")

    def always_another(name: str, _: float) -> dict[str, Any]:
        raise EnvironmentFaultError("abcdefghij"[int(name.partition("-")[2]) % 10])

    session.run(now_and_then, *several("shop", 20))
    assert (len(session.results), session.outcome) == (20, "finished")
    session.run(always_another, *several("wiki", 10))
    assert (len(session.results), session.outcome) == (30, "finished")
    assert session.told.notes == []


def test_nothing_is_left_where_nobody_asked_for_it(session: Session) -> None:
    session.run(down("shop"), *several("shop", 9), max_consecutive_faults=None)
    assert (len(session.results), session.outcome) == (9, "finished")


def test_a_wrong_key_does_not_cost_two_starts_a_trial(session: Session) -> None:
    session.run(down("shop", phase="agent"), *several("shop", 6), attempts=2)
    assert len(session.started) == 6


def test_scored_failures_say_nothing_of_a_site(session: Session) -> None:
    def wrong(*_: object) -> dict[str, Any]:
        error = ErrorInfo(kind="ValueError", message="bug", phase="agent")
        return {"status": Status.AGENT_ERROR, "score": 0.0, "error": error}

    session.run(wrong, *several("shop", 9))
    assert (len(session.results), session.outcome) == (9, "finished")


def test_trials_that_hang_say_nothing_of_a_site(session: Session) -> None:
    session.seconds = dict.fromkeys(several("shop", 9), 1000.0)
    session.run(fine, *several("shop", 9), timeouts=Timeouts(fallback_deadline_s=60))
    kinds = {each.error.kind for each in session.results.values() if each.error}
    assert (kinds, len(session.results), session.outcome) == ({"hard_deadline"}, 9, "finished")


def test_lost_leases_say_nothing_of_a_site(session: Session) -> None:
    def lost(*_: object) -> dict[str, Any]:
        error = ErrorInfo(kind="lease_lost", message="the broker is away")
        return {"status": Status.ENVIRONMENT_ERROR, "score": None, "error": error}

    session.run(lost, *several("shop", 9))
    assert (len(session.results), session.outcome) == (9, "finished")


def test_evaluations_that_cannot_decide_say_nothing_of_a_site(session: Session) -> None:
    def undecided(*_: object) -> dict[str, Any]:
        raise EvaluationError("no HAR")

    session.run(undecided, *several("shop", 9))
    assert (len(session.results), session.outcome) == (9, "finished")


def test_a_probe_that_meets_another_fault_lets_the_next_one_try(session: Session) -> None:
    def trial(name: str, now: float) -> dict[str, Any]:
        if name == "shop-5":
            error = ErrorInfo(kind="ModelError", message="no", phase="agent", fault="overloaded")
            return {"status": Status.ENVIRONMENT_ERROR, "score": None, "error": error}
        return down("shop", until=20)(name, now)

    session.run(trial, *several("shop", 9))
    assert session.outcome == "finished"
    assert [session.results[name].score for name in several("shop", 9)] == [None] * 6 + [1.0] * 3
