from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from bench_core.records import AgentEnding, Status, TrialResult
from bench_core.testing import make_run
from multireal_harness import __version__
from multireal_harness.cli import main
from multireal_harness.tasks import load_tasks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

COMMANDS = [
    "tasks", "run", "rescore", "lint", "check-state", "validate-ground-truth",
    "generate-ground-truth", "compare-states", "doctor", "demo", "export",
]  # fmt: skip


def call(*arguments: object) -> Result:
    return CliRunner(env={"MULTIREAL_TASKS_DIR": None}).invoke(main, [*map(str, arguments)])


def test_version_names_the_distribution() -> None:
    assert call("--version").output == f"multireal-harness, version {__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str) -> None:
    result = call(command, "--help")
    assert result.exit_code == 0
    assert result.output.startswith(f"Usage: multireal-harness {command}")


def test_tasks_are_listed_and_filtered() -> None:
    result = call("tasks", "--tasks-dir", "built-in", "--app", "travel", "--min-apps", 3, "--json")
    assert [each["task_id"] for each in json.loads(result.output)] == [
        "multi.calendar-mail-travel-1"
    ]


def test_the_tasks_of_the_built_in_world_are_those_of_its_folder() -> None:
    on_world, in_folder = (
        call("tasks", *words, "--json").output
        for words in (("--world", "built-in"), ("--tasks-dir", "built-in"))
    )
    assert len(json.loads(on_world)) == 12
    assert on_world == in_folder


def test_missing_tasks_are_a_usage_error_that_says_how() -> None:
    result = call("tasks")
    assert result.exit_code == 2
    assert "--tasks-dir" in result.output


def test_lint_of_sound_tasks_ends_well() -> None:
    result = call("lint", "--tasks-dir", "built-in", "--json")
    assert result.exit_code == 0
    report = json.loads(result.output)
    assert (report["tasks"], report["fatal_evals"]) == (12, 0)


def test_lint_of_defective_tasks_shows_the_rewrite_and_writes_it(
    task_file: Any, tmp_path: Path
) -> None:
    query = "mail.differences.emails.added[?sent][0].subject == 'Hi'"
    path = task_file(evals=[{"query": query, "expected_value": True, "description": "Verify."}])
    result = call("lint", "--tasks-dir", path.parent, "--fix", "--write", tmp_path / "fixed")
    assert result.exit_code == 1
    assert "after:  (mail.differences.emails.added[?sent] | [0].subject) == 'Hi'" in result.output
    assert (tmp_path / "fixed" / path.name).exists()


UNRUNNABLE = {
    "unlike": 'mail[?size > `"x"`]',
    "merge": "merge(mail, `1`)",
    "step-zero": "mail.list[::0]",
    "infinite": "ceil(to_number('inf'))",
    "deep": " && ".join(["mail"] * 2000),
    "deeper": "(" * 5000 + "mail" + ")" * 5000,
    "half-a-pair": "mail.half",
    "expression": "&mail",
}


@pytest.mark.parametrize("query", UNRUNNABLE.values(), ids=UNRUNNABLE.keys())
def test_query_that_cannot_run_is_reported_and_ends_no_command(
    query: str, task_file: Any, tmp_path: Path
) -> None:
    path = task_file(evals=[{"query": query, "expected_value": True, "description": "Verify."}])
    truth = tmp_path / "truth" / path.name
    truth.parent.mkdir()
    truth.write_text('{"calendar": {}, "mail": {"size": 3, "list": [1], "half": "\\ud800"}}')
    for arguments in (["lint"], ["validate-ground-truth", truth.parent, "--verbose"]):
        result = call(*arguments, "--tasks-dir", path.parent)
        assert isinstance(result.exception, SystemExit | None)
        assert result.exit_code in {0, 1}
        assert result.output


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["--agent", "scripted", "--tasks-dir", "built-in"], "--world built-in"),
        (["--world", "built-in"], "who works on the tasks?"),
        (["--world", "built-in", "--agent", "tool-calling"], "needs a model"),
        (["--world", "built-in", "--model", "nobody"], "gpt52"),
        (["--world", "built-in", "--agent", "nobody"], "unknown agent"),
        (["--world", "built-in", "--agent", "scripted", "--judge", "nobody"], "unknown judge"),
        (["--world", "built-in", "--agent", "scripted", "-t", "dining-mail-9"], "dining-mail-1"),
    ],
)
def test_run_that_cannot_work_is_refused_before_it_starts(
    arguments: list[str], hint: str, tmp_path: Path
) -> None:
    result = call("run", *arguments, "--out", tmp_path / "run")
    assert (result.exit_code, hint in result.output) == (2, True), result.output
    assert not (tmp_path / "run").exists()


def test_dry_run_shows_the_plan_and_the_budget(tmp_path: Path) -> None:
    result = call("run", "--world", "built-in", "--agent", "scripted", "--dry-run", "--trials", 2)
    assert result.exit_code == 0
    assert "12 tasks x 2 = 24 trials" in result.output


