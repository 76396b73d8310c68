"""Sessions: an episode is a trial, its end gives the score, and a failure is never a reward."""

from __future__ import annotations

import asyncio
import random
import time
from typing import TYPE_CHECKING, Any

import pytest
from counting_benchmark import OPEN, Faulty

from bench_core import sessions
from bench_core.agents import Click, Done, ElementRef, Fail
from bench_core.errors import InputError, UnknownTaskError
from bench_core.records import Status
from bench_core.run_folder import read_json

if TYPE_CHECKING:
    from pathlib import Path

COUNTING = "counting_benchmark:Counting"
MORE = {"kind": "click", "target": {"element": "More"}}


def _to_the_end(session: sessions.Session) -> None:
    for action in (MORE, MORE, {"kind": "done"}):
        assert not session.step(action).done


def test_the_last_step_of_a_solved_task_gives_its_score() -> None:
    with sessions.open(COUNTING, task="2") as session:
        assert session.reset().observation.title == "count 0"
        first = session.step(MORE)
        assert (first.reward, first.done, first.observation.title) == (0.0, False, "count 1")
        session.step(Click(target=ElementRef(element="1")))
        last = session.step(Done())
        assert (last.reward, last.done) == (1.0, True)
        assert last.info["status"] == "completed"
        assert session.state.phase == "over"
        assert session.state.score == 1.0


def test_doing_nothing_gives_nothing() -> None:
    with sessions.open(COUNTING, task="2") as session:
        assert session.score().score == 0.0


def test_score_ends_an_open_episode_and_is_the_same_when_asked_again() -> None:
    with sessions.open(COUNTING, task="1") as session:
        session.step(MORE)
        first = session.score()
        assert (first.score, first.agent, first.steps) == (1.0, "session", 2)
        assert session.score() == first


def test_tasks_that_nothing_could_score_are_refused_unless_asked_for() -> None:
    ungraded = "counting_benchmark:Ungraded"
    refusal = "tasks 4, 5 need a judge: name one, or add the option without_scores=true"
    with sessions.open(ungraded, task="1") as session, pytest.raises(InputError, match=refusal):
        session.reset()
    with sessions.open(ungraded, task="1", options={"without_scores": True}) as session:
        assert session.step(MORE).reward == 0.0
    with sessions.open(ungraded, task="1", options={"ids": ["1", "2"]}) as session:
        assert session.score().score == 0.0


def test_an_agent_that_gives_up_is_scored_by_what_it_left() -> None:
    with sessions.open(COUNTING, task="1") as session:
        session.step(MORE)
        last = session.step(Fail(reason="no"))
        assert (last.reward, last.info["flags"]) == (1.0, ["gave_up"])


def test_an_episode_ends_at_its_longest_length_and_is_scored() -> None:
    with sessions.open(COUNTING, task="3", max_steps=3) as session:
        steps = [session.step(MORE) for _ in range(3)]
    assert [each.done for each in steps] == [False, False, True]
    assert (steps[-1].reward, steps[-1].info["status"]) == (1.0, "step_limit")


def test_an_episode_out_of_time_is_scored_by_what_it_left() -> None:
    with sessions.open(COUNTING, task="1", time_limit_s=3) as session:
        session.step(MORE)
        time.sleep(4)
        last = session.step(MORE)
        assert last.done
        assert last.info["status"] == "time_limit"


@pytest.mark.parametrize(
    ("where", "kind"),
    [
        ("observe", "environment_error"),
        ("act", "environment_error"),
        ("capture", "environment_error"),
        ("evaluate", "evaluation_error"),
    ],
)
def test_what_fails_is_an_error_and_never_a_reward(where: str, kind: str) -> None:
    with Faulty("1", where), sessions.open(COUNTING, task="1") as session:
        session.reset()
        with pytest.raises(sessions.EpisodeError) as caught:
            _to_the_end(session)
        assert caught.value.kind == kind
        assert where in caught.value.reason
        assert caught.value.result is not None
        assert caught.value.result.score is None
        with pytest.raises(sessions.EpisodeError):
            session.step(MORE)
        with pytest.raises(sessions.EpisodeError):
            session.score()
        assert session.state.score is None


def test_a_session_works_again_after_a_failure() -> None:
    with sessions.open(COUNTING, task="1") as session:
        with Faulty("1", "open"), pytest.raises(sessions.EpisodeError, match="open failed"):
            session.reset()
        session.reset()
        session.step(MORE)
        assert session.score().score == 1.0


def test_what_is_no_action_costs_no_step() -> None:
    with sessions.open(COUNTING, task="1") as session:
        session.reset()
        with pytest.raises(InputError, match="this is not an action"):
            session.step({"kind": "explode"})
        with pytest.raises(InputError, match="this is not an action"):
            session.step({"kind": "click", "count": 99})
        assert session.state.step_count == 0
        session.step(MORE)
        assert session.score().score == 1.0


