from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result
from fake_evaluator import FakeEvaluator, failure
from fake_vm import FakeVm, Reply
from sample_tasks import make_task, script

from bench_core.run_folder import read_run
from waa_client.cli import main
from waa_client.vm import calls

if TYPE_CHECKING:
    from pathlib import Path

DRAFT = "notepad/366de66e-cbae-4d72-b042-26390db2b145-WOS"


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(each) for each in arguments])


def test_help_loads_nothing_of_weight() -> None:
    code = (
        "import sys; from waa_client.cli import main\n"
        "main(['--help'], standalone_mode=False)\n"
        "heavy = {'httpx', 'PIL', 'numpy', 'pydantic', 'anthropic', 'openai'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "command",
    [
        "tasks",
        "run",
        "rescore",
        "evaluate",
        "probe",
        "import",
        "import-vanilla",
        "compare",
        "doctor",
    ],
)
def test_every_command_explains_itself(command: str) -> None:
    assert invoke(command, "--help").exit_code == 0


def test_tasks_are_listed_with_what_can_be_filtered(folder: Path) -> None:
    found = invoke("tasks", "--tasks-dir", folder, "--infeasible")
    assert "notepad/INF-5e6f-WOS" in found.output
    assert found.output.rstrip().endswith("1 of 2 tasks")
    listed = json.loads(
        invoke("tasks", "--tasks-dir", folder, "--task", "0a1b2c3d", "--json").output
    )
    assert [each["task_id"] for each in listed] == ["notepad/0a1b2c3d-WOS"]


def test_without_task_files_the_message_says_how_to_get_them() -> None:
    found = CliRunner().invoke(main, ["tasks"], env={"WAA_TASKS": ""})
    assert found.exit_code == 2
    assert "pass --tasks-dir CHECKOUT, or set WAA_TASKS" in found.output


def test_a_run_is_scored_and_continued(
    tmp_path: Path, folder: Path, vm: FakeVm, evaluator: FakeEvaluator
) -> None:
    path = script(tmp_path / "s.json", ["computer.keyboard.write('a')", "DONE"])
    arguments = [
        "run", "--tasks-dir", folder, "--vm", vm.url, "--evaluate", evaluator.url, "--agent", "scripted",
        "--agent-option", f"script={path}", "--out", tmp_path / "run",
    ]  # fmt: skip
    first, second = invoke(*arguments), invoke(*arguments)
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert "2 of 2 scored trials succeeded" in first.output
    assert len(evaluator.bodies("/evaluate")) == 2
    config = json.loads((tmp_path / "run" / "run.json").read_text())["config"]
    assert config["agent_options"] == {"script": path}


def test_an_agent_of_browsers_is_refused_before_anything_runs(
    tmp_path: Path, folder: Path, vm: FakeVm
) -> None:
    out = tmp_path / "run"
    found = invoke(
        "run", "--tasks-dir", folder, "--vm", vm.url, "--out", out, "--agent", "browser-use"
    )
    assert found.exit_code == 2
    assert "'browser-use' works in browser environments" in found.stderr
    assert not out.exists()


def test_a_plan_is_refused_as_its_run_would_be(folder: Path, vm: FakeVm) -> None:
    command = ["run", "--tasks-dir", folder, "--dry-run", "--agent", "do-nothing"]
    refused = invoke(*command)
    assert (refused.exit_code, "no VM is given" in refused.stderr) == (2, True)
    unscored = invoke(*command, "--vm", vm.url)
    assert (unscored.exit_code, "--evaluate URL" in unscored.stderr) == (2, True)
    found = invoke(*command, "--vm", vm.url, "--without-scores")
    assert found.exit_code == 0
    assert "waa: 2 tasks x 1 = 2 trials" in found.output


