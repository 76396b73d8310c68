"""Command lines of cmd.exe and PowerShell are carried out, not matched."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from waa_server_ext.simulate.code.cmd import CmdShell
from waa_server_ext.simulate.desktop.composition import Desktop
from waa_server_ext.simulate.machine.computer import Machine

if TYPE_CHECKING:
    from pathlib import Path

_DOWNLOADS = "C:\\Users\\Docker\\Downloads"


@pytest.fixture
def shell(desktop: Desktop) -> CmdShell:
    return CmdShell(desktop)


def test_pipes_and_redirections(shell: CmdShell) -> None:
    result = shell.run(
        f'echo one > "{_DOWNLOADS}\\a.txt" & echo two >> "{_DOWNLOADS}\\a.txt" && type "{_DOWNLOADS}\\a.txt" | findstr tw'
    )
    assert (result.code, result.output) == (0, "two \n")
    assert shell.machine.files.read(f"{_DOWNLOADS}\\a.txt") == b"one \r\ntwo \r\n"


@pytest.mark.parametrize(
    ("line", "output"),
    [("type no.txt && echo yes", ""), ("type no.txt || echo no", "no\n"), ("echo a & echo b", "a \nb\n"),
     ("cd /d C:\\Windows && cd", "C:\\Windows\n"), ("set X=5& echo %USERNAME%", "Docker\n"), ("ver | findstr /v Windows", "\n"),
     ('echo "a b" c', '"a b" c\n'), ("whoami", "winarena\\docker\n")],
)  # fmt: skip
def test_conditions_and_variables(shell: CmdShell, line: str, output: str) -> None:
    assert shell.run(line).output == output


def test_the_set_up_of_the_empty_folders_task_runs_as_sent(shell: CmdShell) -> None:
    made = ["rmdir", "/s", "/q", f"{_DOWNLOADS}\\Photos", "|", "mkdir", f"{_DOWNLOADS}\\Photos", "|", "echo",
            "Hello World 1", ">", f"{_DOWNLOADS}\\Photos\\HelloWorld1.txt"]  # fmt: skip
    shell.start(["cmd", "/c", *made])
    assert shell.machine.files.is_file(f"{_DOWNLOADS}\\Photos\\HelloWorld1.txt")
    listing = shell.start(["cmd", "/c", f"dir {_DOWNLOADS}\\"]).output
    assert "Photos" in listing
    assert " Directory of " in listing


def test_the_registry_is_one_for_reg_and_powershell(shell: CmdShell) -> None:
    key = "HKCU\\Software\\Microsoft\\Windows\\CurrentVersion\\Explorer\\Advanced"
    shell.start(
        ["cmd", "/c", "reg", "add", key, "/v", "Hidden", "/t", "REG_DWORD", "/d", "1", "/f"]
    )
    assert shell.machine.show_hidden
    assert (
        "REG_DWORD    0x1" in shell.start(["cmd", "/c", "reg", "query", key, "/v", "Hidden"]).output
    )
    path = key.replace("HKCU", "HKCU:")
    asked = f"Get-ItemPropertyValue -Path '{path}' -Name 'Hidden'"
    assert shell.start(["powershell", "-Command", asked]).output == "1\n"
    shell.start(
        ["powershell", "-Command", f"Set-ItemProperty -Path '{path}' -Name 'Hidden' -Value '2'"]
    )
    assert not shell.machine.show_hidden


def test_a_missing_value_is_an_error_in_red(shell: CmdShell) -> None:
    result = shell.start(
        ["powershell", "-Command", "Get-ItemPropertyValue -Path 'HKCU:\\No' -Name 'X'"]
    )
    assert (result.code, result.output) == (1, "")
    assert "does not exist" in result.error


@pytest.mark.parametrize(
    ("command", "output"),
    [("if (Test-Path -Path 'C:\\Users\\Docker\\Desktop') { 'there' }", "there\n"),
     ("if (Test-Path -Path 'C:\\no') { 'there' } else { 'gone' }", "gone\n"),
     ("'b','a' | Out-Null; 'x'", "x\n"), ("$a = 'hi'; $a", "hi\n"),
     ("(Get-TimeZone).Id", None),
     ("Get-TimeZone | Select-Object -ExpandProperty StandardName", "UTC\n"),
     ("if (-not (Test-Path C:\\no)) { 'no' }", "no\n"),
     ("New-Item -ItemType Directory -Force -Path C:\\a\\b | Out-Null; Test-Path C:\\a\\b", "True\n"),
     ("Set-Content -Path C:\\n.txt -Value 'x y'; Get-Content C:\\n.txt", "x y\n")],
)  # fmt: skip
def test_powershell_lines(shell: CmdShell, command: str, output: str | None) -> None:
    result = shell.start(["powershell", "-Command", command])
    if output is None:
        assert result.code in {0, 1}
    else:
        assert (result.output, result.error) == (output, "")


def test_objects_become_json(shell: CmdShell) -> None:
    line = 'powershell -Command "Get-AppxPackage | Select-Object Name,PackageFullName | ConvertTo-Json"'
    packages = json.loads(shell.start(line).output)
    assert {"Name", "PackageFullName"} == set(packages[0])
    zone = json.loads(
        shell.start(
            [
                "powershell",
                "-Command",
                "Get-TimeZone | Select-Object -Property DisplayName, StandardName | ConvertTo-Json",
            ]
        ).output
    )
    assert zone == {"DisplayName": "(UTC) Coordinated Universal Time", "StandardName": "UTC"}


def test_processes_are_windows(shell: CmdShell) -> None:
    shell.desktop.programs.launch(["mspaint"])
    assert "mspaint.exe" in shell.run("tasklist").output
    assert shell.run("taskkill /F /IM mspaint.exe").code == 0
    assert shell.run("taskkill /F /IM mspaint.exe").code == 128
    assert shell.desktop.windows == []


def test_extensions_of_the_editor_are_listed_and_installed(shell: CmdShell) -> None:
    shell.start(["cmd", "/c", "code", "--install-extension", "ms-python.python"])
    line = ["cmd", "/c", "code", "--list-extensions", "|", "findstr", "ms-python.python"]
    assert shell.start(line).output == "ms-python.python\n"
    assert (
        shell.start(["cmd", "/c", "code", "--list-extensions", "|", "findstr", "other"]).output
        == ""
    )


def test_large_files_take_no_memory(shell: CmdShell) -> None:
    shell.run(f"fsutil file createnew {_DOWNLOADS}\\testing.bin 15000000")
    entry = shell.machine.files.entry(f"{_DOWNLOADS}\\testing.bin")
    assert (entry.size, entry.data) == (15_000_000, b"")


def test_every_command_of_the_evaluation_cases_is_understood(
    golden: list[dict[str, Any]], shell: CmdShell
) -> None:
    for case in golden:
        for call in case["vanilla_http"]:
            command = call.get("json", {}).get("command")
            if (
                call["path"] == "/execute"
                and isinstance(command, list)
                and command[0] in {"cmd", "powershell"}
            ) and command[2] not in {"one", "two"}:
                assert "not recognized" not in shell.start(command).error, command


def test_every_set_up_command_of_the_tasks_is_understood(waa_data: Path) -> None:
    for path in sorted((waa_data / "examples").glob("*/*.json")):
        for step in json.loads(path.read_text(encoding="utf-8"))["config"]:
            if step["type"] in {"command", "execute"}:
                command = step["parameters"]["command"]
                error = CmdShell(Desktop(Machine.fresh())).start(command).error
                assert "not recognized" not in error, (path.stem, command, error)


@given(st.text(alphabet="ab &|<>\"'^%()/\\;{}$-.*?:c\n", max_size=40))
@settings(max_examples=200)
def test_no_line_breaks_a_shell(text: str) -> None:
    desktop = Desktop(Machine.fresh())
    assert isinstance(CmdShell(desktop).run(text).code, int)
    assert isinstance(CmdShell(desktop).start(["powershell", "-Command", text]).code, int)
