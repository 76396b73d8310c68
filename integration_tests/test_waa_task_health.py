"""The notes on WAA's published tasks are what their evaluators give on a desktop where nothing was done."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from waa_client.task_checks import check_idle
from waa_client.task_health import task_notes
from waa_client.tasks import load_tasks

if TYPE_CHECKING:
    from collections.abc import Iterator

DESKTOPS = 4
"""As many evaluations at once: one mostly sleeps, as its task says."""
_UNKNOWN_HERE = re.compile(r"DownloadError|no browser debugs")


@pytest.fixture
def published() -> Path:
    folder = Path(os.environ.get("PROCTOR_DATA", "../shared/data")) / "waa"
    if not (folder / "examples").is_dir():
        pytest.skip(f"{folder} has no WAA tasks: set PROCTOR_DATA")
    return folder.resolve()


@contextmanager
def served(folder: Path, *arguments: str) -> Iterator[str]:
    """Run waa-server-ext and return the address that it prints first."""
    command = [str(Path(sys.executable).with_name("waa-server-ext")), *arguments]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                    yield found[0]
                    break
        finally:
            process.terminate()


@contextmanager
def evaluator(folder: Path, tasks: Path) -> Iterator[str]:
    """Run a desktop and its evaluator, in a folder of their own, and return the evaluator's address."""
    folder.mkdir()
    with served(folder, "simulate", "--port", "0") as vm:
        serve = (
            "serve",
            "--vm",
            vm.removeprefix("http://"),
            "--tasks-dir",
            str(tasks),
            "--cdp",
            "127.0.0.1:9",
            "--offline",
            "--port",
            "0",
        )
        with served(folder, *serve) as url:
            yield url


def test_notes_are_what_evaluators_give_on_an_idle_desktop(tmp_path: Path, published: Path) -> None:
    tasks = load_tasks(published)
    with ExitStack() as stack:
        urls = [
            stack.enter_context(evaluator(tmp_path / str(number), published))
            for number in range(DESKTOPS)
        ]
        with ThreadPoolExecutor(DESKTOPS) as pool:
            parts = [tasks[number::DESKTOPS] for number in range(DESKTOPS)]
            seen = [note for notes in pool.map(check_idle, parts, urls) for note in notes]
    noted = {kind: {n.task_id for n in task_notes(tasks) if n.kind == kind}
             for kind in ("idle", "unprepared", "no-score", "gold-host", "live-browser")}  # fmt: skip
    scoring = {note.task_id for note in seen if note.kind == "idle"}
    # VLC, whose untouched settings pass, is not on the simulated desktop
    assert {each for each in noted["idle"] if not each.startswith("vlc/")} < scoring
    assert scoring <= noted["idle"] | noted["unprepared"]
    assert noted["unprepared"] < scoring
    unknown = {n.task_id for n in seen if _UNKNOWN_HERE.search(n.reason)}
    assert unknown <= noted["gold-host"] | noted["live-browser"]
    raising = {note.task_id for note in seen if note.kind == "no-score"} - unknown
    assert raising == noted["no-score"]