def test_tasks_for_which_an_evaluator_lacks_a_part_are_refused(folder: Path, vm: FakeVm) -> None:
    command = ["run", "--tasks-dir", folder, "--dry-run", "--agent", "do-nothing", "--vm", vm.url]
    with FakeEvaluator() as evaluator:
        command += ["--evaluate", evaluator.url]
        assert invoke(*command).exit_code == 0
        evaluator.missing = {"exact_match": "needs lxml: `pip install it`"}
        found = invoke(*command)
        assert found.exit_code == 2
        assert f"needs lxml: `pip install it` where the evaluator {evaluator.url}" in found.stderr
        assert invoke(*command, "--without-scores").exit_code == 0


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ([], "no VM is given"),
        (["--vm", "a,a"], "a VM is given twice"),
        (["--vm", "a,b", "--evaluate", "c"], "2 VMs need 2 evaluators"),
        (["--vm", "a", "--agent-option", "x"], "is not of the form NAME=VALUE"),
        (["--vm", "a", "--observe", "smell"], "--observe takes"),
        (["--vm", "a", "--few-shot", "nowhere"], "there is no demonstration nowhere"),
        (["--vm", "a", "--task", "99999999"], "has no task"),
        (["--vm", "a", "--agent", "no-such"], "unknown agent 'no-such'"),
        (["--vm", "a", "--agent", "vision"], "needs a model: `--model provider:name`"),
        (["--vm", "a", "--agent", "vision", "--model", "x:y"], "unknown provider 'x'"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_runs(
    folder: Path, extra: list[str], message: str
) -> None:
    found = invoke("run", "--tasks-dir", folder, "--agent", "do-nothing", *extra)
    assert found.exit_code == 2
    assert message in found.output


@pytest.mark.parametrize(
    ("agent", "options", "message"),
    [
        ("scripted", [], "needs --agent-option script="),
        ("scripted", ["script=nowhere.json"], "the script nowhere.json cannot be read"),
        ("replay", ["run=nowhere"], "nowhere recorded no trial 1 of notepad/"),
        ("http", [], "needs --agent-option url="),
    ],
)
def test_agents_whose_options_lead_nowhere_are_refused_before_anything_runs(
    folder: Path, vm: FakeVm, agent: str, options: list[str], message: str
) -> None:
    out = folder.parent / "run"
    extra = [part for each in options for part in ("--agent-option", each)]
    found = invoke(
        "run", "--tasks-dir", folder, "--vm", vm.url, "--out", out, "--agent", agent, *extra
    )
    assert found.exit_code == 2
    assert message in found.output
    assert not out.exists()


def test_a_script_is_read_for_the_chosen_tasks_only(
    tmp_path: Path, folder: Path, vm: FakeVm, evaluator: FakeEvaluator
) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"notepad/0a1b2c3d-WOS": ["DONE"]}), encoding="utf-8")
    run = [
        "run", "--tasks-dir", folder, "--vm", vm.url, "--evaluate", evaluator.url, "--agent", "scripted",
        "--agent-option", f"script={path}", "--out", tmp_path / "run",
    ]  # fmt: skip
    assert "no list of steps for notepad/INF-5e6f-WOS" in invoke(*run).output
    assert invoke(*run, "--task", "0a1b2c3d").exit_code == 0


def test_vms_none_of_which_answers_are_refused(tmp_path: Path, folder: Path, vm: FakeVm) -> None:
    run = ["run", "--tasks-dir", folder, "--agent", "do-nothing", "--out", tmp_path / "run"]
    found = invoke(*run, "--vm", "127.0.0.1:1,127.0.0.1:2")
    assert found.exit_code == 2
    assert "no VM answers" in found.output
    assert "waa-client probe --vm http://127.0.0.1:1,http://127.0.0.1:2" in found.output
    assert not (tmp_path / "run").exists()

    found = invoke(*run, "--vm", f"127.0.0.1:1,{vm.url}", "--task", "0a1b2c3d", "--without-scores")
    assert "Warning: " in found.output
    assert (tmp_path / "run").exists()


def test_the_vm_as_it_is_can_be_evaluated(folder: Path, evaluator: FakeEvaluator) -> None:
    arguments = ["evaluate", "0a1b2c3d", "--tasks-dir", folder, "--evaluate", evaluator.url]
    failing, passing = invoke(*arguments), invoke(*arguments, "--action", "DONE")
    assert (failing.exit_code, passing.exit_code) == (1, 0)
    assert "score 1  (/evaluate, native evaluators, v2)" in passing.output
    evaluator.judge = lambda _: failure()
    undecided = invoke(*arguments)
    assert undecided.exit_code == 3
    assert "not scored: HTTPError: 404" in undecided.output
    evaluator.stop()
    unanswered = invoke(*arguments)
    assert (unanswered.exit_code, "does not answer" in unanswered.output) == (3, True)


