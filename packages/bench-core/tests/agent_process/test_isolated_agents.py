"""What an agent in a process of its own is given, what is taken from it, and who may say what."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import killers
import pytest
from sums import Sums

from bench_core.agent_process import agent_variables
from bench_core.agent_process.isolated import OUTPUT, IsolatedAgent, Isolation
from bench_core.agent_process.launcher import ForkLauncher, SpawnLauncher
from bench_core.budgets import Budget, RunBudget
from bench_core.errors import EnvironmentFaultError, HarnessFaultError, InputError
from bench_core.faults import HARNESS_ERROR, FaultEvidence, fault_of
from bench_core.process_table import pids
from bench_core.processes import is_below
from bench_core.protocols import TextHandle, TrialContext
from bench_core.records import AgentTask, LeftOut, Limits, Status, TrialKey
from bench_core.run_folder import read_run
from bench_core.run_folder.left_files import keep_files
from bench_core.run_spec import AgentProcessSpec, RunSpec, Timeouts
from bench_core.runs import RunEnvironment, run_benchmark_sync
from bench_core.scheduling import NoLocks
from bench_core.trial import AgentLimits, TrialEnvironment
from bench_core.trial.agent_work import AgentWork, run_agent
from bench_core.trial.results import CLAIMS_FAULT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from bench_core.records import TrialResult

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="supervisors are Linux's")

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def launcher() -> Iterator[ForkLauncher]:
    launcher = ForkLauncher("killers:Killer", agent_variables())
    yield launcher
    launcher.close()


@pytest.fixture
def work(launcher: ForkLauncher, tmp_path: Path) -> Callable[..., AgentWork]:
    """Let the killer work on a task, as a trial would."""

    def work(
        task: str, *, budget: RunBudget | None = None, launcher: Any = launcher,
        time_limit_s: float = 120, **isolation: Any,
    ) -> AgentWork:  # fmt: skip
        isolation.setdefault("stop_s", 0.5)
        agent = IsolatedAgent("killers:Killer", launcher, Isolation(**isolation))
        folder = tmp_path / "trials" / "1" / task
        folder.mkdir(parents=True, exist_ok=True)
        context = TrialContext(run_id="r", folder=folder, limits=Limits(time_limit_s=time_limit_s))
        context = context.with_meter((budget or RunBudget()).meter())
        seen = AgentTask(benchmark="sums", task_id=task, goal="")
        limits = AgentLimits(overtime_s=0.1)
        return asyncio.run(run_agent(agent, seen, TrialEnvironment(), context, limits))

    return work


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., TrialResult]:
    """Run one task by an agent of this folder and return its result."""

    def run(
        agent: str, task: str = "solves", *, variables: tuple[str, ...] = (),
        run_environment: dict[str, Any] | None = None, **spec: Any,
    ) -> TrialResult:  # fmt: skip
        process = AgentProcessSpec(process="own", variables=variables)
        asked = RunSpec(agent=agent, agent_process=process, **spec)
        with_ = RunEnvironment(locks=NoLocks(), **(run_environment or {}))
        run_benchmark_sync(Sums(task), asked, tmp_path / "run", run_environment=with_)
        return read_run(tmp_path / "run").results[TrialKey(task_id=task)]

    return run


def answer_of(result: TrialResult) -> dict[str, Any]:
    assert result.ending is not None
    assert isinstance(result.ending.answer, dict), result.error
    return result.ending.answer


def test_it_gets_its_providers_key_and_what_it_was_promised_and_no_other_secret(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TOY_API_KEY", "OTHER_API_KEY", "SHOP_PASSWORD", "JUDGE_TOKEN"):
        monkeypatch.setenv(name, "value-of-" + name)
    result = run("killers:Inspector", model="toy:cheap", variables=("SHOP_PASSWORD",))
    seen = set(answer_of(result)["variables"])
    assert {"PATH", "TOY_API_KEY", "SHOP_PASSWORD"} <= seen
    assert not {"OTHER_API_KEY", "JUDGE_TOKEN"} & seen


def test_it_works_elsewhere_under_the_trials_own_conditions(run: Any) -> None:
    answer = answer_of(run("killers:Inspector", "inspect", seed=7))
    assert answer["pid"] != os.getpid()
    assert answer["folder"] == ["trials", "1", "inspect"]
    assert isinstance(answer["seed"], int)


def test_a_model_that_the_run_opens_in_its_own_way_is_opened_there(run: Any) -> None:
    result = run(
        "killers:Inspector", model="toy:cheap", run_environment={"open_model": killers.name_of}
    )
    assert answer_of(result)["model"] == "opened toy:cheap"


def test_a_model_that_cannot_cross_is_no_failure_of_the_agents(run: Any) -> None:
    result = run(
        "killers:Inspector",
        model="toy:cheap",
        run_environment={"open_model": lambda _: "a closure"},
    )
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)
    assert HARNESS_ERROR in result.flags
    assert "--agent-process shared" in result.error.message


def test_it_cannot_write_over_what_its_trial_is_scored_from(run: Any, tmp_path: Path) -> None:
    result = run("killers:Overwriter")
    folder = tmp_path / "run" / "trials" / "1" / "solves"
    assert json.loads((folder / "given.json").read_text()) == "the harness's own"
    assert (folder / "agent" / "given.json").read_text() == '"mine"'
    assert {each.name for each in (folder / "agent").iterdir()} == {"given.json", "notes.txt"}
    assert "secrets.txt is left out" in (folder / "log.txt").read_text()
    assert result.score == 1.0


@pytest.mark.parametrize("sealing", ["auto", "off"])
@pytest.mark.parametrize("level", [0, 1, 2])
def test_what_a_link_in_the_place_of_its_folder_leads_to_stays_where_it_is(
    run: Any, tmp_path: Path, level: int, sealing: str
) -> None:
    outside = tmp_path / "outside"
    # the path that the run takes over, with what lies above it swapped
    folder = outside.joinpath(*("trials", "1", "solves")[3 - level :])
    folder.mkdir(parents=True)
    (folder / "kept.txt").write_text("not the agent's")
    options = {"outside": str(outside), "level": level}
    result = run("killers:Swapper", config={"agent_options": options}, sealing=sealing)
    assert (result.status, result.score) == (Status.COMPLETED, 1.0), result.error
    assert [each.why for each in result.left_out] == ["is in another folder than the agent got"]
    assert (folder / "kept.txt").read_text() == "not the agent's"
    assert not (tmp_path / "run" / "trials" / "1" / "solves" / "agent").exists()


def test_it_cannot_have_processes_ended_that_are_not_its_own(run: Any) -> None:
    command = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
    with subprocess.Popen(command, start_new_session=True) as bystander:
        result = run("killers:Accuser", config={"agent_options": {"group": bystander.pid}})
        lives = bystander.poll() is None
        bystander.kill()
    assert (result.score, lives) == (1.0, True)


def test_what_a_benchmark_asks_of_an_agent_is_answered_from_its_own_process() -> None:
    launcher = ForkLauncher("killers:Inspector", agent_variables())
    agent: Any = IsolatedAgent("killers:Inspector", launcher)
    context = TrialContext(run_id="r", folder=Path(), model="toy:cheap")
    other = context.model_copy(update={"model": "toy:dear"})
    assert (agent.name, agent.environments, agent.observes) == ("inspector", ("text",), ("tree",))
    assert (agent.view(context), agent.view(other)) == ({"tree": True}, {"tree": False})
    assert not hasattr(agent, "check")
    launcher.close()


def test_an_agent_that_works_on_the_opened_environment_itself_is_refused(run: Any) -> None:
    with pytest.raises(InputError, match="works on the opened environment itself"):
        run("killers:InProcess")


def test_an_agent_that_works_on_the_opened_environment_stays_unless_told_otherwise(
    tmp_path: Path,
) -> None:
    assert process_of("killers:InProcess", tmp_path) == "shared"


def test_named_agents_get_a_process_of_their_own_and_proctors_own_stay(tmp_path: Path) -> None:
    assert process_of("killers:Killer", tmp_path / "reference") == "own"
    assert process_of("killers:Killer", tmp_path / "shared", process="shared") == "shared"
    assert process_of("do-nothing", tmp_path / "proctors") == "shared"
    place = "bench_core.agents.plugins:DoNothingPlugin"
    assert process_of(place, tmp_path / "reference-to-proctors") == "shared"


def test_objects_of_the_callers_stay_and_are_recorded_as_such(tmp_path: Path) -> None:
    made = killers.Killer()
    assert process_of("killers:Killer", tmp_path, agent_for=lambda *_: made) == "shared"


def process_of(agent: str, out: Path, process: Any = None, **run_environment: Any) -> str:
    """Return where a run's result says that its agent worked."""
    spec = RunSpec(agent=agent, agent_process=AgentProcessSpec(process=process))
    with_ = RunEnvironment(locks=NoLocks(), **run_environment)
    run_benchmark_sync(Sums("solves"), spec, out / "run", run_environment=with_)
    view = read_run(out / "run")
    assert view.info.agent_code is not None
    (result,) = view.results.values()
    assert result.agent_code == view.info.agent_code.model_copy(update={"files": ()})
    return view.info.agent_code.process


