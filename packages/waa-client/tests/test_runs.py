"""Whole runs in one call, by a program and by `bench-core`, as by the command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from fake_evaluator import FakeEvaluator, verdict
from fake_vm import FakeVm
from sample_tasks import script

import waa_client
from bench_core.cli.main import main as bench_core
from bench_core.discovery import load_agent
from bench_core.errors import InputError
from bench_core.guides import guide_of
from bench_core.run_folder import read_run
from bench_core.runs import Purpose
from waa_client import WaaBenchmark, WaaRunOptions

if TYPE_CHECKING:
    from pathlib import Path

    from bench_core.records import TrialResult

TYPE = "computer.keyboard.write('This is a draft.')"


@pytest.fixture
def asked(folder: Path, vm: FakeVm, evaluator: FakeEvaluator) -> dict[str, Any]:
    return {
        "tasks_dir": folder, "vms": (vm.url,), "evaluators": (evaluator.url,),
        "agent": "scripted", "out": folder / "run", "ids": ("0a1b2c3d",),
        "agent_options": {"script": script(folder / "s.json", [TYPE, "DONE"])},
    }  # fmt: skip


def only(out: Path) -> TrialResult:
    (result,) = read_run(out).results.values()
    return result


def test_a_program_runs_in_one_call_what_the_command_runs(
    folder: Path, vm: FakeVm, asked: dict[str, Any]
) -> None:
    outcome = waa_client.run(WaaRunOptions(**asked, trials=2))
    assert (outcome.planned, outcome.succeeded, outcome.remaining) == (2, 2, 0)
    assert vm.computer.typed == "This is a draft." * 2
    info = read_run(folder / "run").info
    assert (info.timing, info.config["setup"], info.config["variant"]) == (
        "fast",
        "server",
        "normal",
    )
    assert waa_client.run(WaaRunOptions(**asked, trials=2)).succeeded == 2
    assert vm.computer.typed == "This is a draft." * 2


def test_a_program_learns_what_the_vms_are(
    folder: Path, asked: dict[str, Any], evaluator: FakeEvaluator
) -> None:
    with FakeVm(world="built-in") as simulation:
        waa_client.run(WaaRunOptions(**{**asked, "vms": (simulation.url,)}))
    assert (read_run(folder / "run").info.world, only(folder / "run").world) == (
        "built-in",
        "built-in",
    )


def test_a_program_is_refused_what_the_command_is(folder: Path, asked: dict[str, Any]) -> None:
    for wrong, message in (
        ({"vms": ()}, "no VM is given"),
        ({"observe": ("smell",)}, "--observe takes"),
        ({"agent": "browser-use"}, "works in browser environments"),
        ({"agent_options": {}}, "needs --agent-option script="),
        ({"infeasible": True}, "no task fits"),
    ):
        with pytest.raises(InputError, match=message):
            waa_client.run(WaaRunOptions(**{**asked, **wrong}))
    assert not (folder / "run").exists()


def test_bench_core_runs_it_the_same_way_and_scores_it_again(
    folder: Path, vm: FakeVm, evaluator: FakeEvaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAA_TASKS", str(folder))
    monkeypatch.setenv("WAA_VM", vm.url)
    monkeypatch.setenv("WAA_EVALUATE", evaluator.url)
    out = folder / "run"
    command = ["run", "waa", "--agent", "do-nothing", "--task", "0a1b2c3d", "--out", str(out)]
    done = CliRunner().invoke(bench_core, command)
    assert (done.exit_code, "1 of 1 scored trials succeeded" in done.output) == (0, True), done
    info = read_run(out).info
    assert (info.timing, info.config["setup"]) == ("fast", "server")
    evaluator.judge = lambda _: verdict(0.0)
    again = CliRunner().invoke(bench_core, ["rescore", "waa", str(out)])
    assert "1 trials scored again" in again.output, again


def test_bench_core_says_what_is_missing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAA_TASKS", str(folder))
    command = ["run", "waa", "--agent", "do-nothing", "--out", str(folder / "run")]
    refused = CliRunner().invoke(bench_core, command)
    assert refused.exit_code == 2
    assert "no VM is given: pass --vm URL[,URL...], or --world built-in, or set WAA_VM" in (
        refused.output
    )
    assert not (folder / "run").exists()


def test_an_agent_that_does_nothing_has_not_attempted_the_task(
    folder: Path, asked: dict[str, Any], evaluator: FakeEvaluator
) -> None:
    evaluator.judge = lambda _: verdict(0.0)
    for name, agent, mode in (
        ("idle", "do-nothing", "not_attempted"),
        ("typed", "scripted", "wrong_end_state"),
    ):
        out = folder / name
        waa_client.run(WaaRunOptions(**{**asked, "agent": agent, "out": out}))
        assert (only(out).score, only(out).failure_mode) == (0.0, mode)
    assert [body["action_history"] for body in evaluator.bodies("/evaluate")] == [
        ["DONE"],
        [TYPE, "DONE"],
    ]


@pytest.mark.parametrize(
    "name",
    ["checkout", "computer-use", "do-nothing", "http", "replay", "scripted", "tool-calling", "vision"],
)  # fmt: skip
def test_an_agents_name_means_the_same_here_and_everywhere(name: str) -> None:
    agent = load_agent(name)
    assert agent.name == name
    assert set(getattr(agent, "environments", ("desktop",))) & {"desktop"}


def test_its_solver_is_found_through_its_guide(tmp_path: Path) -> None:
    assert guide_of("waa").solver is not None
    assert guide_of("waa").idle_answer is None


def test_an_evaluator_that_is_gone_is_asked_for_less_than_a_minute_in_sessions(
    folder: Path, evaluator: FakeEvaluator
) -> None:
    made: dict[str, Any] = {}

    class Kept(WaaBenchmark):
        def __init__(self, tasks: Any, **given: Any) -> None:
            made.update(given)
            super().__init__(tasks, **given)

    options = {
        "agent": "do-nothing",
        "tasks_dir": folder,
        "vms": (evaluator.url,),
        "without_scores": True,
    }
    with Kept.prepare({"world": "real", **options}, Purpose.SESSION):
        settings = made["settings"]
    assert sum(0.5 * min(10, 2**n) for n in range(settings.ask_times - 1)) < 45
    with Kept.prepare(WaaRunOptions(**options), Purpose.PLAN):
        assert made["settings"].ask_times == 20