def test_programs_that_the_vm_lacks_are_named_with_their_tasks_before_the_run(
    tmp_path: Path, vm: FakeVm, evaluator: FakeEvaluator
) -> None:
    tasks = tmp_path / "tasks"
    step = {"type": "launch", "parameters": {"command": ["code", "C:\\x"]}}
    (tasks / "notepad").mkdir(parents=True)
    definition = json.dumps(make_task(config=[step]).config)
    (tasks / "notepad/01-WOS.json").write_text(definition, encoding="utf-8")
    run = [
        "run", "--tasks-dir", tasks, "--vm", vm.url, "--evaluate", evaluator.url, "--agent", "do-nothing", "--dry-run",
    ]  # fmt: skip
    assert "code" not in invoke(*run).output
    vm.lacks = frozenset({"code"})
    assert "has no code (1 task: notepad/" in " ".join(invoke(*run).output.split())


def test_a_vm_under_wine_is_recorded_as_such_and_never_beside_windows(
    tmp_path: Path, folder: Path, vm: FakeVm, evaluator: FakeEvaluator
) -> None:
    run = [
        "run", "--tasks-dir", folder, "--evaluate", evaluator.url, "--agent", "do-nothing", "--task", "0a1b2c3d",
        "--out", tmp_path / "run",
    ]  # fmt: skip
    vm.files[r"C:\windows\system32\winecfg.exe"] = b"MZ"
    with FakeVm() as windows:
        mixed = [
            *run,
            "--evaluate",
            f"{evaluator.url},http://127.0.0.1:9",
            "--vm",
            f"{vm.url},{windows.url}",
        ]
        refused = invoke(*mixed)
    assert refused.exit_code == 2
    assert f"{vm.url} run under Wine and {windows.url} do not" in refused.output
    found = invoke(*run, "--vm", vm.url)
    assert (found.exit_code, "recorded as wine" in found.output) == (0, True)
    (result,) = read_run(tmp_path / "run").results.values()
    assert result.world == "wine"


def test_a_vm_that_refuses_connections_is_told_once_with_its_remedy() -> None:
    found = invoke("probe", "--vm", "127.0.0.1:1")
    assert found.exit_code == 1
    assert found.output.count("fix:") == 1
    assert found.output.count("not asked") == 6


def test_a_probe_goes_layer_by_layer(vm: FakeVm, evaluator: FakeEvaluator) -> None:
    found = invoke("probe", "--vm", vm.url, "--evaluate", evaluator.url, "--json")
    checks = {each["name"].split()[0]: each for each in json.loads(found.output)["checks"]}
    assert {name: each["status"] for name, each in checks.items()} == dict.fromkeys(
        [
            "reach",
            "system",
            "screenshot",
            "window",
            "accessibility",
            "keyboard",
            "action",
            "evaluate",
        ],
        "ok",
    )
    assert checks["accessibility"]["detail"].endswith("4 elements")
    assert vm.computer.pointer == (640, 360)


@pytest.mark.parametrize(
    ("path", "fault", "layer", "hint"),
    [
        ("/screenshot", Reply(200, b"torn", "image/png"), "screenshot", "port 8006"),
        ("/accessibility", Reply(200, b'{"AT": "<a"}'), "accessibility", "pywinauto"),
        (
            "/execute_windows",
            Reply(500, b'{"status": "error", "message": "no"}'),
            "action",
            "server.log",
        ),
        (
            "/probe",
            Reply(
                500, b'{"message": "404 Not Found: The requested URL was not found on the server."}'
            ),
            "reach",
            "something else listens",
        ),
        ("/obs_winagent", Reply(500, b'{"message": "secure desktop"}'), "window", "lock screen"),
    ],
)
def test_a_layer_that_fails_is_named_with_its_fix(
    vm: FakeVm, path: str, fault: Reply, layer: str, hint: str
) -> None:
    vm.always[path] = fault
    found = invoke("probe", "--vm", vm.url)
    assert found.exit_code == 1
    lines = found.output.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith(f"✗ {layer}"))
    assert hint in lines[at + 1]