def test_a_module_that_ends_whoever_imports_it_is_refused_with_its_last_words(run: Any) -> None:
    with pytest.raises(InputError, match="exit code 9; its last lines:\nimporting is too much"):
        run("exits_on_import:Agent")


@pytest.mark.parametrize("agent", ["no_such_module:Agent", "killers:NoSuchAgent"])
def test_an_agent_that_is_not_there_is_refused_as_in_the_runs_own_process(
    run: Any, agent: str
) -> None:
    with pytest.raises(InputError, match=r"no_such_module|no 'NoSuchAgent'"):
        run(agent)


def test_a_lock_that_a_thread_of_the_import_holds_does_not_stay_locked(run: Any) -> None:
    assert run("starts_a_thread:Locked").score == 1.0


def test_each_call_is_answered_before_the_next_one_so_that_a_budget_stops_it(work: Any) -> None:
    budget = RunBudget(Budget(max_cost_usd=0.5))
    outcome = work("spends-on", budget=budget).outcome
    assert outcome.status is Status.BUDGET_EXCEEDED
    # the call that spent the last of it was swallowed; the next one was made and stopped, too
    assert budget.spent.cost_usd == 3 * killers.CALL_USD


@pytest.mark.parametrize("task", ["forges-cost", "forges-tokens", "forges-credit"])
def test_a_forged_call_is_its_agents_failure_and_spends_no_budget(work: Any, task: str) -> None:
    budget = RunBudget(Budget(max_cost_usd=5, max_tokens=10**6))
    outcome = work(task, budget=budget).outcome
    assert (outcome.status, outcome.error.kind) == (Status.AGENT_ERROR, "AgentProtocol")
    assert "not a model call" in outcome.error.message
    assert (budget.spent.cost_usd, budget.exhausted) == (killers.CALL_USD, None)