def test_tasks_whose_apps_are_gone_are_not_paid_for(task_file: Any, tmp_path: Path) -> None:
    path = task_file()
    result = call(
        "run", "--tasks-dir", path.parent, "--agent", "do-nothing", "--out", tmp_path / "run"
    )
    assert result.exit_code == 2
    assert "does not answer" in result.output
    assert not (tmp_path / "run").exists()


def test_a_model_without_a_key_is_refused_before_any_trial(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    arguments = ["--world", "built-in", "--agent", "tool-calling", "--model", "openai:gpt-5.2"]
    environment = {"MULTIREAL_TASKS_DIR": None, "OPENAI_API_KEY": None}
    result = CliRunner(env=environment).invoke(
        main, ["run", *arguments, "--out", str(tmp_path / "run")]
    )
    assert result.exit_code == 2
    assert "OPENAI_API_KEY" in result.output
    assert not (tmp_path / "run").exists()


def test_a_solution_that_no_task_has_is_refused_before_any_trial(tmp_path: Path) -> None:
    run = ("run", "--world", "built-in", "--agent", "scripted", "--no-hybrid")
    found = call(*run, "--solution", "nosuch", "--out", tmp_path / "run")
    assert found.exit_code == 2
    assert "has no reference solution 'nosuch': it has good" in found.output
    assert not (tmp_path / "run").exists()


def test_a_run_of_another_benchmark_is_not_exported(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", tasks=1, benchmark="waa")
    result = call("export", run, "--out", tmp_path / "plan")
    assert result.exit_code == 2
    assert "is a run of 'waa', not 'multireal'" in result.output
    assert not (tmp_path / "plan").exists()


@pytest.mark.parametrize("named", [None, "other", "same"])
def test_scripts_of_a_run_folder_run_only_where_a_task_set_has_them(
    named: str | None, task_file: Callable[..., Path], tmp_path: Path
) -> None:
    path, mark = task_file(evals=[{"script": "eval_1.py"}]), tmp_path / "mark"
    script = path.with_name("eval_1.py")
    script.write_text(f"open({str(mark)!r}, 'w').close()\nprint('SUCCESS')")
    task = load_tasks(path.parent)[0]
    ended = TrialResult(
        benchmark=task.benchmark, task_id=task.task_id, agent="a", status=Status.COMPLETED, score=0.0,
        ending=AgentEnding(status=Status.COMPLETED),
    )  # fmt: skip
    run = make_run(tmp_path / "run", tasks=[task], results=[ended], artifacts=False)
    home = run / "trials" / "1" / task.task_id
    home.mkdir(parents=True, exist_ok=True)
    states = {"calendar": {}, "mail": {}}
    (home / "finish_state.json.gz").write_bytes(gzip.compress(json.dumps(states).encode()))
    if named == "other":
        script.write_text("print('FAILURE')")
    told = call("rescore", run, "--json", *(["--tasks-dir", path.parent] if named else []))
    found = json.loads(told.stdout)
    assert mark.exists() is (named == "same"), told.output
    assert found["unscored"] == (named != "same")
    if named == "same":
        assert found["changes"][0]["score"] == 1.0
    else:
        assert "pass --tasks-dir with the one that the run used" in found["why_unscored"]


def test_states_are_compared(tmp_path: Path) -> None:
    for name, subject in (("a", "Hi"), ("b", "Ho")):
        added = [{"subject": subject, "to": ["x"]}]
        state = {"mail": {"differences": {"emails": {"added": added}}}}
        (tmp_path / f"{name}.json").write_text(json.dumps(state))
    pair = [tmp_path / "a.json", tmp_path / "b.json"]
    assert json.loads(call("compare-states", *pair, "--json").output)["ratio"] == 0.5
    assert "similarity over all apps: 0.50" in call("compare-states", *pair).output
    assert call("compare-states", *pair, "--at-least", 0.9).exit_code == 1


@pytest.mark.browser
@pytest.mark.slow
def test_run_then_rescore_then_export(tmp_path: Path) -> None:
    out = tmp_path / "run"
    arguments = ["--world", "built-in", "--agent", "scripted", "-t", "dining-mail-2", "--out", out]
    assert call("run", *arguments).exit_code == 0
    result = json.loads((out / "results.jsonl").read_text().splitlines()[-1])
    assert (result["score"], result["world"], result["profile"]) == (1.0, "built-in", "official")
    again = call("rescore", out, "--queries", "fixed", "--name", "fixed", "--json")
    assert json.loads(again.output)["rescored"] == 1
    assert call("export", out, "--out", tmp_path / "plan").exit_code == 0
    assert (tmp_path / "plan" / "raw" / "dining-mail-2" / "scripted.json").exists()
    assert "1 done, 0 to run" in call("run", *arguments, "--dry-run").output
