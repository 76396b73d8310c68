"""Run the commands of the first-hour pages as they are written, each page in an empty environment.

`python -m nox_support.first_hours [PAGE ...]` makes a virtual environment and a folder for each page, installs
from `dist/` what the page says, and runs its `console` blocks line by line. A comment `# exit code N` behind a
command is part of what the page promises; what serves until Ctrl-C goes on until the page ends. It
prints a line for each command and a table at the end.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import venv
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nox_support.command_lines import lines_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["MOST_COMMANDS", "PAGES", "main"]

ROOT = Path(__file__).resolve().parent.parent
PAGES = {
    "agent author": "own-agent.md",
    "judge user": "first-judge.md",
    "WAA user": "waa-simulated-desktop.md",
    "paper author": "first-paper.md",
    "study author": "studies.md",
}
MOST_COMMANDS = 40
_FAILED_LINES = 20
_SERVES = "waa-server-ext simulate --evaluate"
_SHOWN_ALONE = "waa-server-ext simulate --scene"  # its file is shown and not written
_READY = "Ctrl-C stops"


class Hour(NamedTuple):
    """How one page went: seconds of installation and of everything else."""

    user: str
    commands: int
    installing_s: float
    waiting_s: float
    failed: str | None


def main(chosen: list[str]) -> int:
    """Run the pages of the users `chosen`, or all; return 1 where one did not hold."""
    hours = [run_page(user, PAGES[user]) for user in chosen or PAGES]
    print(f"\n{'user':14} {'commands':>8} {'install':>9} {'the rest':>9}")
    for each in hours:
        end = f"  failed: {each.failed}" if each.failed else ""
        row = f"{each.user:14} {each.commands:8} {each.installing_s:7.0f} s {each.waiting_s:7.0f} s"
        print(row + end)
    return int(any(each.failed or each.commands >= MOST_COMMANDS for each in hours))


def run_page(user: str, page: str) -> Hour:
    """Run one page in a new folder and environment."""
    print(f"\n{user}: docs/{page}", flush=True)
    with tempfile.TemporaryDirectory(prefix="first-hour-") as made, ExitStack() as serving:
        place = Path(made)
        venv.create(place / "venv", with_pip=True)
        environ = _environ(place / "venv")
        folder = place / "work"
        folder.mkdir()
        installing_s = waiting_s = 0.0
        for number, shown in enumerate(lines_of(ROOT / "docs" / page), 1):
            if shown.moves_to:
                folder = folder / shown.moves_to
                continue
            if shown.text.startswith(_SHOWN_ALONE):
                continue
            if shown.text.startswith(_SERVES):
                serving.enter_context(_served(shown.text, folder, environ))
                continue
            started = time.monotonic()
            done = subprocess.run(  # noqa: S603  # the commands of our own pages
                ["bash", "-c", shown.text], cwd=folder, env=environ, stdin=subprocess.DEVNULL,  # noqa: S607  # a shell, as a reader has one
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            )  # fmt: skip
            took = time.monotonic() - started
            print(f"{took:7.1f} s  exit {done.returncode}  {shown.text}", flush=True)
            if shown.text.startswith("pip install"):
                installing_s += took
            else:
                waiting_s += took
            if done.returncode != (shown.code or 0):
                print("\n".join(done.stdout.splitlines()[-_FAILED_LINES:]))
                return Hour(user, number, installing_s, waiting_s, shown.text)
    return Hour(user, number, installing_s, waiting_s, None)


@contextmanager
def _served(command: str, folder: Path, environ: Mapping[str, str]) -> Iterator[None]:
    """Run what serves until Ctrl-C, as a reader does in a terminal of its own, from when it says that it serves."""
    with subprocess.Popen(  # noqa: S603  # the commands of our own pages
        shlex.split(command), cwd=folder, env=environ, stdout=subprocess.PIPE, text=True
    ) as running:  # fmt: skip
        said = next((line for line in running.stdout or () if _READY in line), None)
        print(f"{'':16}  serves  {command}" if said else f"did not serve: {command}", flush=True)
        try:
            yield
        finally:
            running.send_signal(signal.SIGINT)


def _environ(environment: Path) -> dict[str, str]:
    scripts = environment / ("Scripts" if os.name == "nt" else "bin")
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in {"PYTHONPATH", "VIRTUAL_ENV"}
    }
    return kept | {
        "PATH": os.pathsep.join([str(scripts), os.environ["PATH"]]),
        "PIP_FIND_LINKS": str(ROOT / "dist"),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_QUIET": "1",
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
