"""Agents in an interpreter, an environment or a language of their own."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sums import Sums

from bench_core.__about__ import __version__
from bench_core.agent_process import agent_of
from bench_core.agent_process.foreign import foreign_program, name_of_command
from bench_core.agent_process.isolated import IsolatedAgent
from bench_core.agent_process.launcher import launcher_for
from bench_core.agent_process.own_wheel import own_wheel
from bench_core.budgets import Budget
from bench_core.child_process.process import Exit
from bench_core.errors import InputError, RunFolderError
from bench_core.records import Status, TrialKey
from bench_core.run_folder import read_run
from bench_core.run_spec import AgentProcessSpec, RunSpec
from bench_core.runs import RunEnvironment, RunOptions, run_benchmark_sync
from bench_core.scheduling import NoLocks

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench_core.run_folder import RunView

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="supervisors are Linux's")

HERE = Path(__file__).parent
RAW = f"{sys.executable} {HERE / 'raw_agent.py'}"


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., RunView]:
    def run(agent: str, *tasks: str, budget: Budget | None = None, **process: Any) -> RunView:
        accept = process.pop("accept_changes", False)
        spec = RunSpec(
            agent=agent,
            agent_process=AgentProcessSpec(**process),
            budget=budget or Budget(),
            accept_changes=accept,
        )
        with_ = RunEnvironment(locks=NoLocks())
        run_benchmark_sync(
            Sums(*(tasks or ("solves",))), spec, tmp_path / "run", run_environment=with_
        )
        return read_run(tmp_path / "run")

    return run


def result_of(view: RunView, task: str = "solves") -> Any:
    return view.results[TrialKey(task_id=task)]


def test_a_program_that_speaks_the_protocol_itself_is_an_agent(run: Any) -> None:
    view = run("raw", command=RAW)
    result = result_of(view)
    assert (result.status, result.score, result.success) == (Status.COMPLETED, 1.0, True)
    assert (result.usage.requests, result.cost_usd) == (2, 0.5)
    assert {"agent/raw_notes.txt", "agent_output.txt"} <= {each.path for each in result.artifacts}
    program = view.info.agent_code.program
    assert (program.kind, list(program.command)) == ("command", RAW.split())
    assert result.agent_code.program == program
    assert any(each.endswith(" raw_agent.py") for each in view.info.agent_code.files)


@pytest.mark.parametrize(
    ("task", "kind", "said"),
    [
        ("dies", "AgentDied", "exit code 9; its last lines:\na line for the log"),
        ("raises", "ToolError", "a bug of its own"),
        ("garbage", "AgentProtocol", "not a message: b'this is no JSON"),
    ],
)
def test_its_failures_are_its_own_trials(run: Any, task: str, kind: str, said: str) -> None:
    result = result_of(run("raw", task, command=RAW), task)
    assert (result.status, result.score) == (Status.AGENT_ERROR, 0.0)
    assert result.error.kind == kind
    assert said in result.error.message
    assert result.usage.requests == (1 if task == "dies" else 0)


def test_its_calls_stop_with_the_budget(run: Any) -> None:
    view = run("raw", "spends-on", command=RAW, budget=Budget(max_cost_usd=1.0))
    result = result_of(view, "spends-on")
    assert result.status is Status.BUDGET_EXCEEDED
    assert result.usage.requests <= 5


def test_its_environment_has_nothing_of_the_runs_interpreter(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("OTHER_API_KEY", "a key of no concern to it")
    monkeypatch.setenv("SHOP", "a shop")
    view = run("raw", "inspect", command=RAW, variables=("SHOP",))
    seen = result_of(view, "inspect").ending.answer
    assert seen["SHOP"] == "a shop"
    assert not {"PYTHONPATH", "VIRTUAL_ENV", "OTHER_API_KEY"} & set(seen)


def test_a_changed_program_is_refused_as_a_changed_agent(run: Any, tmp_path: Path) -> None:
    script = tmp_path / "agent.py"
    script.write_text((HERE / "raw_agent.py").read_text())
    command = f"{sys.executable} {script}"
    run("raw", command=command)
    script.write_text(script.read_text() + "# changed\n")
    with pytest.raises(RunFolderError, match=r"has changed since 1 trials .*changed: agent.py"):
        run("raw", command=command)
    run("raw", command=command, accept_changes=True)


def test_what_it_imports_from_beside_it_counts_too(tmp_path: Path) -> None:
    (tmp_path / "agent.mjs").write_text("import { ask } from './lib/ask.mjs';")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "ask.mjs").write_text("export const ask = 1;")
    (tmp_path / "package-lock.json").write_text("{}")
    (tmp_path / "other.mjs").write_text("")
    wanted = AgentProcessSpec(command=f"{sys.executable} {tmp_path / 'agent.mjs'}")
    found: Any = foreign_program(wanted)
    assert [each.split()[1] for each in found.files[1:]] == [
        "agent.mjs",
        "ask.mjs",
        "package-lock.json",
    ]
    (tmp_path / "lib" / "ask.mjs").write_text("export const ask = 2;")
    changed: Any = foreign_program(wanted)
    assert changed.record.sha256 != found.record.sha256


def test_another_version_of_the_protocol_is_refused_by_both_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAW_PROTOCOL", "7")
    process = AgentProcessSpec(command=RAW, variables=("RAW_PROTOCOL",))
    expected = (
        rf"speaks version 7 of the protocol .*, this is version 1 of bench-core {__version__}"
    )
    with (
        pytest.raises(InputError, match=expected),
        agent_of(RunSpec(agent="raw", agent_process=process)),
    ):
        pass


def test_an_agent_works_in_another_interpreter(run: Any, interpreter: Path) -> None:
    view = run("toy_agent:Toy", python=str(interpreter))
    result = result_of(view)
    assert (result.status, result.score) == (Status.COMPLETED, 1.0)
    assert (result.usage.requests, result.usage.input_tokens, result.cost_usd) == (1, 100, 0.25)
    where = json.loads((view.path / "trials" / "1" / "solves" / "agent" / "where.json").read_text())
    assert where == str(interpreter.parents[1])
    program = view.info.agent_code.program
    assert (program.kind, program.bench_core) == ("python", __version__)
    assert f"bench-core=={__version__}" in program.packages
    assert result.agent_code.program.packages == ()
    assert result.agent_code.program.sha256 == program.sha256


def test_another_package_in_its_environment_is_another_agent(
    run: Any, interpreter: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(interpreter.parents[1], copy, symlinks=True)
    python = str(copy / "bin" / "python")
    run("toy_agent:Toy", python=python)
    (packages,) = copy.glob("lib/python*/site-packages")
    info = packages / "left_pad-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: left-pad\nVersion: 1.0\n")
    with pytest.raises(RunFolderError, match=r"changed: left-pad absent -> 1\.0"):
        run("toy_agent:Toy", python=python)


def test_proctors_own_agents_work_there_and_know_the_benchmarks_guide(
    run: Any, interpreter: Path
) -> None:
    result = result_of(run("do-nothing", python=str(interpreter)))
    assert (result.status, result.score) == (Status.COMPLETED, 0.0)
    assert result.agent_code.process == "own"
    assert result.agent_code.distribution == f"bench-core=={__version__}"


@pytest.mark.parametrize(
    ("process", "said"),
    [
        ({"python": "/no/such/python"}, "is not a program that can be run"),
        ({"python": "/bin/true"}, "is not a Python that answers"),
        ({"command": "no-such-program agent.mjs"}, "there is no program 'no-such-program'"),
        ({"command": "python 'agent"}, "cannot be read"),
        ({"command": " "}, "is empty"),
        ({"command": "python a.py", "python": "python"}, "without --agent-python"),
        ({"command": "python a.py", "process": "shared"}, "--agent-process shared"),
        ({"environment": "SHOP_TOKEN"}, "not of the form uv:REQUIREMENT"),
        ({"environment": "uv:"}, "names no package"),
    ],
)
def test_what_cannot_run_an_agent_is_refused(process: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        foreign_program(AgentProcessSpec(**process))


def test_an_interpreter_without_bench_core_is_told_what_to_install(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    with pytest.raises(InputError, match=rf"pip install bench-core=={__version__}"):
        foreign_program(AgentProcessSpec(python=str(tmp_path / "bare" / "bin" / "python")))


def test_the_command_names_the_agent_where_nothing_else_does() -> None:
    assert RunOptions(agent_command="node shop.mjs").spec().agent == "shop"
    assert RunOptions(agent="mine", agent_command="node shop.mjs").spec().agent == "mine"
    assert name_of_command("./agent --fast") == "agent"


def test_node_speaks_the_protocol_as_the_documentation_shows(run: Any, tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node on this machine")
    page = (HERE.parents[3] / "docs" / "agent-process.md").read_text()
    script = tmp_path / "agent.mjs"
    script.write_text(page.partition("```javascript\n")[2].partition("```")[0])
    assert len(script.read_text().splitlines()) <= 30
    result = result_of(run("agent", command=f"node {script}"))
    assert (result.status, result.score) == (Status.COMPLETED, 1.0), result.error
    assert (result.usage.requests, result.usage.input_tokens) == (1, 900)


def test_a_program_that_never_speaks_is_told_as_what_it_did() -> None:
    program = foreign_program(AgentProcessSpec(command="sleep 1000"))
    launcher = launcher_for("sleep", dict(os.environ), program=program)
    launcher.answer_s = 0.3
    said = "its process wrote nothing for 0.3 s and was ended: it has to write the line `hello` and answer `describe`"
    try:
        with pytest.raises(InputError) as caught:
            IsolatedAgent("sleep", launcher, foreign=program)
    finally:
        launcher.close()
    assert str(caught.value) == f"the agent 'sleep' cannot be loaded: {said}"


def test_why_a_javascript_program_ended_is_not_cut_from_where() -> None:
    printed = "file:///a.mjs:1\n^\n\nReferenceError: WebSocket is not defined\n"
    calls = "".join(f"    at call{number} (node:internal)\n" for number in range(20))
    last = Exit(1, output=f"{printed}{calls}\nNode.js v20.20.2\n").last_lines()
    assert last.startswith(
        "; its last lines:\nReferenceError: WebSocket is not defined\n    at call0"
    )
    assert (
        Exit(1, output="a sign\nat the end\n").last_lines()
        == "; its last lines:\na sign\nat the end"
    )


def test_the_wheel_of_this_bench_core_is_the_same_each_time(tmp_path: Path) -> None:
    name, content = own_wheel.__wrapped__()
    assert (name, content) == own_wheel.__wrapped__()
    with zipfile.ZipFile(io.BytesIO(content)) as wheel:
        assert wheel.testzip() is None
        names = wheel.namelist()
        record = wheel.read(f"bench_core-{__version__}.dist-info/RECORD").decode()
    assert "bench_core/py.typed" in names
    assert [line.partition(",")[0] for line in record.splitlines()] == names
