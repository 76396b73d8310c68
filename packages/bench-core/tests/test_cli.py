"""The shared command-line helpers, through a real runner built from them."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest
from click.testing import CliRunner

from bench_core.cli import Check, common_command, execute_doctor, render_table, runner_group
from bench_core.cli.doctor import CheckResult, agent_checks, failed, ok, warned
from bench_core.errors import EnvironmentFaultError, InputError
from bench_core.models import price_checks
from bench_core.run_folder import read_run

if TYPE_CHECKING:
    from click.testing import Result

RUNNER = Path(__file__).with_name("toy_runner.py")

# before click 8.2 both streams came as one unless told otherwise; since then there is no option
APART = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}


def load_runner() -> click.Group:
    spec = importlib.util.spec_from_file_location("toy_runner", RUNNER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    group: click.Group = module.main
    return group


@pytest.fixture(scope="module")
def runner() -> click.Group:
    return load_runner()


@pytest.fixture
def invoke(runner: click.Group, tmp_path: Path) -> Any:
    environment = {"PROCTOR_LOCK_DIR": str(tmp_path / "locks")}

    def invoke_command(*arguments: str | Path) -> Result:
        return CliRunner(**APART).invoke(runner, [str(each) for each in arguments], env=environment)

    return invoke_command


def test_help_imports_neither_pydantic_nor_rich_nor_asyncio() -> None:
    code = (
        "import sys; import bench_core.cli; "
        "print([m for m in ('pydantic', 'rich', 'asyncio', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_run_shows_each_trial_and_how_many_succeeded(invoke: Any, tmp_path: Path) -> None:
    done = invoke("run", "--task", "quick-1,wrong-1", "--out", tmp_path / "run")
    assert done.exit_code == 0
    assert "1 of 2 scored trials succeeded (2 completed)" in done.stdout
    assert f"Run folder: {tmp_path / 'run'}" in done.stdout


def test_a_run_with_trials_left_exits_with_one_and_says_how_to_go_on(
    invoke: Any, tmp_path: Path
) -> None:
    done = invoke("run", "--task", "down-1", "--out", tmp_path / "run", "--attempts", "1")
    assert done.exit_code == 1
    assert "run the same command again" in done.stdout.replace("\n", " ")
    assert "the site is down" in done.stdout
    assert "sk-ant" not in done.output


def test_json_lines_tell_the_whole_run(invoke: Any, tmp_path: Path) -> None:
    done = invoke("run", "--task", "quick-1,spend-1", "--out", tmp_path / "run", "--json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["event"] for event in events] == [
        "run_started", "trial_started", "trial_finished", "trial_started", "trial_finished",
        "run_ended", "outcome",
    ]  # fmt: skip
    assert events[2]["score"] == 1.0
    assert events[-1]["spent"]["cost_usd"] == 0.25


def test_a_dry_run_makes_nothing(invoke: Any, tmp_path: Path) -> None:
    done = invoke("run", "--group", "kind=quick", "--dry-run", "--out", tmp_path / "run", "-k", "3")
    assert done.exit_code == 0
    assert "4 tasks x 3 = 12 trials, 0 done, 12 to run" in done.stdout
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["--agent", "do-nothin"], "did you mean 'do-nothing'?", id="agent"),
        pytest.param(["--model", "toy:dear", "--max-cost", "1"], "toy:dear", id="price"),
        pytest.param(["--rerun", "failed"], "this folder has no run yet", id="rerun"),
        pytest.param(["--task", "quick-9"], "quick-9", id="task"),
    ],
)
def test_a_plan_is_refused_as_its_run_would_be(
    words: list[str], said: str, invoke: Any, tmp_path: Path
) -> None:
    command = ["run", "--group", "kind=quick", "--out", tmp_path / "run", *words]
    planned, begun = invoke(*command, "--dry-run"), invoke(*command)
    assert (planned.exit_code, planned.stderr) == (begun.exit_code, begun.stderr)
    assert (planned.exit_code, said in planned.stderr) == (2, True), planned.stderr
    assert not (tmp_path / "run").exists()


def test_a_plan_for_the_folder_of_another_run_is_refused(invoke: Any, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert invoke("run", "--task", "quick-1", "--out", out).exit_code == 0
    words = ("run", "--task", "quick-2", "--out", out)
    planned, begun = invoke(*words, "--dry-run"), invoke(*words)
    assert (planned.exit_code, planned.stderr) == (begun.exit_code, begun.stderr)
    assert "holds another run" in planned.stderr


def test_a_dry_run_as_json_is_the_plan_record(invoke: Any, tmp_path: Path) -> None:
    done = invoke("run", "--task", "quick-1", "--dry-run", "--json", "--out", tmp_path / "run")
    assert json.loads(done.stdout)["to_run"] == 1


def test_without_out_the_same_command_continues_its_run(
    invoke: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = invoke("run", "--task", "quick-1")
    second = invoke("run", "--task", "quick-1")
    other = invoke("run", "--task", "quick-2")
    folders = sorted(path.name for path in Path("runs").iterdir())
    assert [first.exit_code, second.exit_code, other.exit_code] == [0, 0, 0]
    assert "begin quick-1" in first.stderr
    assert "begin quick-1" not in second.stderr
    assert len(folders) == 2
    assert all(name.startswith("toy-do-nothing") for name in folders), folders


def test_tasks_are_listed_with_their_groups(invoke: Any) -> None:
    everything = json.loads(invoke("tasks", "--json").stdout)
    done = invoke("tasks", "--group", "kind=wrong", "--limit", "1")
    assert done.stdout.splitlines() == [
        "task     kind   goal",
        "-------  -----  --------",
        "wrong-1  wrong  Be wrong",
        "",
        f"1 of {len(everything)} tasks",
    ]


def test_tasks_as_json_leave_the_expected_answers_out(invoke: Any) -> None:
    (record,) = json.loads(invoke("tasks", "--task", "quick-1", "--json").stdout)
    assert record["task_id"] == "quick-1"
    assert "config" not in record


def test_a_rescore_shows_what_differs(invoke: Any, tmp_path: Path) -> None:
    invoke("run", "--task", "quick-1,quick-2", "--out", tmp_path / "run")
    (tmp_path / "run" / "trials" / "1" / "quick-2" / "answer.txt").write_text("wrong")
    done = invoke("rescore", tmp_path / "run", "--name", "again")
    assert done.exit_code == 1
    assert "1 trials scored again" in done.stdout
    assert "1 of them differ\n1 could not be scored, most often because answer.txt" in done.stdout
    assert "quick-2" in done.stdout
    assert "quick-1" not in done.stdout


def test_a_rescore_that_can_score_nothing_falls_short(invoke: Any, tmp_path: Path) -> None:
    invoke("run", "--task", "quick-2", "--out", tmp_path / "run")
    (tmp_path / "run" / "trials" / "1" / "quick-2" / "answer.txt").write_text("wrong")
    done = invoke("rescore", tmp_path / "run", "--name", "again")
    assert (done.exit_code, "0 trials scored again" in done.stdout) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "--task", "nothing-1"), "toy has no task 'nothing-1'"),
        (("run", "--group", "kind=nothing"), "no task has 'nothing'"),
        (("run", "--max-cost", "5", "--model", "x:y"), "the price of 'x:y' is unknown"),
        (("run", "--group", "kind"), "is not of the form NAME=VALUE"),
        (("run", "--workers", "0"), "--workers"),
        (("rescore", "nowhere"), "does not exist"),
    ],
)
def test_input_errors_are_one_line_and_exit_code_two(
    invoke: Any, arguments: tuple[str, ...], message: str
) -> None:
    done = invoke(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert "Traceback" not in done.output


def group_that_raises(error: BaseException) -> click.Group:
    @runner_group("broken", "1.0")
    def main() -> None:
        """Break."""

    @main.command()
    def go() -> None:
        raise error

    return main


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError("the file is\nno file"), 2),
        (EnvironmentFaultError("the site is down \x1b[31m"), 1),
        (PermissionError(13, "Permission denied", "/nowhere/x"), 2),
        (ConnectionRefusedError(111, "Connection refused"), 1),
        (MemoryError(), 1),
        (RuntimeError("can't start new thread"), 1),
        (RuntimeError("unable to start watchdog thread"), 1),
        (KeyboardInterrupt(), 130),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_end_with_a_message_and_their_exit_code(error: BaseException, code: int) -> None:
    done = CliRunner(**APART).invoke(group_that_raises(error), ["go"])
    assert done.exit_code == code
    if not isinstance(error, KeyboardInterrupt):
        assert done.stderr.startswith("Error: ")
    assert "\x1b" not in done.stderr


def test_a_message_tells_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_API_KEY", "s3cret-of-the-toy")
    error = EnvironmentFaultError("the server said: bad key s3cret-of-the-toy")
    done = CliRunner(**APART).invoke(group_that_raises(error), ["go"])
    assert "bad key" in done.stderr
    assert "s3cret" not in done.stderr


def test_debug_shows_where_an_error_comes_from_and_keeps_the_exit_code() -> None:
    done = CliRunner(**APART).invoke(group_that_raises(InputError("no file")), ["--debug", "go"])
    assert done.exit_code == 2
    assert "in go\n" in done.stderr
    assert done.stderr.endswith("Error: no file\n")


def test_a_fault_of_ours_shows_where_it_was_and_has_the_exit_code_of_no_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TOY_API_KEY", "s3cret-of-the-toy")
    error = KeyError("s3cret-of-the-toy")
    done = CliRunner(**APART).invoke(group_that_raises(error), ["go"])
    assert done.exit_code == 70
    assert "in go\n" in done.stderr
    assert done.stderr.endswith("KeyError: '[REDACTED]'\n")


def test_a_file_that_cannot_be_used_is_named() -> None:
    error = PermissionError(13, "Permission denied", "/nowhere/x")
    done = CliRunner(**APART).invoke(group_that_raises(error), ["go"])
    assert done.stderr == "Error: cannot use /nowhere/x: Permission denied\n"


def test_a_link_to_nowhere_is_told(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "missing")
    error = FileExistsError(17, "File exists", str(link))
    done = CliRunner(**APART).invoke(group_that_raises(error), ["go"])
    assert done.stderr == f"Error: cannot use {link}: it is a link to what is not there\n"


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX closes the streams")
@pytest.mark.parametrize("streams", [">&-", "<&-", "2>&-", "<&- >&- 2>&-"])
def test_a_run_needs_no_streams(streams: str, tmp_path: Path) -> None:
    out = tmp_path / "run"
    environment = {**os.environ, "PROCTOR_LOCK_DIR": str(tmp_path / "locks")}
    command = f'"{sys.executable}" "{RUNNER}" run --task quick-1 --out "{out}" {streams}'
    done = subprocess.run(
        ["/bin/sh", "-c", command], capture_output=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert {each.score for each in read_run(out).results.values()} == {1.0}


def test_what_a_stream_cannot_say_is_written_out(tmp_path: Path) -> None:
    out = tmp_path / "l\u0142\u2026"
    done = subprocess.run(
        [sys.executable, RUNNER, "run", "--task", "quick-1", "--out", out],
        capture_output=True, check=False,
        env={**os.environ, "PYTHONIOENCODING": "latin-1", "PROCTOR_LOCK_DIR": str(tmp_path / "locks")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert b"l\\u0142\\u2026" in done.stdout + done.stderr


def test_the_version_is_shown() -> None:
    done = CliRunner(**APART).invoke(group_that_raises(InputError("")), ["--version"])
    assert done.stdout == "broken, version 1.0\n"


def doctor(*checks: Check, as_json: bool = False) -> Result:
    command = click.Command("doctor", callback=lambda: execute_doctor(checks, as_json=as_json))
    return CliRunner(**APART).invoke(command)


GOOD = Check("chromium", lambda: ok("156"))
POOR = Check("key", lambda: warned("OPENAI_API_KEY is not set", "export it"))
BAD = Check("gitlab", lambda: failed("http://x does not answer", "start it"))


def test_the_doctor_is_content_with_warnings() -> None:
    done = doctor(GOOD, POOR)
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "✓ chromium  156",
        "! key       OPENAI_API_KEY is not set",
        "            fix: export it",
        "",
        "1 ok, 1 to look at, 0 to fix",
    ]


def test_the_doctor_exits_with_one_when_something_must_be_fixed() -> None:
    assert doctor(GOOD, BAD).exit_code == 1


def test_a_check_that_breaks_has_failed() -> None:
    def explode() -> CheckResult:
        raise ConnectionError("refused")

    done = doctor(Check("docker", explode), as_json=True)
    report = json.loads(done.stdout)
    assert done.exit_code == 1
    assert report["ok"] is False
    assert report["checks"][0]["detail"] == "ConnectionError: refused"


def test_tables_align_numbers_right_and_hide_control_characters() -> None:
    table = render_table(("id", "n"), [("\x1b[31ma", 5), ("bb", 10), ("c", None)])
    assert table.splitlines() == ["id   n", "--  --", "a    5", "bb  10", "c    -"]


def test_a_narrow_table_keeps_the_id_which_is_copied() -> None:
    row = ("libreoffice_calc/" + "0" * 30, "a domain of some length", "word " * 30)
    table = render_table(("task", "domain", "goal"), [row], max_width=80)
    assert row[0] in table
    assert max(map(len, table.splitlines())) <= 80


def test_tables_shorten_their_widest_text_to_fit() -> None:
    table = render_table(("id", "goal"), [("1", "word " * 30)], one_line=True, max_width=40)
    assert max(len(line) for line in table.splitlines()) == 40


def test_output_into_a_closed_pipe_is_no_error() -> None:
    command = f"{sys.executable} {RUNNER} tasks | head -1"
    done = subprocess.run(
        ["/bin/sh", "-c", command], capture_output=True, text=True, check=True, env=dict(os.environ)
    )
    assert done.stdout.startswith("task")
    assert done.stderr == ""


def test_the_checks_of_a_planned_run_name_what_it_would_be_refused_for() -> None:
    (wrong,) = agent_checks("do-nothin")
    assert (wrong.run().status, "did you mean 'do-nothing'?" in wrong.run().detail) == (
        "fail",
        True,
    )
    (agent,) = agent_checks("do-nothing")
    (price,) = price_checks("openai:no-such-model")
    assert (agent.run().status, price.run().status) == ("ok", "warn")
    assert "--max-cost is refused" in price.run().detail
    (unfit,) = agent_checks("tool-calling")
    found = unfit.run()
    assert found.status == "fail"
    assert "needs a model" in found.detail
    assert "--model" in found.fix
    assert [*agent_checks(None), *price_checks(None)] == []


def test_an_option_of_a_runner_without_a_panel_is_in_the_last() -> None:
    main = click.Group()

    @common_command(main, click.option("--own", help="Mine."), agent="toy")
    def run(**_: object) -> None:
        """Run toys."""

    shown = CliRunner().invoke(main, [run.__name__, "--help"]).output
    assert "Run toys." in shown
    before, _, last = shown.partition("\nMore:\n")
    assert "--own" in last
    assert "--own" not in before
