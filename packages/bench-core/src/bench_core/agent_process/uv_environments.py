"""Environments that uv makes for agents, kept in the user's cache under a digest of their ingredients."""

from __future__ import annotations

import hashlib
import importlib
import json
import logging
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from bench_core.agent_process.own_wheel import own_wheel
from bench_core.errors import InputError
from bench_core.files import user_cache
from bench_core.files.atomic import write_atomic
from bench_core.files.locks import FileLock
from bench_core.files.removal import remove_folder

_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(\[[^\]]*\])?")
_MADE = "environment.json"
_LOCK = "packages.txt"
_SHOWN_LINES = 12
_KEY = 16
_UV_S = 3_600.0
_log = logging.getLogger("bench_core.agent_process")


def environment_of(requirements: tuple[str, ...], python: str | None = None) -> Path:
    """Return the interpreter of an environment with `requirements` and this bench-core; make it if missing.

    There is one for each combination of requirements, bench-core and Python; `packages.txt` in its folder lists its
    versions. Other processes wait while one makes it; an unfinished one is made again.

    Args:
        requirements: As for pip, or names of files with such lines (`*.txt`). Extras of bench-core may be
            asked for by `bench-core[openai]`.
        python: The interpreter or version it is made on, by default this interpreter.

    Raises:
        InputError: uv is missing, or cannot make the environment.
    """
    if not requirements:
        raise InputError("--agent-env uv: names no package, e.g. uv:browser-use==0.13.14")
    uv = _uv()
    name, content = own_wheel()
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", Path(requirements[0]).name).strip("-.")[:40]
    folder = cache_folder() / f"{slug or 'agent'}-{_key(requirements, python, content)}"
    interpreter = folder / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if (folder / _MADE).exists() and interpreter.exists():
        return interpreter
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.parent / f"{folder.name}.lock", queue=False):
        # asked again under the lock: another process may have made it meanwhile
        if not ((folder / _MADE).exists() and interpreter.exists()):
            remove_folder(folder)
            folder.mkdir()
            wheel = folder / name
            wheel.write_bytes(content)
            _log.warning("making the agent's environment with %s", " ".join(requirements))
            _make(uv, requirements, python, wheel, interpreter)
            made = {"requirements": requirements, "python": python, "bench_core": name}
            # written last: without it the environment counts as not made
            write_atomic(folder / _MADE, json.dumps(made, indent=2).encode())
    return interpreter


def cache_folder() -> Path:
    """Return the folder of the environments."""
    return user_cache() / "agent-environments"


def _uv() -> str:
    found = shutil.which("uv")
    if found is None and find_spec("uv") is not None:
        found = str(importlib.import_module("uv").find_uv_bin())
    if found is None:
        raise InputError(
            "--agent-env uv:... needs the program uv (`pip install uv`); or make the environment yourself, with "
            "bench-core in it, and name its interpreter by --agent-python"
        )
    return found


def _make(
    uv: str, requirements: tuple[str, ...], python: str | None, wheel: Path, interpreter: Path
) -> None:
    asked = " ".join(requirements)
    on = python or sys.executable
    _run([uv, "venv", "--quiet", "--python", on, str(interpreter.parents[1])], asked)
    wanted = ["--python", str(interpreter)]
    _run([uv, "pip", "install", "--quiet", "--compile-bytecode", *wanted,
          *_arguments(requirements, wheel)], asked)  # fmt: skip
    lock = _run([uv, "pip", "freeze", "--quiet", *wanted], asked)
    (wheel.parent / _LOCK).write_text(lock, encoding="utf-8")


def _arguments(requirements: tuple[str, ...], wheel: Path) -> list[str]:
    """Return the packages to install: bench-core from its own wheel, with prices if this one has them."""
    others: list[str] = []
    extras = _extras_of_run()
    for each in requirements:
        match = _NAME.match(each)
        if each.endswith(".txt"):
            others += ["--requirement", each]
        elif match and re.sub(r"[-_.]+", "-", match[1]).lower() == "bench-core":
            extras += re.findall(r"[\w-]+", match[2] or "")
        else:
            others.append(each)
    wanted = f"bench-core[{','.join(extras)}]" if extras else "bench-core"
    return [f"{wanted} @ {wheel.as_uri()}", *others]


def _extras_of_run() -> list[str]:
    """Return the extras with which an agent reports the cost of its calls, as in the run's process."""
    return ["prices"] if find_spec("genai_prices") else []


def _run(command: list[str], asked: str) -> str:
    variables = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    try:
        done = subprocess.run(  # noqa: S603  # uv, with what the user asked for
            command, capture_output=True, text=True, check=False, timeout=_UV_S, env=variables,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"uv cannot make the environment of `uv:{asked}`: {error}") from error
    if done.returncode != 0:
        printed = "\n".join((done.stderr or done.stdout).strip().splitlines()[-_SHOWN_LINES:])
        raise InputError(f"uv cannot make the environment of `uv:{asked}`:\n{printed}")
    return done.stdout


def _key(requirements: tuple[str, ...], python: str | None, wheel: bytes) -> str:
    files = {}
    for each in requirements:
        if each.endswith(".txt"):
            try:
                files[each] = Path(each).read_text(encoding="utf-8")
            except OSError as error:
                raise InputError(
                    f"--agent-env: the file {each!r} cannot be read: {error}"
                ) from error
    made_on = python or [sys.executable, sys.version]
    facts = [sorted(requirements), files, _extras_of_run(), made_on, sys.platform]
    digest = hashlib.sha256(json.dumps(facts).encode())
    digest.update(wheel)
    return digest.hexdigest()[:_KEY]
