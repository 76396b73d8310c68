"""Runs code over native libraries in a process of its own, bounded in time and memory.

Decoders of audio, video and PDF are written in C and read what a VM gives them. In a child, a crash,
a hang or a bomb is an error with a name and nothing more.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import json
import os
import subprocess
import sys
from typing import Any

from bench_core.errors import EvaluationError

__all__ = ["DecoderError", "isolated"]

_SECONDS = 120.0
_MEGABYTES = 2048
_ALLOWED = frozenset({"audio:similarity", "pdfs:texts", "video:same"})


class DecoderError(EvaluationError):
    """The process that decodes a file crashed, or took too long or too much memory."""


def isolated(function: str, *arguments: Any, seconds: float = _SECONDS) -> Any:
    """Call `module:function` of this package in a child; what goes in and out is JSON.

    An exception there is raised here under its own name.

    Raises:
        DecoderError: The child crashed, or took too long or too much memory.
    """
    if function not in _ALLOWED:
        raise ValueError(f"{function!r} does not run in a child")
    names = " and ".join(os.path.basename(str(each)) for each in arguments)  # noqa: PTH119  # may be None
    try:
        done = subprocess.run(  # noqa: S603  # our own module
            [sys.executable, "-m", __name__, function],
            input=json.dumps(arguments).encode(),
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise DecoderError(f"{names}: not decoded within {seconds:.0f} s") from error
    if done.returncode != 0:
        tail = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][:200]
        raise DecoderError(f"{names}: decoding ended with status {done.returncode}: {tail}")
    answer = json.loads(done.stdout.rpartition(b"\n")[2])
    if "type" in answer:
        _raise(answer["type"], answer["message"], names)
    return answer["value"]


def _raise(kind: str, message: str, names: str) -> None:
    if kind in ("EvaluationError", "MemoryError", "RefusedFileError"):
        raise DecoderError(f"{names}: {message or kind}")
    built_in = getattr(builtins, kind, None)
    if isinstance(built_in, type) and issubclass(built_in, Exception):
        raise built_in(message)
    raise type(kind, (RuntimeError,), {})(message)


def _main() -> None:
    """Answer with one line of JSON on what was standard output; libraries may print elsewhere."""
    answers = os.dup(1)
    os.dup2(2, 1)
    _limit_memory()
    module, _, name = sys.argv[1].partition(":")
    arguments = json.load(sys.stdin)
    try:
        found = importlib.import_module(f"waa_server_ext.native.{module}")
        answer = {"value": getattr(found, name)(*arguments)}
    except Exception as error:  # noqa: BLE001  # a border: decoders raise what they like
        answer = {"type": type(error).__name__, "message": str(error)[:500]}
    with os.fdopen(answers, "wb") as stream:
        stream.write(json.dumps(answer).encode())


def _limit_memory() -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):  # not on Windows
        import resource  # noqa: PLC0415  # same

        limit = _MEGABYTES * 1024 * 1024
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    _main()
