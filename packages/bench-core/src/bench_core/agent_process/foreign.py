"""The program that an agent runs in, if not the run's: an interpreter, an environment made by uv, or a command."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_core.agent_process.uv_environments import environment_of
from bench_core.errors import InputError, pip_install
from bench_core.records import AgentProgram

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from bench_core.run_spec import AgentProcessSpec
    from bench_core.sealing.files import SealedFiles

_SHOWN = 16
_ENDINGS = ("", ".js", ".mjs", ".cjs", ".ts", ".json", "/index.js", "/index.mjs")
_SCRIPTS = frozenset({".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx"})
_RELATIVE = re.compile(r"""["'](\.{1,2}/[^"'\n]+)["']""")
_PYTHON_IMPORT = re.compile(r"^\s*(?:from|import)\s+(\w+)", re.MULTILINE)
_BESIDE = ("package.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock")
"""Files that fix the versions of a script's packages."""
_UV = "uv:"
_PROBE_S = 120.0
_OF_TOOLS = frozenset({"pip", "uv", "wheel"})
"""Installers of packages, which are not part of the program."""
_OF_THE_RUN = frozenset({"VIRTUAL_ENV", "PYTHONHOME", "PYTHONPATH", "CONDA_PREFIX"})
"""Variables that would make another interpreter import this one's packages."""
_PROBE = """
import json, platform, re, sys
from importlib import metadata
found = {}
for each in metadata.distributions():
    name = each.metadata["Name"]
    if name:
        found.setdefault(re.sub(r"[-_.]+", "-", name).lower(), each.version)
print()
print(json.dumps({
    "python": platform.python_implementation() + " " + platform.python_version(),
    "prefixes": [sys.prefix, sys.base_prefix], "packages": found,
}))
"""