def test_a_budget_that_the_first_call_spends_ends_the_trial(run: Any) -> None:
    result = run("killers:Killer", budget=Budget(max_tokens=100))
    assert (result.status, result.score) == (Status.BUDGET_EXCEEDED, None)
    assert result.usage.requests == 1


@pytest.mark.parametrize(
    ("task", "kind"), [("claims-fault", EnvironmentFaultError), ("claims-input", InputError)]
)
def test_only_proctors_own_code_is_believed_that_something_else_failed(
    work: Any, task: str, kind: type[Exception]
) -> None:
    believed = work(task, trusted=True)
    assert type(believed.fault) is kind


def test_anyone_elses_claim_is_no_fault(work: Any) -> None:
    told = work("claims-fault")
    assert told.fault is None
    assert (told.outcome.status, told.outcome.flags) == (Status.AGENT_ERROR, (CLAIMS_FAULT,))


@pytest.mark.parametrize("task", ["blocks", "stops-itself"])
def test_an_agent_that_gives_no_sign_is_ended_long_before_its_deadline(
    work: Any, task: str
) -> None:
    told = work(task, block_s=3.0, time_limit_s=600)
    assert told.fault is None
    assert told.outcome.status is Status.AGENT_ERROR
    assert told.outcome.error.kind == "AgentHung"
    assert "gave no sign for 3 s" in told.outcome.error.message
    if task == "blocks":
        assert "killers.py" in told.outcome.error.message


