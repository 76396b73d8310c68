"""Whatever an agent does in a process of its own costs its own trial, with the cause, and nothing else."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from killers import CALL, CALL_USD, DEEDS, MARK
from sums import Sums

from bench_core.agent_process import OUTPUT
from bench_core.records import Status, TrialKey
from bench_core.redaction import Redactor
from bench_core.run_folder import read_run
from bench_core.run_spec import AgentProcessSpec, RunSpec
from bench_core.runs import RunEnvironment, run_benchmark_sync
from bench_core.scheduling import NoLocks
from bench_core.trial import AgentLimits
from bench_core.trial.results import CLAIMS_FAULT

if TYPE_CHECKING:
    from bench_core.records import TrialResult
    from bench_core.run_folder import RunView

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="supervisors are Linux's")

SOLVED = [
    "prints-and-solves",
    "floods",
    "leaves-thread",
    "leaves-grandchildren",
    "logs-without-end",
    "sees-secret",
    "stops-its-supervisor-and-ends",
]
CAUSES = {
    "raises": ("ValueError", "a bug of its own"),
    "raises-without-text": ("MuteError", "whose text raises RuntimeError"),
    "raises-keyboard-interrupt": ("KeyboardInterrupt", "KeyboardInterrupt"),
    "raises-generator-exit": ("RuntimeError", "the agent raised GeneratorExit"),
    "cancels-itself": ("CancelledError", "the agent cancelled itself"),
    "claims-fault": ("EnvironmentFaultError", "the site is down, says the agent"),
    "claims-input": ("InputError", "no key, says the agent"),
    "claims-budget": ("BudgetExceededError", "so it says"),
    "claims-environment-error": ("AgentError", "not for an agent to say"),
    "returns-nothing": ("TypeError", "returned NoneType"),
    "sys-exit": ("SystemExit", "sys.exit(3)"),
    "os-exit": ("AgentDied", "exit code 7; its last lines:\nabout to os-exit"),
    "exit-75": ("AgentDied", "exit code 75;"),
    "exit-0": ("AgentDied", "exit code 0;"),
    "segfault": ("AgentDied", "SIGSEGV"),
    "abort": ("AgentDied", "SIGABRT"),
    "kills-itself": ("AgentDied", "SIGKILL"),
    "kills-its-group": ("AgentDied", "SIGKILL"),
    "kills-its-supervisor": ("AgentDied", "together with its supervisor"),
    "hangs-up": ("AgentDied", "hung up"),
    "garbage": ("AgentProtocol", "not a message"),
    "unknown-message": ("AgentProtocol", "unknown message of a worker: 'environment_error'"),
    "forges-cost": ("AgentProtocol", "not a model call"),
    "forges-tokens": ("AgentProtocol", "not a model call"),
    "forges-credit": ("AgentProtocol", "not a model call"),
    "oversized": ("AgentProtocol", "longer than"),
    "fills-memory": ("MemoryError", "MemoryError"),
}
OUT_OF_TIME = ["blocks", "stops-itself", "stops-its-supervisor", "waits"]
TASKS = ["solves", *CAUSES, *SOLVED, *OUT_OF_TIME, "spends-on"]
SECRET = "hidden-site-password-1"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    """All of them in one run, three at a time; a sealed agent's signals would not reach its supervisor."""
    out = tmp_path_factory.mktemp("killers") / "run"
    spec = RunSpec(
        agent="killers:Killer",
        workers=3,
        sealing="off",
        agent_process=AgentProcessSpec(process="own", memory_gb=0.4),
    )
    run_environment = RunEnvironment(
        locks=NoLocks(), redactor=Redactor([SECRET]), agent_limits=AgentLimits(overtime_s=0.1)
    )
    outcome = run_benchmark_sync(Sums(*TASKS), spec, out, run_environment=run_environment)
    assert (outcome.outcome, outcome.remaining, outcome.abandoned) == ("finished", 0, 0)
    return read_run(out)


def result_of(run: RunView, task: str) -> TrialResult:
    return run.results[TrialKey(task_id=task)]


def folder_of(run: RunView, task: str) -> Path:
    return run.trial_folder(TrialKey(task_id=task))


def test_the_table_has_all_deeds() -> None:
    assert set(DEEDS) <= set(TASKS)


