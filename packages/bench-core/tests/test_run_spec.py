from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from virtual_time import EPOCH

from bench_core.errors import InputError, UnknownTaskError
from bench_core.records import Attempt, Limits, Resource, Status, Task, TrialKey
from bench_core.run_spec import (
    RunSpec,
    TaskFilter,
    Timeouts,
    effective_limits,
    effective_resources,
    plan_trials,
    select_tasks,
    trial_seed,
)


def task(task_id: str, site: str = "gitlab", **fields: object) -> Task:
    return Task.model_validate(
        {"benchmark": "wa", "task_id": task_id, "goal": "", "groups": {"site": (site,)}, **fields}
    )


@pytest.fixture
def tasks() -> list[Task]:
    return [
        task("gitlab-1", tags=("hard",)),
        task("gitlab-2"),
        task("reddit-1", "reddit", tags=("hard", "two")),
        task("map-1", "map"),
    ]


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        (TaskFilter(), ["gitlab-1", "gitlab-2", "reddit-1", "map-1"]),
        (TaskFilter(ids=("map-1", "gitlab-2")), ["gitlab-2", "map-1"]),
        (TaskFilter(skip_ids=("map-1",)), ["gitlab-1", "gitlab-2", "reddit-1"]),
        (TaskFilter(groups={"site": ("reddit", "map")}), ["reddit-1", "map-1"]),
        (TaskFilter(tags=("hard",)), ["gitlab-1", "reddit-1"]),
        (TaskFilter(tags=("hard", "two")), ["reddit-1"]),
        (TaskFilter(limit=2), ["gitlab-1", "gitlab-2"]),
        (TaskFilter(groups={"site": ("gitlab",)}, limit=1), ["gitlab-1"]),
    ],
)
def test_a_filter_takes_what_fits_all_of_it(
    tasks: list[Task], wanted: TaskFilter, ids: list[str]
) -> None:
    assert [each.task_id for each in select_tasks(tasks, wanted)] == ids


def test_an_unknown_id_is_refused_with_similar_ones(tasks: list[Task]) -> None:
    with pytest.raises(UnknownTaskError, match="wa has no task 'gitlab-3'; did you mean 'gitlab-"):
        select_tasks(tasks, TaskFilter(ids=("gitlab-3",)))


@pytest.mark.parametrize(
    "wanted",
    [
        TaskFilter(groups={"site": ("gitlub",)}),
        TaskFilter(groups={"sight": ("gitlab",)}),
        TaskFilter(tags=("heard",)),
        TaskFilter(tags=("two",), groups={"site": ("map",)}),
    ],
)
def test_a_filter_that_can_fit_nothing_is_refused(tasks: list[Task], wanted: TaskFilter) -> None:
    with pytest.raises(InputError):
        select_tasks(tasks, wanted)


def test_a_sample_is_the_same_for_the_same_seed_and_in_order(tasks: list[Task]) -> None:
    many = [task(str(n)) for n in range(100)]
    drawn = [int(t.task_id) for t in select_tasks(many, TaskFilter(sample=10), seed=3)]
    assert drawn == [int(t.task_id) for t in select_tasks(many, TaskFilter(sample=10), seed=3)]
    assert drawn == sorted(drawn)
    assert len(set(drawn)) == 10
    assert drawn != [int(t.task_id) for t in select_tasks(many, TaskFilter(sample=10), seed=4)]


def test_trial_seeds_are_those_of_the_published_recipe() -> None:
    assert trial_seed(0, TrialKey(task_id="7", trial=1)) == 619495266


@given(st.integers(), st.text(min_size=1), st.integers(1, 9))
def test_trial_seeds_fit_a_signed_32_bit_integer(seed: int, task_id: str, trial: int) -> None:
    assert 0 <= trial_seed(seed, TrialKey(task_id=task_id, trial=trial)) < 2**31


def test_trials_of_a_task_have_different_seeds() -> None:
    seeds = {trial_seed(0, TrialKey(task_id="7", trial=n)) for n in range(1, 50)}
    assert len(seeds) == 49


def test_the_run_s_limits_go_before_the_task_s() -> None:
    assert effective_limits(Limits(max_steps=15, time_limit_s=60), Limits(max_steps=30)) == Limits(
        max_steps=30, time_limit_s=60
    )


def test_exclusive_site_locks_hold_everything_alone() -> None:
    resources = (Resource(name="reddit", mode="shared"), Resource(name="gitlab"))
    both = task("1", resources=resources)
    assert [(r.name, r.mode) for r in effective_resources(both, "rw")] == [
        ("gitlab", "exclusive"),
        ("reddit", "shared"),
    ]
    assert {r.mode for r in effective_resources(both, "exclusive")} == {"exclusive"}


def test_the_plan_follows_what_remains(tasks: list[Task]) -> None:
    remaining = [TrialKey(task_id="map-1", trial=2), TrialKey(task_id="gitlab-1", trial=3)]
    plan = plan_trials(tasks, remaining, RunSpec(agent="a", seed=5))
    assert len(plan) == 2
    assert [trial.key for trial in plan] == remaining
    assert plan[0].seed == trial_seed(5, remaining[0])
    assert (plan[-1], plan[:1]) == (plan[1], [plan[0]])


def test_the_plan_knows_what_was_tried_before(tasks: list[Task]) -> None:
    remaining = [TrialKey(task_id="map-1"), TrialKey(task_id="map-1", trial=2)]
    tried = (Attempt(status=Status.ENVIRONMENT_ERROR, started=EPOCH, duration_s=1.0),)
    plan = plan_trials(tasks, remaining, RunSpec(agent="a"), {remaining[1]: tried})
    assert [trial.earlier for trial in plan] == [(), tried]


@pytest.mark.parametrize(
    ("limits", "deadline"), [(Limits(time_limit_s=60), 180.0), (Limits(), 3720.0)]
)
def test_every_trial_has_a_hard_deadline(limits: Limits, deadline: float) -> None:
    assert Timeouts().deadline_s(limits) == deadline


def test_settings_leave_out_what_may_change_between_sessions() -> None:
    spec = RunSpec(agent="a", config={"headless": True})
    later = spec.model_copy(update={"workers": 9, "attempts": 5})
    assert spec.settings() == later.settings()
    assert spec.settings() == {"limits": {}, "site_locks": "rw", "headless": True}