@pytest.mark.parametrize("task", ["waits-a-while", "logs-and-blocks"])
def test_an_agent_that_waits_or_gives_signs_while_it_blocks_is_left_alone(
    work: Any, task: str
) -> None:
    assert work(task, block_s=5.0, time_limit_s=600).outcome.status is Status.COMPLETED


def test_an_agent_that_hangs_without_a_time_limit_has_one_all_the_same(run: Any) -> None:
    timeouts = Timeouts(fallback_deadline_s=0.5)
    limits = AgentLimits(stop_s=5.0)
    result = run("killers:Killer", "waits", timeouts=timeouts, limits=Limits(time_limit_s=None),
                 run_environment={"agent_limits": limits})  # fmt: skip
    assert (result.status, result.score) == (Status.TIME_LIMIT, 0.0)
    assert len(result.attempts) == 1


@pytest.mark.parametrize(
    ("task", "time_limit_s", "status"),
    [("solves", 600.0, Status.COMPLETED), ("waits", 0.5, Status.TIME_LIMIT)],
)
def test_which_of_its_files_are_not_kept_is_told_however_long_taking_them_over_takes(
    task: str, time_limit_s: float, status: Status, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slowly(*arguments: Any, **more: Any) -> tuple[LeftOut, ...]:
        time.sleep(0.5)
        return (*keep_files(*arguments, **more), LeftOut(why="is too much", first="x"))

    monkeypatch.setattr("bench_core.agent_process.files.keep_files", slowly)
    limits = AgentLimits(overtime_s=0.05, stop_s=0.1)
    result = run("killers:Killer", task, limits=Limits(time_limit_s=time_limit_s),
                 run_environment={"agent_limits": limits})  # fmt: skip
    assert result.status is status
    assert [each.why for each in result.left_out] == ["is too much"]


def test_its_temporary_files_have_a_folder_of_their_own_that_goes_with_it(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(outside))
    made = Path(answer_of(run("killers:Inspector"))["temporary"])
    assert made.relative_to(outside).parts[0].startswith("proctor-agent-")
    assert list(outside.iterdir()) == []


def test_an_agent_that_kills_what_it_was_forked_from_stops_no_later_one(
    work: Any, launcher: ForkLauncher
) -> None:
    work("raises")  # what forks begins with the first of them
    assert launcher._server is not None
    os.kill(launcher._server.pid, signal.SIGKILL)
    launcher._server.wait()
    assert work("solves").outcome.status is Status.COMPLETED


def test_a_supervisor_that_its_agent_stops_goes_on_and_ends_it_with_the_trial(
    work: Any, launcher: ForkLauncher
) -> None:
    told: list[AgentWork] = []
    trial = threading.Thread(
        target=lambda: told.append(work("stops-its-supervisor", time_limit_s=1)), daemon=True
    )
    trial.start()
    trial.join(60)  # it is for ever where the supervisor is not continued
    assert [each.outcome.status for each in told] == [Status.TIME_LIMIT]
    assert launcher._server is not None
    assert [each for each in pids() if is_below(each, launcher._server.pid)] == [
        launcher._server.pid
    ]


def test_what_forks_goes_on_where_an_agent_stopped_it(work: Any, launcher: ForkLauncher) -> None:
    work("raises")
    assert launcher._server is not None
    launcher._server.send_signal(signal.SIGSTOP)
    trial = threading.Thread(target=lambda: work("solves"), daemon=True)
    trial.start()
    trial.join(60)
    assert not trial.is_alive()


@pytest.mark.parametrize(
    ("task", "kind", "words"),
    [
        ("solves", None, ""),
        ("raises", "ValueError", "a bug of its own"),
        ("os-exit", "AgentDied", "exit code 7; its last lines:\nabout to os-exit"),
        ("kills-itself", "AgentDied", "SIGKILL"),
        ("garbage", "AgentProtocol", "not a message"),
    ],
)
def test_a_new_interpreter_for_each_trial_does_the_same(
    work: Any, task: str, kind: str | None, words: str
) -> None:
    outcome = work(task, launcher=SpawnLauncher(agent_variables())).outcome
    assert outcome.status is (Status.AGENT_ERROR if kind else Status.COMPLETED)
    assert (outcome.error and outcome.error.kind) == kind
    assert words in (outcome.error.message if outcome.error else "")


def test_agents_end_with_the_run_that_is_killed(tmp_path: Path) -> None:
    program = textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {str(HERE)!r})
        from pathlib import Path
        from sums import Sums
        from bench_core.run_spec import AgentProcessSpec, RunSpec
        from bench_core.records import Limits
        from bench_core.runs.execute import RunEnvironment, run_benchmark_sync
        from bench_core.scheduling import NoLocks
        spec = RunSpec(
            agent="killers:Killer", limits=Limits(time_limit_s=600),
            agent_process=AgentProcessSpec(process="own"),
        )
        with_ = RunEnvironment(locks=NoLocks())
        run_benchmark_sync(Sums("blocks"), spec, Path({str(tmp_path / "run")!r}), run_environment=with_)
    """)
    driver = subprocess.Popen([sys.executable, "-c", program])
    events = tmp_path / "run" / "events.jsonl"
    _until(lambda: events.exists() and b'"spend"' in events.read_bytes())
    agents = _below(driver.pid)
    assert len(agents) == 3  # what forks, the supervisor, the agent
    driver.kill()
    driver.wait()
    _until(lambda: not any(_runs(pid) for pid in agents))


def _until(condition: Callable[[], bool]) -> None:
    """Wait, for as long as a busy machine may need."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _below(pid: int) -> set[int]:
    parents = {int(each.name): _parent(each) for each in Path("/proc").glob("[0-9]*")}
    found, more = set[int](), {pid}
    while more:
        more = {child for child, parent in parents.items() if parent in more} - found
        found |= more
    return found


