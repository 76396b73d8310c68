"""A wrong invocation ends with one sentence that names the thing and the way out."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from click.testing import CliRunner

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = Path(__file__).parent
LINE = re.compile(r"(?P<command>.+?) => (?:\[(?P<code>\d+)\] )?(?P<said>.+)")
AS_PROCESSES = 8
"""How many are run as processes, too; the others share this one."""


class Wrong(NamedTuple):
    """A line of the list."""

    command: str
    code: int
    said: str


def wrong_invocations() -> list[Wrong]:
    """Return the lines of the list."""
    text = (HERE / "wrong_invocations.txt").read_text(encoding="utf-8")
    lines = [each for each in text.splitlines() if each and not each.startswith("#")]
    found = [LINE.fullmatch(each) for each in lines]
    assert None not in found, lines
    return [Wrong(each["command"], int(each["code"] or 2), each["said"]) for each in found if each]


LIST = wrong_invocations()
CASES = [
    pytest.param(each, id="-".join([*re.findall(r"[A-Za-z0-9]+", each.command)[:6], str(number)]))
    for number, each in enumerate(LIST)
]


@pytest.fixture
def places(tmp_path: Path) -> Mapping[str, str]:
    """What the braces of the list stand for."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "in-use").mkdir()
    (tmp_path / "in-use" / "notes.txt").write_text("mine")
    written = {
        "garbage.json": "{]",
        "case.json": json.dumps({"goal": "Buy a lamp.", "criteria": ["A lamp."], "state": {}}),
        "unknown-key.json": json.dumps({"golas": "Buy a lamp.", "criteria": ["A lamp."]}),
        "my_agent.py": "class MyAgent:\n    name = 'mine'\n",
        "sites.yaml": "sites:\n  gitlb:\n    url: http://127.0.0.1:9\n",
        "misspelt.yaml": "sites:\n  gitlab:\n    urll: http://127.0.0.1:9\n",
        "torn.yaml": "sites: [a\n",
        "list.json": "[1, 2]",
        "scene.yaml": "windows: 3\n",
        "vm-alone.json": '{"command": ["vm"], "urls": {"vm": "http://127.0.0.1:{port}"}}',
    }
    for name, text in written.items():
        (tmp_path / name).write_text(text)
    shutil.copytree(HERE / "stored_runs/webarena/scripted", tmp_path / "run")
    (tmp_path / "newer").mkdir()
    (tmp_path / "newer" / "run.json").write_text('{"schema_version": 999}')
    return {
        "run": "run", "missing": "absent.json", "folder": "folder", "new": "new.json",
        "folder_in_use": "in-use", "garbage": "garbage.json", "case": "case.json",
        "unknown_key": "unknown-key.json", "unknown_site": "sites.yaml", "misspelt": "misspelt.yaml",
        "torn": "torn.yaml", "list": "list.json", "scene": "scene.yaml", "newer": "newer", "vm_alone": "vm-alone.json",
    }  # fmt: skip


def one_message(text: str) -> str:
    """Return the message of what a command wrote to standard error."""
    assert "Traceback" not in text
    assert "pydantic" not in text
    assert "validation error" not in text
    messages = re.findall(r"^Error: (.+(?:\n.+)*)", text, re.MULTILINE)
    assert len(messages) == 1, text
    return str(messages[0])


def test_the_list_has_a_hundred_lines() -> None:
    assert len({each.command for each in LIST}) == len(LIST) >= 100


@pytest.mark.parametrize("each", CASES)
def test_a_wrong_invocation_says_what_is_wrong_and_the_way_out(
    each: Wrong, places: Mapping[str, str], tmp_path: Path
) -> None:
    program, *words = each.command.format_map(places).split()
    (script,) = entry_points(group="console_scripts", name=program)
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        done = CliRunner(catch_exceptions=False).invoke(script.load(), words)
    finally:
        os.chdir(before)
    assert done.exit_code == each.code, done.output
    assert each.said.format_map(places) in one_message(done.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("each", CASES[:: len(CASES) // AS_PROCESSES])
def test_a_wrong_invocation_is_the_same_as_a_process(
    each: Wrong, places: Mapping[str, str], tmp_path: Path
) -> None:
    program, *words = each.command.format_map(places).split()
    command = [Path(sys.executable).with_name(program), *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (each.code, "")
    assert each.said.format_map(places) in one_message(done.stderr)