def test_a_probe_waits_once_for_a_picture_that_comes_byte_by_byte(
    vm: FakeVm, monkeypatch: pytest.MonkeyPatch
) -> None:
    soon = replace(calls.screenshot(), timeout_s=0.5)
    monkeypatch.setattr(calls, "screenshot", lambda: soon)
    vm.always["/screenshot"] = Reply(drips="body")
    found = invoke("probe", "--vm", vm.url)
    assert (found.output.count("got no answer"), found.output.count("not asked")) == (1, 4)
    assert vm.paths().count("/screenshot") == 1


EMPTY_TREE = "<desktop/>"


def test_a_screen_whose_tree_is_empty_is_reported_with_the_server(vm: FakeVm) -> None:
    vm.uia_tree = EMPTY_TREE
    lines = invoke("probe", "--vm", vm.url).output.splitlines()
    at = next(i for i, line in enumerate(lines) if "accessibility" in line)
    assert "restart the VM's server" in lines[at + 1]


def test_a_vm_that_is_off_is_reported_with_the_port(evaluator: FakeEvaluator) -> None:
    evaluator.stop()
    found = invoke("probe", "--vm", evaluator.url, "--evaluate", evaluator.url)
    assert found.exit_code == 1
    assert "docker run -p 5000:5000" in found.output
    assert "waa-server-ext serve --vm HOST" in found.output


def test_doctor_reports_what_is_missing(folder: Path, vm: FakeVm) -> None:
    found = invoke("doctor", "--tasks-dir", folder, "--vm", vm.url)
    assert found.exit_code == 0
    assert "2, 1 of them infeasible, 0 need the Internet" in found.output
    wrong = invoke("doctor", "--tasks-dir", folder / "nowhere")
    assert wrong.exit_code == 1
    assert "git clone" in wrong.output


def test_results_of_vanilla_are_imported_and_compared(tmp_path: Path, folder: Path) -> None:
    place = tmp_path / "results/p/t/m/0/notepad/0a1b2c3d-WOS"
    place.mkdir(parents=True)
    (place / "result.txt").write_text("1\n")
    out = tmp_path / "run"
    imported = invoke("import-vanilla", tmp_path / "results", "--tasks-dir", folder, "--out", out)
    assert imported.exit_code == 0, imported.output
    assert "1 results, 0 tasks that raised" in imported.output
    found = invoke("compare", out, out, "--out", tmp_path / "c.json")
    assert found.exit_code == 3, found.output
    assert "Verdict: undecided" in found.output
    assert json.loads((tmp_path / "c.json").read_text())["verdict"] == "undecided"


def test_a_run_is_rescored_by_command(
    tmp_path: Path, folder: Path, vm: FakeVm, evaluator: FakeEvaluator
) -> None:
    out = tmp_path / "run"
    invoke("run", "--tasks-dir", folder, "--vm", vm.url, "--evaluate", evaluator.url,
           "--agent", "do-nothing", "--out", out)  # fmt: skip
    found = invoke("rescore", out, "--evaluate", evaluator.url)
    assert "2 trials scored again" in found.output


def test_a_run_is_not_rescored_for_long_by_an_evaluator_that_is_not_there(
    tmp_path: Path,
    folder: Path,
    vm: FakeVm,
    evaluator: FakeEvaluator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out, pauses = tmp_path / "run", []
    invoke("run", "--tasks-dir", folder, "--vm", vm.url, "--evaluate", evaluator.url,
           "--agent", "do-nothing", "--out", out)  # fmt: skip

    async def passed(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr("waa_client.evaluation.asyncio.sleep", passed)
    found = invoke("rescore", out, "--evaluate", "http://127.0.0.1:9")
    assert "http://127.0.0.1:9: does not answer" in found.output
    assert 0 < len(pauses) < 10
