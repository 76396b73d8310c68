"""Where workers are placed so that what is bound to labels finds nodes that carry them; as laws, without a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from worker_toys import Toys

from bench_core.errors import InputError
from bench_core.records import Resource, Task, TrialKey
from bench_core.run_spec import PlannedTrial, RunSpec, TaskFilter, plan_trials
from bench_core.runs import makespan_s, plan_run
from bench_core.runs.placing import Placing
from bench_core.workers import Recipe
from bench_core.workers.placement import Bindings, FreePlaces, NodeRoom, placed

if TYPE_CHECKING:
    from pathlib import Path

LAB, CLOUD = NodeRoom(2, frozenset({"lab", "CPU"})), NodeRoom(3, frozenset({"CPU"}))
BIND = Bindings(["site:lab=lab"])
BOUND, OTHER = ("site:lab",), ("site:map",)
NOTHING: tuple[str, ...] = ()


def labels(
    workers: int, *uses: tuple[str, ...], nodes: tuple[NodeRoom, ...] = (LAB, CLOUD)
) -> list[str]:
    found = placed(nodes, [NOTHING] * workers, uses, BIND)
    return ["+".join(sorted(each)) for each in found.workers]


def test_workers_are_where_most_can_run() -> None:
    assert labels(2, BOUND, OTHER) == ["lab", "lab"]
    assert labels(3, BOUND, OTHER) == ["lab", "lab", ""]


def test_a_node_that_could_run_nothing_gets_no_worker() -> None:
    with pytest.raises(InputError, match=r"room for 2 workers of this run only: give --workers 2"):
        labels(3, BOUND)


@pytest.mark.parametrize(
    "nodes",
    [(CLOUD,), (CLOUD, NodeRoom(0, frozenset({"lab"})))],
    ids=["no node", "a node without room"],
)
def test_a_label_that_no_node_carries_is_refused_with_the_way_out(
    nodes: tuple[NodeRoom, ...],
) -> None:
    with pytest.raises(InputError) as refused:
        labels(1, BOUND, nodes=nodes)
    assert str(refused.value) == (
        "no node of the cluster with room for workers carries 'lab', and site:lab is bound to it: start one "
        """with `ray start --resources='{"proctor": 4, "lab": 1}'`, or leave out --bind site:lab=lab"""
    )


def test_what_is_refused_is_named_as_it_was_bound() -> None:
    with pytest.raises(InputError, match=r"site:lab is bound to it.* leave out --bind site:\*=lab"):
        placed((CLOUD,), [NOTHING], [BOUND], Bindings(["site:*=lab"]))


def test_labels_that_no_node_carries_together_are_refused_for_what_needs_both() -> None:
    bind = Bindings(["a=one", "b=two"])
    nodes = (NodeRoom(1, frozenset({"one"})), NodeRoom(1, frozenset({"two"})))
    assert placed(nodes, [(), ()], [("a",), ("b",)], bind).workers == ({"one"}, {"two"})
    with pytest.raises(InputError, match="carries 'one' and 'two'"):
        placed(nodes, [(), ()], [("a", "b")], bind)


def test_too_few_workers_for_nodes_apart_are_refused() -> None:
    nodes = (NodeRoom(1, frozenset({"one"})), NodeRoom(1, frozenset({"two"})))
    with pytest.raises(InputError, match=r"1 workers are too few .* give --workers 2 at least"):
        placed(nodes, [()], [("a",), ("b",)], Bindings(["a=one", "b=two"]))


def test_what_a_worker_uses_alone_decides_where_it_is() -> None:
    found = placed((CLOUD, LAB), [(), BOUND, ()], [OTHER], BIND)
    assert found.workers[1] == {"lab"}


def test_workers_are_shared_out_by_the_trials_that_need_them() -> None:
    bind = Bindings(["a=one", "b=two"])
    nodes = (NodeRoom(9, frozenset({"one"})), NodeRoom(9, frozenset({"two"})))
    found = placed(nodes, [()] * 8, [("a",)] * 30 + [("b",)] * 10, bind)
    assert [found.workers.count(frozenset({each})) for each in ("one", "two")] == [6, 2]


@pytest.mark.parametrize("text", ["lab", "=lab", "site:lab=", ""], ids=repr)
def test_what_is_no_binding_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="give NAME=LABEL"):
        Bindings([text])


def test_names_are_bound_by_their_beginning_and_addresses_with_their_signs() -> None:
    bind = Bindings(["webarena:*=lab", "waa-vm:http://vm/?a=b=desk", "webarena:map=maps"])
    assert bind.labels_of(["webarena:map"]) == {"lab", "maps"}
    assert bind.labels_of(["waa-vm:http://vm/?a=b"]) == {"desk"}
    assert bind.labels_of(["waa-vm:http://vm/"]) == frozenset()


def test_a_binding_that_nothing_uses_is_refused() -> None:
    Bindings(["webarena:*=lab"]).refuse_unused(["webarena:map"])
    with pytest.raises(InputError, match=r"gitlap=lab: no trial .*; they use webarena:gitlab"):
        Bindings(["webarena:gitlap=lab"]).refuse_unused(["webarena:gitlab"])


def trials(*uses: str) -> list[PlannedTrial]:
    tasks = [
        Task(
            benchmark="toys",
            task_id=str(number),
            goal="g",
            resources=(Resource(name=use, mode="shared"),),
        )
        for number, use in enumerate(uses)
    ]
    keys = [TrialKey(task_id=each.task_id, trial=1) for each in tasks]
    return plan_trials(tasks, keys, RunSpec(agent="a"))


def test_a_plan_lets_what_is_bound_wait_for_the_nodes_that_can_run_it() -> None:
    planned = trials(*["site:lab"] * 6, *["site:map"] * 2)
    uses = [[each.name for each in trial.resources] for trial in planned]
    found = placed((NodeRoom(1, frozenset({"lab"})), CLOUD), [(), ()], uses, BIND)
    assert makespan_s(planned, 2, lambda _: 1.0, found) == 6.0
    assert makespan_s(planned, 2, lambda _: 1.0) == 4.0


def test_a_plan_says_what_is_bound_and_how_many_workers_its_nodes_can_use(tmp_path: Path) -> None:
    toys = Toys(("quick-1", "private-1", "private-2", "private-3"), tmp_path)
    nodes = (NodeRoom(1, frozenset({"lab"})), NodeRoom(1))
    placing = Placing(Bindings(["private=lab"]), nodes)
    out = tmp_path / "run"
    plan = plan_run(toys, RunSpec(agent="a", workers=2), out, placing=placing, trial_s=60.0)
    assert [(each.name, each.bound_to) for each in plan.resources] == [
        ("private", ("lab",)),
        ("toys", ()),
    ]
    assert (plan.speed_up, plan.expected_s, plan.enough_workers) == (4 / 3, 180.0, 2)
    assert [each.workers for each in plan.capacities] == [1, 2]
    with pytest.raises(InputError, match="give --workers 2 at most"):
        plan_run(toys, RunSpec(agent="a", workers=3), out, placing=placing)


def test_a_plan_leaves_out_numbers_of_workers_that_could_not_run_all(tmp_path: Path) -> None:
    toys = Toys(("private-1", "quick-1"), tmp_path)
    nodes = tuple(NodeRoom(2, frozenset({each})) for each in ("one", "two"))
    spec = RunSpec(agent="a", workers=2, tasks=TaskFilter(ids=("private-1",)))
    recipe = Recipe(prepare="a:b", holds=(("vm",), ()))
    placing = Placing(Bindings(["private=one", "vm=two"]), nodes, recipe)
    plan = plan_run(toys, spec, tmp_path / "run", placing=placing)
    assert [each.workers for each in plan.capacities] == [2]


NAMES = ("a", "b", "c")
EVERY = Bindings([f"{each}={each}" for each in NAMES])
USES = st.lists(st.sets(st.sampled_from(NAMES)).map(sorted), min_size=1, max_size=12)
NODES = st.lists(
    st.builds(NodeRoom, st.integers(0, 3), st.frozensets(st.sampled_from(NAMES))), max_size=5
)


@given(nodes=NODES, uses=USES, workers=st.integers(1, 8))
def test_each_trial_finds_a_worker_and_no_node_more_workers_than_it_has_room_for(
    nodes: list[NodeRoom], uses: list[list[str]], workers: int
) -> None:
    try:
        found = placed(nodes, [()] * workers, uses, EVERY)
    except InputError:
        return
    assert len(found.workers) == workers
    for each in uses:
        assert FreePlaces(found).has_room(each)
    for carried in set(found.workers):
        room = sum(node.room for node in nodes if node.labels == carried)
        assert found.workers.count(carried) <= room
        assert any(set(use) <= carried for use in uses)


@given(nodes=NODES, uses=USES)
def test_who_takes_a_place_may_run_there(nodes: list[NodeRoom], uses: list[list[str]]) -> None:
    try:
        found = placed(nodes, [()] * 4, uses, EVERY)
    except InputError:
        return
    places = FreePlaces(found)
    for each in uses:
        if places.has_room(each):
            assert set(each) <= found.workers[places.take(each)]
