"""Brings an attempt's files into the run folder: whole, and only while the attempt is current.

The worker puts it into `incoming/<token>/` of the run folder, the manifest last: itself if it sees that
folder, else in pieces through its connection. The run then moves them into the folder of the trial. Files
in `incoming/` under any other token came too late, and are kept in `late/`.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from bench_core.child_process.framing import FrameError, encode_line
from bench_core.errors import EnvironmentFaultError
from bench_core.files.inside import plain_files
from bench_core.files.removal import remove_folder

INCOMING, LATE = "incoming", "late"
LATE_RESULT = "late_result"
"""The kind of the event of a result that was refused."""
_MANIFEST, _FILES, _PART = "manifest.json", "files", ".part"
_PIECE = 1 << 20
"""Bytes of a file in one message: the part of it that is in memory at once."""


def sees(run_folder: str, probe: str) -> bool:
    """Return whether this process sees the run folder of the other end, by a file put there by that end."""
    return bool(probe) and (Path(run_folder) / INCOMING / probe).is_file()


def stage(folder: Path, run_folder: Path, token: str) -> None:
    """Move the content of `folder` to the run's incoming folder; the manifest, then the name, come last."""
    part = run_folder / INCOMING / f"{token}{_PART}"
    remove_folder(part)
    part.mkdir()
    shutil.move(folder, part / _FILES)
    _conclude(part, token)


def _conclude(part: Path, token: str) -> None:
    (part / _FILES).mkdir(exist_ok=True)
    (part / _MANIFEST).write_text(json.dumps(_sizes(part / _FILES)), encoding="utf-8")
    part.rename(part.with_name(token))


def _sizes(folder: Path) -> dict[str, int]:
    return {name: (folder / name).stat().st_size for name in plain_files(folder)}


def send_pieces(folder: Path, token: str, send: Callable[[bytes], object]) -> None:
    """Send every file in `folder` in pieces, the last of each with its digest."""
    for name in plain_files(folder):
        digest = hashlib.sha256()
        with (folder / name).open("rb") as file:
            piece = file.read(_PIECE)
            while True:
                digest.update(piece)
                following = file.read(_PIECE) if piece else b""
                data = base64.b64encode(piece).decode("ascii")
                sha256 = None if following else digest.hexdigest()
                send(encode_line("file", token=token, path=name, data=data, sha256=sha256))
                if not following:
                    break
                piece = following


class Incoming:
    """The files that workers have brought to a run folder.

    Args:
        run_folder: The run's.
    """

    def __init__(self, run_folder: Path) -> None:
        self._folder = run_folder / INCOMING
        self._digests: dict[tuple[str, str], Any] = {}

    def probe(self, name: str) -> str:
        """Put a file there by which a worker recognizes the same folder; return its name."""
        self._folder.mkdir(exist_ok=True)
        (self._folder / name).touch()
        return name

    def write_piece(self, token: str, frame: dict[str, Any]) -> None:
        """Add a piece to a file.

        Raises:
            FrameError: It is not a piece, leads out of the folder, or the file is not as it was sent.
        """
        name, data, sha256 = frame.get("path"), frame.get("data"), frame.get("sha256")
        if not (isinstance(name, str) and isinstance(data, str)):
            raise FrameError("a piece of a file that cannot be read")
        root = self._folder / f"{token}{_PART}" / _FILES
        path = Path(os.path.normpath(root / name))
        if not path.is_relative_to(root) or path == root:
            raise FrameError(f"a file that leads out of its folder: {name[:200]!r}")
        try:
            piece = base64.b64decode(data, validate=True)
        except binascii.Error:
            raise FrameError(f"a piece of {name[:200]!r} that cannot be read") from None
        digest = self._digests.setdefault((token, name), hashlib.sha256())
        digest.update(piece)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(piece)
        if sha256 is not None and self._digests.pop((token, name)).hexdigest() != sha256:
            raise FrameError(f"the file {name[:200]!r} is not what was sent")

    def conclude(self, token: str) -> None:
        """Write the manifest of an attempt whose files have all come in pieces."""
        part = self._folder / f"{token}{_PART}"
        part.mkdir(parents=True, exist_ok=True)
        _conclude(part, token)

    def take(self, token: str, folder: Path) -> None:
        """Move an attempt's files into the folder of its trial.

        Raises:
            EnvironmentFaultError: It is not whole.
        """
        came = self._folder / token
        try:
            manifest = json.loads((came / _MANIFEST).read_text(encoding="utf-8"))
            if manifest != _sizes(came / _FILES):
                raise ValueError("sizes differ")  # noqa: TRY301  # reported in one way
        except (OSError, ValueError) as error:
            raise EnvironmentFaultError(
                f"the files of the attempt did not arrive as a whole: {error}"
            ) from error
        for each in (came / _FILES).iterdir():
            each.rename(folder / each.name)
        remove_folder(came)

    def drop(self, token: str) -> None:
        """Forget the pieces of an attempt that is lost."""
        self._digests = {each: d for each, d in self._digests.items() if each[0] != token}
        remove_folder(self._folder / f"{token}{_PART}")


def keep_late(run_folder: Path, on_event: Callable[[str, dict[str, JsonValue]], object]) -> None:
    """Keep files under outdated tokens apart, each with an event; remove torn ones."""
    incoming, late = run_folder / INCOMING, run_folder / LATE
    if not incoming.is_dir():
        return
    for each in sorted(incoming.iterdir()):
        if not each.is_dir():
            each.unlink()
        elif each.name.endswith(_PART):
            remove_folder(each)
        else:
            late.mkdir(exist_ok=True)
            each.rename(late / each.name)
            on_event(LATE_RESULT, {"token": each.name, "folder": f"{LATE}/{each.name}"})
    with contextlib.suppress(OSError):
        incoming.rmdir()  # not if a worker is just bringing something
