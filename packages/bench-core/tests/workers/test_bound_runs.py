"""Runs in which a site is bound to nodes: its trials run there and nowhere else, by workers over pipes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from worker_runs import Runs

from bench_core.errors import InputError
from bench_core.run_spec import ExecutorSpec
from bench_core.workers import NodeRoom, PipeTransport

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.workers import WorkerProcess


class Nodes(PipeTransport):
    """Nodes that are names alone: all workers are processes of this machine."""

    def __init__(self, variables: dict[str, str], *nodes: NodeRoom) -> None:
        super().__init__(variables)
        self._nodes = nodes
        self.asked = self.closed = 0

    async def close(self) -> None:
        self.closed += 1

    async def nodes(self) -> tuple[NodeRoom, ...]:  # type: ignore[override]  # of several machines
        self.asked += 1
        return self._nodes

    async def open(
        self, slot: int, folder: Path, labels: frozenset[str] = frozenset()
    ) -> WorkerProcess:
        assert any(labels <= each.labels for each in self._nodes)
        return await super().open(slot, folder, labels)


LAB, CLOUD = NodeRoom(1, frozenset({"lab"})), NodeRoom(1)


@pytest.fixture
def runs(tmp_path: Path, variables: dict[str, str]) -> Runs:
    return Runs(tmp_path, variables)


def bound(*bind: str) -> dict[str, Any]:
    return {"executor": ExecutorSpec(kind="ray", address="nodes", bind=bind)}


def test_trials_that_need_what_is_bound_run_on_the_nodes_that_carry_its_label(
    runs: Runs, variables: dict[str, str]
) -> None:
    names = ("quick-1", "quick-2", "quick-3", "private-1", "private-2", "private-3")
    nodes = Nodes(variables, LAB, CLOUD)
    outcome = runs.run(*names, at_once=2, transport=nodes, spec=bound("private=lab"))
    assert (outcome.remaining, outcome.succeeded) == (0, 6)
    ready = {each["pid"]: each.get("labels") for each in runs.events("worker_ready")}
    assert sorted(ready.values(), key=bool) == [None, ["lab"]]
    for name in names[3:]:
        assert ready[runs.results[name].details["process"]] == ["lab"]


def test_a_worker_that_dies_is_replaced_on_a_node_with_its_label(
    runs: Runs, variables: dict[str, str]
) -> None:
    nodes = Nodes(variables, LAB, CLOUD)
    outcome = runs.run("quick-1", "secret-1", at_once=2, transport=nodes, spec=bound("private=lab"))
    assert outcome.succeeded == 2
    assert len(runs.results["secret-1"].attempts) == 2
    ready = [each.get("labels") for each in runs.events("worker_ready")]
    assert ready.count(["lab"]) == 2


def test_a_run_is_refused_before_its_first_trial_where_no_node_carries_the_label(
    runs: Runs,
) -> None:
    nodes = Nodes({}, CLOUD)
    with pytest.raises(InputError, match="carries 'lab', and private is bound to it"):
        runs.run("private-1", transport=nodes, spec=bound("private=lab"))
    assert nodes.closed == 1
    assert not runs.events("attempt_started")


def test_a_name_that_nothing_uses_is_refused(runs: Runs) -> None:
    with pytest.raises(
        InputError, match="no trial of this run uses privat; they use private, toys"
    ):
        runs.run("private-1", transport=Nodes({}, LAB), spec=bound("privat=lab"))


def test_a_transport_with_one_machine_has_no_nodes_to_choose_among(runs: Runs) -> None:
    with pytest.raises(InputError, match="give its --address"):
        runs.run("private-1", spec=bound("private=lab"))


def test_nodes_are_not_asked_for_where_nothing_is_bound(
    runs: Runs, variables: dict[str, str]
) -> None:
    nodes = Nodes(variables, CLOUD)
    assert runs.run("quick-1", transport=nodes).succeeded == 1
    assert nodes.asked == 0
