"""On a terminal of 80 columns no command writes a wider line, breaks a word or shortens what readers copy."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from llm_judge import samples

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")

COLUMNS = 80
STORED = Path(__file__).parent / "stored_runs"
CASE = samples.folder() / "dinner.json"
WRONG = samples.folder() / "dinner-wrong-time.json"
REPLAY = f"replay:{samples.cassette()}"
NOWHERE = "http://127.0.0.1:9"

COMMANDS = f"""
bench-core check webarena
bench-core machines list --folder .
bench-core nodes doctor
bench-core plugins
bench-core run multireal --agent do-nothing
bench-core tasks waa
bench-report build webarena webarena-2 waa --out report
bench-report build webarena webarena-2 --out report
bench-report compare waa --against waa-2
bench-report compare webarena --against webarena-2
bench-report gate webarena --against webarena-2
bench-report plan --pilot webarena
bench-report plan --tasks 30 --tasks 812 --difference 10pp
bench-report watch --once multireal
llm-judge batch {CASE} -m {REPLAY} --out verdicts.jsonl
llm-judge demo
llm-judge judge {CASE} -m {REPLAY}
llm-judge judge {WRONG} -m {REPLAY}
llm-judge lint {CASE}
llm-judge models
multireal-harness lint --tasks-dir built-in
multireal-harness rescore multireal
multireal-harness run --world built-in --agent do-nothing --dry-run
multireal-harness tasks --world built-in
multireal-harness tasks --world built-in --checkers -t dining-mail-2
waa-client compare waa waa-2
waa-client doctor --vm {NOWHERE} --evaluate {NOWHERE}
waa-client probe --vm {NOWHERE}
waa-client run --world built-in --agent do-nothing --dry-run
waa-client tasks --world built-in
waa-client tasks --world built-in --health
webarena-runner config init --out sites.yaml
webarena-runner doctor --world built-in
webarena-runner rescore webarena
webarena-runner run --world built-in --agent do-nothing --dry-run
webarena-runner scorability
webarena-runner sites status --config sites.yaml
webarena-runner tasks
webarena-runner tasks --world built-in
""".strip().splitlines()

CHILD = """
import json, sys
from importlib.metadata import entry_points
for line in json.loads(sys.argv[1]):
    program, *words = line.split()
    (script,) = entry_points(group="console_scripts", name=program)
    print(end="\\0", flush=True)
    try:
        script.load().main(words, prog_name=program)
    except SystemExit as left:
        assert left.code != 70, line
"""


def written(folder: Path) -> dict[str, str]:
    """Return what each command writes to a terminal."""
    import fcntl
    import pty
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    environ = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, json.dumps(COMMANDS)],
        cwd=folder, env=environ, stdin=theirs, stdout=theirs, stderr=theirs,
    ) as running:  # fmt: skip
        os.close(theirs)
        read = bytearray()
        try:
            while piece := os.read(ours, 1 << 16):
                read += piece
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    assert running.returncode == 0, read[-2000:].decode(errors="replace")
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", read.decode()).replace("\r\n", "\n")
    return dict(zip(COMMANDS, shown.split("\0")[1:], strict=True))


def cells(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in line)


def is_one_word(line: str) -> bool:
    """Return whether what is too wide for a terminal has no place where it could be broken: a URL, a path."""
    return cells(line.rsplit(maxsplit=1)[-1]) > COLUMNS // 3


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("terminal")
    for benchmark in ("multireal", "waa", "webarena"):
        shutil.copytree(STORED / benchmark / "scripted", folder / benchmark)
        shutil.copytree(STORED / benchmark / "do-nothing", folder / f"{benchmark}-2")
    return written(folder)


def test_no_line_is_wider_than_the_terminal(shown: dict[str, str]) -> None:
    lines = [(name, line) for name, text in shown.items() for line in text.split("\n")]
    wide = [each for each in lines if cells(each[1]) > COLUMNS and not is_one_word(each[1])]
    assert wide == []
    assert not [name for name, text in shown.items() if "Traceback" in text or not text.strip()]


def test_no_id_of_a_task_is_shortened(shown: dict[str, str]) -> None:
    for name, text in shown.items():
        if " tasks" in name and "--world" in name and "--checkers" not in name:
            ids = [line.split(" ")[0] for line in text.split("\n")]
            assert not [each for each in ids if each.endswith("…")]
            assert len(ids) > 2


def test_tasks_that_are_looked_at_have_their_ids_beside_each_part(shown: dict[str, str]) -> None:
    known = {
        line.split(" ")[0]
        for line in shown["waa-client tasks --world built-in"].split("\n")
        if "/" in line.split(" ")[0]
    }
    health = shown["waa-client tasks --world built-in --health"]
    assert {word for word in health.split() if re.match(r"[a-z_]+/[0-9a-fA-F]{8}-", word)} <= known


def test_a_connection_that_is_refused_has_one_remedy(shown: dict[str, str]) -> None:
    assert shown[f"waa-client probe --vm {NOWHERE}"].count("fix:") == 1
