"""Runs whose agent's program changed in between."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from toy_tasks import AGENT, IDS, Toys

from bench_core.errors import RunFolderError
from bench_core.records import AgentOutcome, TrialKey
from bench_core.run_folder import RunFolder, check_run, read_run
from bench_core.run_spec import RunSpec, TaskFilter
from bench_core.runs import RunEnvironment, RunOutcome, run_benchmark_sync
from bench_core.scheduling import NoLocks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_each_result_names_the_agents_program_and_so_does_run_json(
    run: Callable[..., RunOutcome], out: Path
) -> None:
    run()
    view = read_run(out)
    code = view.info.agent_code
    assert code is not None
    assert code.sha256 is not None
    assert {each.agent_code for each in view.latest} == {code.model_copy(update={"files": ()})}
    assert [each.partition(" ")[2] for each in code.files] == ["my_agent.py"]


def test_results_of_the_scheduler_name_the_agents_program_too(
    run: Callable[..., RunOutcome], toys: Toys, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def breaks(*_: object) -> None:
        raise SystemExit(3)

    monkeypatch.setattr("bench_core.runs.trial_runner.run_trial", breaks)
    run(tasks=TaskFilter(ids=("quick-1",)))
    (result,) = read_run(out).latest
    assert result.agent_code is not None
    code = read_run(out).info.agent_code
    assert code is not None
    assert result.agent_code == code.model_copy(update={"files": ()})


def change(agent: Path) -> None:
    agent.write_text(AGENT.format(answer=2))


def test_a_changed_agent_is_refused_with_the_ways_out(
    run: Callable[..., RunOutcome], agent: Path, out: Path
) -> None:
    run()
    before = (out / "run.json").read_bytes()
    change(agent)
    with pytest.raises(RunFolderError, match="has changed since 4 trials") as refused:
        run()
    for way in ("--rerun all", "--out", "--accept-changes"):
        assert way in str(refused.value)
    assert (out / "run.json").read_bytes() == before


def test_another_run_is_refused_as_such_by_a_changed_agent_too(
    run: Callable[..., RunOutcome], agent: Path
) -> None:
    run()
    change(agent)
    with pytest.raises(RunFolderError, match="holds another run"):
        run(seed=7)


def test_a_changed_module_beside_the_agents_own_is_refused_by_its_name(
    run: Callable[..., RunOutcome], agent: Path
) -> None:
    helper = agent.with_name("my_helper.py")
    helper.write_text("RATE = 1")
    agent.write_text(f"import my_helper\n{agent.read_text()}")
    run()
    helper.write_text("RATE = 2")
    with pytest.raises(RunFolderError, match=r"changed: my_helper\.py\)"):
        run()
    run(accept_changes=True)


def test_files_are_named_as_changed_only_where_those_of_both_programs_are_known(
    run: Callable[..., RunOutcome], agent: Path, out: Path
) -> None:
    run()
    info = json.loads((out / "run.json").read_text())
    info["agent_code"]["files"] = []
    del info["checksum"]
    (out / "run.json").write_text(json.dumps(info))
    change(agent)
    with pytest.raises(RunFolderError, match="has changed since") as refused:
        run()
    assert "(changed:" not in str(refused.value)


def test_a_rerun_of_some_does_not_let_one_rate_mix_two_programs(
    run: Callable[..., RunOutcome], agent: Path
) -> None:
    run()
    change(agent)
    with pytest.raises(RunFolderError, match="has changed since 3 trials"):
        run(rerun=("failed",))


def test_a_rerun_of_all_is_by_the_changed_agent_alone(
    run: Callable[..., RunOutcome], toys: Toys, agent: Path, out: Path
) -> None:
    run()
    old = read_run(out).info.agent_code
    change(agent)
    run(rerun=("all",))
    assert len(toys.ran) == 4
    view = read_run(out)
    (code,) = {each.agent_code for each in view.latest}
    digests = [each.sha256 if each else None for each in (code, view.info.agent_code, old)]
    assert digests[0] == digests[1] != digests[2]
    assert "agent_changed" in {event.kind for event in view.events}
    run()  # it is the run's agent now
    assert check_run(out).problems == ()


def test_an_agent_that_changes_during_a_rerun_runs_all_again(
    run: Callable[..., RunOutcome], toys: Toys, agent: Path, out: Path
) -> None:
    run()
    with RunFolder.resume(out) as folder:
        folder.run_again(["all"], [TrialKey(task_id="quick-1")])
    change(agent)
    with pytest.raises(RunFolderError, match="since 3 trials"):
        run()
    run(rerun=("all",))
    assert len(toys.ran) == 4


def test_a_change_that_is_accepted_stays_accepted(
    run: Callable[..., RunOutcome], agent: Path, out: Path
) -> None:
    run()
    change(agent)
    run(accept_changes=True, trials=2)
    run(trials=2)
    digests = {each.agent_code.sha256 for each in read_run(out).latest if each.agent_code}
    assert len(digests) == 2
    agent.write_text(AGENT.format(answer=1))
    with pytest.raises(RunFolderError, match="since 4 trials"):  # not those it made itself
        run(trials=2)


def test_another_place_or_date_of_the_same_files_is_no_change(
    run: Callable[..., RunOutcome], agent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run()
    elsewhere = tmp_path / "elsewhere"
    agent.parent.rename(elsewhere)
    monkeypatch.syspath_prepend(str(elsewhere))
    run(trials=2)


def test_a_folder_without_a_digest_is_continued_as_before(
    run: Callable[..., RunOutcome], agent: Path, out: Path
) -> None:
    run()
    text = (out / "results.jsonl").read_text().splitlines()
    stripped = []
    for line in text:
        each = json.loads(line)
        for name in ("agent_code", "checksum", "sequence"):
            del each[name]
        stripped.append(json.dumps(each))
    (out / "results.jsonl").write_text("\n".join([*stripped, ""]))
    info = json.loads((out / "run.json").read_text())
    del info["agent_code"], info["checksum"]
    for session in info["sessions"]:
        session.update(results=None, results_sha256=None)
    (out / "run.json").write_text(json.dumps(info))
    change(agent)
    run(trials=2)
    assert len(read_run(out).latest) == 10
    assert (out / "attempts/1/down-1/unfinished-1").is_dir()
    assert check_run(out).problems == ()


def test_an_agent_without_a_digest_between_does_not_hide_a_change(
    run: Callable[..., RunOutcome], toys: Toys, agent: Path, out: Path
) -> None:
    run()

    class Object:
        name = "mine"

        async def run(self, *_: object) -> AgentOutcome:
            return AgentOutcome()

    spec = RunSpec(agent="mine", tasks=TaskFilter(ids=IDS), attempts=1)
    by_object = RunEnvironment(locks=NoLocks(), agent_for=lambda *_: Object())
    run_benchmark_sync(toys, spec, out, run_environment=by_object)
    change(agent)
    with pytest.raises(RunFolderError, match="has changed since 4 trials"):
        run()


def test_an_agent_of_ones_own_goes_by_its_name(run: Callable[..., RunOutcome], out: Path) -> None:
    run()
    view = read_run(out)
    assert {view.info.agent, *(each.agent for each in view.latest)} == {"mine"}
    assert view.info.agent_code is not None
    assert view.info.agent_code.place == "my_agent:Agent"


def test_another_agent_of_the_same_file_and_name_is_a_change(
    run: Callable[..., RunOutcome], agent: Path
) -> None:
    agent.write_text(f"{agent.read_text()}\nclass Other(Agent):\n    pass\n")
    run()
    with pytest.raises(RunFolderError, match=r"was my_agent:Agent, .* now it is my_agent:Other, "):
        run(agent="my_agent:Other")
