"""The command says what it can do without loading what does it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import waa_server_ext
from bench_core.errors import pip_install
from waa_server_ext.cli import main
from waa_server_ext.vm.client import vm_address
from waa_server_ext.wine.building import RECORD

MINIATURE = Path(__file__).parent / "miniature"


def test_version_names_the_distribution() -> None:
    result = CliRunner().invoke(main, ["--version"])
    assert result.exit_code == 0
    assert result.output == f"waa-server-ext, version {waa_server_ext.__version__}\n"


def test_help_loads_neither_flask_nor_httpx_nor_pydantic() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from waa_server_ext.cli import main;"
        "CliRunner().invoke(main, ['--help']);"
        "print([m for m in ('flask', 'httpx', 'pydantic', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--vm", "1.2.3.4", "--host", "0.0.0.0", "--no-token"], "serve it with a token"),
        (["--vm", "1.2.3.4:x"], "is not host or host:port"),
        (["--vm", "https://1.2.3.4"], "is not host or host:port, nor http:// and one of these"),
        (["--vm", "http://1.2.3.4/x"], "nor http:// and one of these"),
        (
            ["--vm", "nohost", "--tasks-dir", str(Path(__file__).parent / "miniature")],
            "holds no tasks",
        ),
        (["--vm", "1.2.3.4:5001", "--waa-checkout", str(MINIATURE)], "port 5000 only"),
        (["--vm", "1.2.3.4", "--waa-checkout", "."], "is not a Windows Agent Arena checkout"),
        (["--vm", "1.2.3.4", "--waa-checkout", ".", "--fidelity", "fixed"], "leave --waa-checkout"),
        (["--vm", "1.2.3.4", "--tasks-dir", "nowhere"], "there is no folder of tasks at nowhere"),
    ],
)
def test_serving_what_cannot_be_served_is_an_input_error(
    options: list[str], why: str, tmp_path: Path
) -> None:
    result = CliRunner().invoke(main, ["serve", "--cache", str(tmp_path), *options])
    assert result.exit_code == 2
    assert why in " ".join(result.output.split())


def test_an_unknown_command_is_a_usage_error_that_names_the_nearest() -> None:
    done = subprocess.run(  # a new process, which has imported no command
        [sys.executable, "-c", "from waa_server_ext.cli import main; main()", "sreve"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    nearest = " Did you mean 'serve'?" if hasattr(click.exceptions, "NoSuchCommand") else ""
    assert done.returncode == 2
    assert done.stderr.endswith(f"Error: No such command 'sreve'.{nearest}\n")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["assets", "fetch", "--tasks-dir", "{folder}"], "holds no tasks"),
        (["assets", "list", "--assets", "{folder}/none"], "there is no folder"),
        (["evaluate", "{folder}/a task.json", "--files", "{folder}"], "a task.json is not JSON"),
    ],
)
def test_what_is_not_there_or_not_readable_is_an_input_error(
    arguments: list[str], why: str, tmp_path: Path
) -> None:
    (tmp_path / "a task.json").write_text("{broken")
    result = CliRunner().invoke(main, [each.format(folder=tmp_path) for each in arguments])
    assert result.exit_code == 2
    assert why in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (["serve", "--vm", "1.2.3.4"], "there is no folder of tasks at nowhere"),
        (["assets", "fetch"], "there is no folder of tasks at nowhere"),
        (["simulate", "--port", "0", "--task", "notepad/x"], "there is no folder of tasks"),
    ],
)
def test_a_folder_of_tasks_that_is_not_there_is_told(
    command: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, [*command, "--tasks-dir", "nowhere"])
    assert (result.exit_code, why in " ".join(result.stderr.split())) == (2, True)


def test_serving_a_folder_with_a_file_that_is_no_task_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "notepad").mkdir()
    (tmp_path / "notepad" / "a.json").write_text("[]", encoding="utf-8")

    options = ["--cache", str(tmp_path), "--vm", "nohost", "--tasks-dir", str(tmp_path)]
    result = CliRunner().invoke(main, ["serve", *options])

    assert result.exit_code == 2
    assert "a.json holds list, not an object" in " ".join(result.output.split())


def test_the_vm_may_be_given_as_a_url() -> None:
    assert vm_address("http://10.0.0.1:5001") == ("10.0.0.1", 5001)
    assert vm_address("http://[::1]:5001/") == ("[::1]", 5001)
    assert vm_address("http://waa-vm") == ("waa-vm", 5000)


def test_a_simulation_without_its_extra_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['rapidfuzz'] = None\n"
        "from waa_server_ext.cli import main; main(['simulate', '--port', '0'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert f"`{pip_install('waa-server-ext[simulate]')}` adds it" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["build", ".", "--out", "machine"], "is not a Windows Agent Arena checkout"),
        (["build", "PART", "--out", "machine"], "give a whole checkout"),
        (["build", "CHECKOUT", "--out", "."], "exists already"),
        (["build", "CHECKOUT", "--out", "machine"], "apt-get install wine wine64 xvfb openbox"),
        (["serve", "nowhere"], "is not a Wine machine: make one with"),
        (["serve", "BUILT"], "needs wine, Xvfb, openbox"),
    ],
)
def test_a_machine_under_wine_that_cannot_be_built_or_started_says_why(
    arguments: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    shutil.copytree(MINIATURE, tmp_path / "CHECKOUT")
    shutil.copytree(MINIATURE, tmp_path / "PART", ignore=shutil.ignore_patterns("main.py"))
    (tmp_path / "BUILT").mkdir()
    (tmp_path / "BUILT" / RECORD).touch()
    result = CliRunner().invoke(main, ["wine", *arguments])
    assert result.exit_code == 2
    assert why in " ".join(result.output.split())
    assert not (tmp_path / "machine").exists()
