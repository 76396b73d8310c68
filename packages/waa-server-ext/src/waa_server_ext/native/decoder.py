"""Runs code over native libraries in a separate process, bounded in time and memory.

Decoders of audio, video and PDF are written in C and read files from a VM. In a child, a crash,
a hang or a bomb is only an error with a name. One child is kept for the next file of the
same kind, so that PDF libraries and media libraries are never in memory at once.
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import importlib
import json
import os
import queue
import subprocess
import sys
import threading
from typing import Any

from bench_core.errors import EvaluationError

_SECONDS = 120.0
_MEGABYTES = 2048
_RULES_MEGABYTES = 512  # queries and patterns do not handle images
_KINDS = {
    "audio:similarity": "media",
    "databases:first_number": "rules",
    "databases:lines_found": "rules",
    "pdfs:plain_text": "pypdf",
    "pdfs:texts": "pymupdf",
    "video:same": "media",
}
"""The functions that run in a child, and the kind of child that may be kept for each."""


class DecoderError(EvaluationError):
    """The process that decodes a file crashed, or used too much time or memory."""


def isolated(
    function: str, *arguments: Any, seconds: float = _SECONDS, of: str | None = None
) -> Any:
    """Call `module:function` of this package in a child; arguments and result are JSON.

    An exception there is raised here under its own name. `of` names the decoded object if the
    arguments are not paths.

    Raises:
        DecoderError: The child crashed, or used too much time or memory.
    """
    if function not in _KINDS:
        raise ValueError(f"{function!r} does not run in a child")
    names = of or " and ".join(os.path.basename(str(each)) for each in arguments)  # noqa: PTH119  # may be None
    with _LOCK:
        decoder = _decoder_for(_KINDS[function])
        try:
            answer = decoder.ask({"function": function, "arguments": arguments}, seconds)
        except BaseException:
            decoder.end()
            raise
        if answer is None:
            raise DecoderError(f"{names}: decoding ended with status {decoder.end()}")
        if answer is _LATE:
            decoder.end()
            raise DecoderError(f"{names}: not decoded within {seconds:.0f} s")
        _KEPT.append(decoder)
    if "type" in answer:
        _raise(answer["type"], answer["message"], names)
    return answer["value"]


class _Decoder:
    """A child that answers line by line, and the thread that reads its answers."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._process = subprocess.Popen(  # noqa: S603  # this module, and a fixed kind
            [sys.executable, "-m", "waa_server_ext.native.decoder", kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def ask(self, call: Any, seconds: float) -> Any:
        """Return the answer; None if the child ended, `_LATE` if it takes too long."""
        stdin = self._process.stdin
        try:
            if stdin is not None:
                stdin.write(json.dumps(call).encode() + b"\n")
                stdin.flush()
            line = self._lines.get(timeout=seconds)
        except OSError:
            return None
        except queue.Empty:
            return _LATE
        return json.loads(line) if line else None

    def end(self) -> int:
        """End the child and return its status."""
        self._process.kill()
        status = self._process.wait()
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        return status

    def _read(self) -> None:
        stdout = self._process.stdout
        if stdout is None:
            return
        with stdout:
            for line in stdout:
                self._lines.put(line)
        self._lines.put(b"")


_LATE: dict[str, Any] = {}
_LOCK = threading.Lock()
_KEPT: list[_Decoder] = []


def _decoder_for(kind: str) -> _Decoder:
    """Return the kept child if it is of the kind, else replace it with a new one."""
    if _KEPT and _KEPT[0].kind == kind:
        return _KEPT.pop()
    _end_kept()
    return _Decoder(kind)


@atexit.register
def _end_kept() -> None:
    while _KEPT:
        _KEPT.pop().end()


def _raise(kind: str, message: str, names: str) -> None:
    if kind in ("EvaluationError", "MemoryError", "RefusedFileError"):
        raise DecoderError(f"{names}: {message or kind}")
    built_in = getattr(builtins, kind, None)
    if isinstance(built_in, type) and issubclass(built_in, Exception):
        raise built_in(message)
    raise type(kind, (RuntimeError,), {})(message)


def _main() -> None:
    """Answer with lines of JSON on the original standard output, away from the output of libraries."""
    answers = os.dup(1)
    os.dup2(2, 1)
    megabytes = _RULES_MEGABYTES if sys.argv[1:] == ["rules"] else _MEGABYTES
    with contextlib.suppress(ImportError, ValueError, OSError):  # not on Windows
        import resource

        limit = megabytes * 1024 * 1024
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        # crashes are expected here: their core files would fill the disk
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with os.fdopen(answers, "wb") as stream:
        for line in sys.stdin:
            call = json.loads(line)
            stream.write(json.dumps(_answer(call["function"], call["arguments"])).encode() + b"\n")
            stream.flush()


def _answer(function: str, arguments: list[Any]) -> dict[str, Any]:
    module, _, name = function.partition(":")
    try:
        found = importlib.import_module(f"waa_server_ext.native.{module}")
        return {"value": getattr(found, name)(*arguments)}
    except Exception as error:  # noqa: BLE001  # a border: decoders raise anything
        return {"type": type(error).__name__, "message": str(error)[:500]}


if __name__ == "__main__":
    _main()