@pytest.mark.parametrize("task", CAUSES)
def test_what_kills_an_agent_is_its_own_failure_and_the_cause_is_recorded(
    run: RunView, task: str
) -> None:
    result = result_of(run, task)
    kind, words = CAUSES[task]
    assert (result.status, result.score) == (Status.AGENT_ERROR, 0.0)
    assert result.error is not None
    assert (result.error.kind, result.error.phase) == (kind, "agent")
    assert words in result.error.message


@pytest.mark.parametrize("task", TASKS)
def test_what_it_spent_and_the_steps_it_took_are_known_whatever_became_of_it(
    run: RunView, task: str
) -> None:
    result, calls = result_of(run, task), 3 if task == "spends-on" else 1
    assert (result.usage.requests, result.cost_usd) == (calls, calls * CALL_USD)
    assert result.usage.total_tokens == calls * CALL.total_tokens
    assert result.steps >= 1
    assert "trajectory.jsonl" in result.artifact_paths
    assert len(result.attempts) == 1


@pytest.mark.parametrize("task", ["solves", *SOLVED])
def test_an_agent_that_reports_is_scored_whatever_else_it_does(run: RunView, task: str) -> None:
    assert (result_of(run, task).status, result_of(run, task).score) == (Status.COMPLETED, 1.0)


def test_an_agent_that_blocks_its_loop_is_ended_at_its_deadline_and_where_it_hung_is_told(
    run: RunView,
) -> None:
    blocked, waits = result_of(run, "blocks"), result_of(run, "waits")
    assert (blocked.status, waits.status) == (Status.TIME_LIMIT, Status.TIME_LIMIT)
    assert blocked.error is not None
    assert blocked.error.kind == "AgentHung"
    assert "killers.py" in blocked.error.message
    assert waits.error is None


@pytest.mark.parametrize("task", ["claims-fault", "claims-input"])
def test_a_fault_that_only_the_agent_claims_is_flagged_and_suspect_and_scored(
    run: RunView, task: str
) -> None:
    result = result_of(run, task)
    assert CLAIMS_FAULT in result.flags
    assert result.suspect == ("environment_fault",)


def test_nothing_that_was_not_claimed_is_suspect(run: RunView) -> None:
    suspects = {key.task_id for key, result in run.results.items() if result.suspect}
    assert suspects == {"claims-fault", "claims-input"}


def test_every_result_says_where_its_agent_ran(run: RunView) -> None:
    assert {each.agent_code.process for each in run.results.values() if each.agent_code} == {"own"}
    assert run.info.agent_code is not None
    assert run.info.agent_code.process == "own"


def test_processes_that_an_agent_leaves_are_ended(run: RunView) -> None:
    assert result_of(run, "leaves-grandchildren").score == 1.0
    running = [command_of(each) for each in Path("/proc").glob("[0-9]*")]
    # another process may try the same in a folder of its own
    assert [each for each in running if MARK in each and str(run.path) in each] == []
    log = (folder_of(run, "leaves-grandchildren") / "log.txt").read_text()
    assert "left 2 processes running" in log


def command_of(process: Path) -> str:
    try:
        return (process / "cmdline").read_text(errors="replace")
    except OSError:
        return ""


def test_of_a_flood_beginning_and_end_are_kept(run: RunView) -> None:
    printed = (folder_of(run, "floods") / OUTPUT).read_text()
    assert printed.startswith("about to floods")
    assert printed.endswith("the end of the flood\n")
    assert len(printed) < 300_000


def test_what_an_agent_logs_is_in_its_trials_log_up_to_a_limit(run: RunView) -> None:
    lines = (folder_of(run, "logs-without-end") / "log.txt").read_text().splitlines()
    assert "WARNING killers: line 0" in lines[0]
    assert 1_000 < len(lines) <= 20_001


def test_the_runs_secrets_are_taken_out_of_what_it_writes_and_prints(run: RunView) -> None:
    folder = folder_of(run, "sees-secret")
    assert (folder / "agent" / "seen.txt").read_text() == "the page says [REDACTED]"
    assert "also [REDACTED]" in (folder / OUTPUT).read_text()


def test_nothing_is_left_in_this_process(run: RunView) -> None:
    assert run.results
    assert [t for t in threading.enumerate() if t.name.startswith("killer")] == []
    assert not any(folder.name == "agent-files" for folder in run.path.rglob("*"))