def test_what_the_agent_gets_wrong_is_in_the_results() -> None:
    with sessions.open(COUNTING, task="1") as session:
        seen = session.step({"kind": "click", "target": {"element": "Less"}})
        assert seen.observation.results[0].error == "there is nothing to click"


def test_resets_are_drawn_by_their_seed() -> None:
    with sessions.open(COUNTING) as session:
        drawn = []
        for seed in (3, 3, 4):
            session.reset(seed=seed)
            drawn.append((session.state.task_id, session.state.seed))
    expected = [str(random.Random(seed).choice(range(1, 6))) for seed in (3, 3, 4)]  # noqa: S311
    assert drawn == [(expected[0], 3), (expected[1], 3), (expected[2], 4)]


def test_an_unknown_task_and_a_step_before_a_reset_are_refused() -> None:
    with sessions.open(COUNTING) as session:
        with pytest.raises(UnknownTaskError):
            session.reset("9")
        with pytest.raises(InputError, match="reset the session"):
            session.step(MORE)
        assert session.state.phase == "new"
    with pytest.raises(InputError, match="no settings"):
        sessions.open(COUNTING, nonsense=1)


def test_a_finished_episode_takes_no_more_steps() -> None:
    with sessions.open(COUNTING, task="1") as session:
        session.score()
        with pytest.raises(InputError, match="is over"):
            session.step(MORE)


def test_closing_ends_an_open_episode_and_leaves_no_files() -> None:
    session = sessions.open(COUNTING, task="1")
    session.reset()
    assert OPEN == ["1"]
    session.close()
    session.close()
    assert OPEN == []


def test_another_reset_ends_an_open_episode() -> None:
    with sessions.open(COUNTING) as session:
        session.reset("1")
        session.reset("2")
        assert OPEN == ["2"]


def test_kept_episodes_leave_their_evidence_and_record(tmp_path: Path) -> None:
    with sessions.open(COUNTING, task="1", keep=tmp_path) as session:
        session.step(MORE)
        session.score()
    folder = tmp_path / "0001-1"
    assert read_json(folder / "count.json") == 1
    assert read_json(folder / "result.json")["score"] == 1.0
    assert (folder / "trajectory.jsonl").is_file()


def test_several_sessions_step_at_once_and_a_failure_stays_where_it_is() -> None:
    with Faulty("2", "act"), sessions.open_many(COUNTING, 3) as group:
        assert len(group) == 3
        assert len(group.tasks()) == 5
        group.reset(["1", "2", "3"])
        group.step([MORE, None, MORE])
        ended = group.step([{"kind": "done"}, MORE, {"kind": "done"}])
        rewards = [
            each.reward if isinstance(each, sessions.SessionStep) else None for each in ended
        ]
        assert rewards == [1.0, None, 0.0]
        assert isinstance(ended[1], sessions.EpisodeError)
        assert [each.phase for each in group.states] == ["over"] * 3
        with pytest.raises(InputError, match="2 values are given for 3"):
            group.step([None, None])
    assert OPEN == []


@pytest.mark.parametrize("given", [{"kind": "press_hard"}, "done", ["done"], 7, {}])
def test_what_is_no_action_costs_only_its_own_session_a_step(given: Any) -> None:
    with sessions.open_many(COUNTING, 3) as group:
        group.reset(["1", "2", "3"])
        ended = group.step([{"kind": "done"}, given, {"kind": "done"}])
        assert [isinstance(each, sessions.SessionStep) and each.done for each in ended] == [
            True, False, True,
        ]  # fmt: skip
        assert isinstance(ended[1], InputError)
        assert "not an action" in str(ended[1])
        assert [each.phase for each in group.states] == ["over", "open", "over"]
        again = group.step([None, {"kind": "done"}, None])[1]
        assert isinstance(again, sessions.SessionStep)
        assert again.done


def test_a_task_that_does_not_exist_costs_only_its_own_session() -> None:
    with sessions.open_many(COUNTING, 2) as group:
        begun = group.reset(["1", "nothing"])
        assert isinstance(begun[0], sessions.SessionStep)
        assert isinstance(begun[1], InputError)
        with pytest.raises(InputError, match="nothing"):
            group.reset(["nothing", "nothing"])


@pytest.mark.asyncio
async def test_an_episode_that_nobody_steps_is_given_up() -> None:
    settings = sessions.SessionSettings(idle_s=0.2)
    async with sessions.AsyncSession(COUNTING, settings) as session:
        await session.reset("1")
        for _ in range(1200):  # a minute at most
            if not OPEN:
                break
            await asyncio.sleep(0.05)
        assert OPEN == []
        with pytest.raises(sessions.EpisodeError, match="no call came") as caught:
            await session.step(MORE)
        assert caught.value.kind == Status.CANCELLED.value


@pytest.mark.asyncio
async def test_a_second_call_at_the_same_time_is_refused() -> None:
    async with sessions.AsyncSession(COUNTING) as session:
        first = asyncio.ensure_future(session.reset("1"))
        await asyncio.sleep(0)
        with pytest.raises(sessions.SessionBusyError):
            await session.step(MORE)
        await first