@dataclass(frozen=True)
class ForeignProgram:
    """A program that is started for an agent instead of the run's interpreter.

    Attributes:
        command: The program, which speaks the protocol on standard input and output, and its arguments.
        record: Its record.
        needed: Its own files and folders, which stay visible to it.
        protected: Folders that its trials cannot write to.
        files: Beginning of the digest, and name, of each file that a command names.
        keeps: Variables that it gets even if they lead to the run's own packages.
    """

    command: tuple[str, ...]
    record: AgentProgram
    needed: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()

    @property
    def is_python(self) -> bool:
        """Whether it is a Python with bench-core."""
        return self.record.kind != "command"

    def variables(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return its environment: an agent's variables without those that lead to the run's own packages."""
        return _variables(given, self.keeps)

    def sealed(self, files: SealedFiles | None) -> SealedFiles | None:
        """Return the hidden files, with the program itself visible and protected from changes."""
        if files is None:
            return None
        return replace(
            files,
            needed=(*files.needed, *self.needed),
            protected=(*files.protected, *self.protected),
        )


def foreign_program(wanted: AgentProcessSpec) -> ForeignProgram | None:
    """Return the program for a run's agent; None for the run's own interpreter.

    A missing environment is made.

    Raises:
        InputError: Options contradict each other, an interpreter or command is missing, an interpreter has no
            bench-core, or an environment cannot be made.
    """
    if not wanted.is_foreign:
        return None
    _refuse_contradictions(wanted)
    if wanted.command is not None:
        program = _of_command(wanted.command)
    elif wanted.environment is not None:
        if not wanted.environment.startswith(_UV):
            raise InputError(
                f"--agent-env {wanted.environment!r} is not of the form uv:REQUIREMENT, e.g. "
                "uv:browser-use==0.13.14; environment variables are named by --agent-variables"
            )
        asked = tuple(wanted.environment.removeprefix(_UV).split())
        program = _of_interpreter(str(environment_of(asked, wanted.python)))
        record = program.record.model_copy(update={"kind": "uv", "requirements": asked})
        program = replace(program, record=record)
    else:
        program = _of_interpreter(str(wanted.python))
    return replace(program, keeps=wanted.variables)


def _refuse_contradictions(wanted: AgentProcessSpec) -> None:
    if wanted.process == "shared":
        raise InputError(
            "--agent-process shared runs the agent in the process of the run: leave it out where the agent has "
            "an interpreter or a command of its own"
        )
    if wanted.command is not None and (wanted.python or wanted.environment):
        raise InputError(
            "--agent-command is a program of its own: give it without --agent-python and --agent-env"
        )


def name_of_command(command: str) -> str:
    """Return the name of an agent that is a command: its script without suffix, or its program.

    >>> name_of_command("node agents/shopper.mjs --fast")
    'shopper'
    """
    words = _words(command)
    scripts = [word for word in words[1:] if not word.startswith("-")]
    return Path(next(iter(scripts), words[0])).stem or words[0]


def _of_interpreter(python: str) -> ForeignProgram:
    found = shutil.which(python)
    if found is None:
        raise InputError(f"--agent-python {python!r} is not a program that can be run")
    # not resolved: the name of a link is how an interpreter finds its environment
    path = os.path.abspath(found)  # noqa: PTH100
    facts = _facts(path)
    version = facts["packages"].get("bench-core")
    if version is None:
        raise InputError(
            f"{path} has no bench-core, which is the other end of an agent's process: `{path} -m "
            f"{pip_install('bench-core')}`"
        )
    packages = tuple(
        sorted(f"{name}=={at}" for name, at in facts["packages"].items() if name not in _OF_TOOLS)
    )
    prefixes = tuple(facts["prefixes"])
    own = () if prefixes[0] == prefixes[1] else prefixes[:1]
    return ForeignProgram(
        command=(path, "-m", "bench_core.cli.main", "agent-process"),
        record=AgentProgram(
            kind="python",
            command=(path, "-m", "bench_core.cli.main", "agent-process"),
            python=facts["python"],
            bench_core=version,
            packages=packages,
            sha256=_digest([facts["python"], *packages]),
        ),
        needed=prefixes,
        protected=own,
    )


def _facts(python: str) -> dict[str, Any]:
    """Ask an interpreter for its version and its distributions."""
    variables = _variables(os.environ)
    try:
        done = subprocess.run(  # noqa: S603  # the user's own choice
            [python, "-c", _PROBE], capture_output=True, text=True, check=False, env=variables,
            timeout=_PROBE_S, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        # modules that print at each start of the interpreter do so before
        return dict(json.loads(done.stdout.strip().rpartition("\n")[2]))
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{python} is not a Python that answers: {error}") from error


def _of_command(command: str) -> ForeignProgram:
    words = _words(command)
    found = shutil.which(words[0])
    if found is None:
        raise InputError(f"--agent-command: there is no program {words[0]!r}")
    files = _named_files([found, *words[1:]])
    digests = (hashlib.sha256(each.read_bytes()).hexdigest() for each in files)
    shown = tuple(f"{at[:_SHOWN]} {each.name}" for each, at in zip(files, digests, strict=True))
    return ForeignProgram(
        command=(found, *words[1:]),
        record=AgentProgram(
            kind="command", command=tuple(words), sha256=_digest([*words[1:], *shown])
        ),
        needed=tuple(str(each) for each in files),
        files=shown,
    )


def _variables(given: Mapping[str, str], keeps: tuple[str, ...] = ()) -> dict[str, str]:
    return {
        name: value
        for name, value in given.items()
        if name in keeps or name.upper() not in _OF_THE_RUN
    }


def _words(command: str) -> list[str]:
    try:
        # on Windows a backslash separates folders, and escapes nothing
        words = shlex.split(command, posix=os.name == "posix")
    except ValueError as error:
        raise InputError(f"--agent-command {command!r} cannot be read: {error}") from None
    if not words:
        raise InputError("--agent-command is empty")
    return words


def _digest(facts: list[str]) -> str:
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()


def _named_files(words: Iterable[str]) -> list[Path]:
    """Return the files among a command's words and the files they import from their own folders, resolved.

    Imports are found in the text: relative ones of JavaScript and TypeScript, and modules next to a Python script.
    Packages installed elsewhere are identified by the lock file next to the script.
    """
    found: dict[Path, None] = {}
    open_ = [Path(word).resolve() for word in words if Path(word).is_file()]
    while open_:
        path = open_.pop(0)
        if path in found:
            continue
        found[path] = None
        open_ += [each.resolve() for each in _imports(path) if each.is_file()]
    return list(found)


def _imports(path: Path) -> Iterator[Path]:
    if path.suffix in _SCRIPTS:
        for name in _RELATIVE.findall(path.read_text(encoding="utf-8", errors="replace")):
            yield from (Path(f"{path.parent / name}{ending}") for ending in _ENDINGS)
        yield from (path.parent / name for name in _BESIDE)
    elif path.suffix == ".py":
        for name in _PYTHON_IMPORT.findall(path.read_text(encoding="utf-8", errors="replace")):
            yield path.parent / f"{name}.py"
            yield from (path.parent / name).glob("**/*.py")
