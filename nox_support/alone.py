"""Each package alone in an empty environment: its demo without a network, and how much is installed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from nox_support.offline import offline

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["DEMOS", "MOST_MB", "AloneError", "Demo", "megabytes", "show"]

MOST_MB = 340
"""The most that webarena-runner and bench-report may install, in millions of bytes."""
_PIP = re.compile(r"`pip install '?([\w.\[\],=-]+)'?`")
_STOPPED = {0, 130}
"""What a server ends with after Ctrl-C: 130 where that came before it began to wait for it."""
_SHOWN_LINES = 20
_SIZES = """
import importlib.metadata as m, json, pathlib
print(json.dumps({d.metadata["Name"]: sum(
    path.stat().st_size for f in d.files or () if f.suffix != ".pyc"
    and (path := pathlib.Path(d.locate_file(f))).is_file()) for d in m.distributions()}))
"""


class AloneError(Exception):
    """A package does not do alone what its page says."""


class Demo(NamedTuple):
    """A command line that shows what a package does.

    Attributes:
        line: The command line, without a network.
        folder: Where, below that of the demo.
        refused: Whether it must first be refused with the `pip install` that it needs, which is then run.
        until: It serves until Ctrl-C; this it says where it is ready.
    """

    line: str
    folder: str = "."
    refused: bool = False
    until: str | None = None


DEMOS = {
    "bench-core": [
        Demo("bench-core new benchmark my-sums"),
        Demo("bench-core run my_sums:MySums --agent do-nothing", folder="my-sums"),
    ],
    "bench-report": [Demo("bench-report demo")],
    "llm-judge": [Demo("llm-judge demo")],
    "multireal-harness": [Demo("multireal-harness demo")],
    "waa-client": [Demo("waa-client demo", refused=True)],
    "waa-server-ext": [
        Demo(
            "waa-server-ext simulate --evaluate --port 0 --evaluate-port 0",
            refused=True,
            until="answers at http",
        )
    ],
    "webarena-runner": [Demo("webarena-runner demo")],
}
"""What each package shows, installed alone into an empty environment."""


def show(demo: Demo, environment: Path, folder: Path, install: Callable[[str], None]) -> str:
    """Run a demo where its package is installed alone; return what was done, in a line.

    Args:
        demo: The command.
        environment: The virtual environment.
        folder: Where files of the demo go.
        install: Installs one requirement, with a network.

    Raises:
        AloneError: It ended in another way than its page says.
    """
    place = folder / demo.folder
    place.mkdir(parents=True, exist_ok=True)
    told = ""
    if demo.refused:
        done = _run(demo.line, environment, place)
        named = _PIP.search(done.stdout)
        if done.returncode == 0 or named is None or "Traceback" in done.stdout:
            raise AloneError(f"{demo.line} does not say what to install:\n{_last(done.stdout)}")
        install(named[1])
        told = f", after `pip install {named[1]}`, which it asked for"
    if demo.until is not None:
        _serve(demo.line, demo.until, environment, place)
    else:
        done = _run(demo.line, environment, place)
        if done.returncode:
            raise AloneError(f"{demo.line} ended with {done.returncode}:\n{_last(done.stdout)}")
    return f"{demo.line}, without a network{told}"


def megabytes(python: Path) -> float:
    """Return how many millions of bytes the packages of an environment have, pip and compiled files left out."""
    done = subprocess.run([python, "-c", _SIZES], check=True, capture_output=True, text=True)  # noqa: S603  # our own words
    sizes = json.loads(done.stdout)
    return float(
        sum(size for name, size in sizes.items() if name not in {"pip", "setuptools"}) / 1e6
    )


def _environ(environment: Path) -> dict[str, str]:
    scripts = environment / ("Scripts" if os.name == "nt" else "bin")
    left = {k: v for k, v in os.environ.items() if k not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    return left | {"PATH": os.pathsep.join([str(scripts), os.environ["PATH"]])}


def _run(line: str, environment: Path, place: Path) -> subprocess.CompletedProcess[str]:
    words, variables = offline(line.split())
    return subprocess.run(  # noqa: S603  # our own words
        words, cwd=place, env=_environ(environment) | variables, check=False, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def _serve(line: str, ready: str, environment: Path, place: Path) -> None:
    """Start what serves until Ctrl-C, and stop it where it says that it is ready."""
    words, variables = offline(line.split())
    environ = _environ(environment) | variables | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(  # noqa: S603  # our own words
        words, cwd=place, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        assert server.stdout is not None  # noqa: S101  # for mypy: it is a pipe
        said = []
        for each in server.stdout:
            said.append(each)
            if ready in each:
                server.send_signal(signal.SIGINT)
    text = "".join(said)
    if server.returncode not in _STOPPED or ready not in text:
        raise AloneError(f"{line} ended with {server.returncode}:\n{_last(text)}")


def _last(text: str) -> str:
    return "\n".join(text.splitlines()[-_SHOWN_LINES:])