@functools.cache
def _fields(text: str) -> list[str]:
    return text.rpartition(")")[2].split()


def _parent(process: Path) -> int:
    try:
        return int(_fields((process / "stat").read_text(errors="replace"))[1])
    except OSError:
        return 0


def _runs(pid: int) -> bool:
    try:
        return _fields(Path(f"/proc/{pid}/stat").read_text(errors="replace"))[0] != "Z"
    except OSError:
        return False


async def test_a_handle_crosses_as_an_address(launcher: ForkLauncher, tmp_path: Path) -> None:
    agent = IsolatedAgent("killers:Killer", launcher)
    context = TrialContext(run_id="r", folder=tmp_path)
    task = AgentTask(benchmark="sums", task_id="solves", goal="")
    outcome = await agent.run(task, TextHandle().with_live(object), context)
    assert outcome.answer == 4


def _removed(folder: Path) -> dict[str, Any]:
    return {"folder": folder / "removed"}


def _replaced_by_a_file(folder: Path) -> dict[str, Any]:
    (folder / "file").touch()
    return {"folder": folder / "file"}


def _output_in_the_way(folder: Path) -> dict[str, Any]:
    (folder / "trials" / "1" / "prints-and-solves" / OUTPUT).mkdir(parents=True)
    return {}


@pytest.mark.parametrize("broken", [_removed, _replaced_by_a_file, _output_in_the_way])
def test_what_the_run_itself_cannot_do_for_an_agent_is_no_failure_of_the_agent(
    broken: Callable[[Path], dict[str, Any]], work: Any, tmp_path: Path
) -> None:
    found = work("prints-and-solves", **broken(tmp_path))
    assert isinstance(found.fault, HarnessFaultError)
    kind = fault_of(FaultEvidence(found.fault, "agent"))
    assert (kind.name, kind.scored, kind.retry, kind.breaker) == (
        "harness_fault", False, True, "the harness",
    )  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="who is stopped is known by /proc")
def test_an_agent_whose_process_others_stop_is_tried_again_and_flagged(run: Any) -> None:
    result = run("killers:Halted", attempts=1, limits=Limits(time_limit_s=60))
    assert (result.status, result.score) == (Status.ENVIRONMENT_ERROR, None)
    assert "suspended" in result.flags
    assert result.error.kind == "SuspendedError"
