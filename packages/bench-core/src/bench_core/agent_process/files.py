"""The files of an agent in its own process, until the run takes them over."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from bench_core.files.removal import remove_folder
from bench_core.records import LeftOut
from bench_core.redaction import Redactor
from bench_core.run_folder.left_files import keep_files

_STAGE = "agent-files"
_NAMED_BY = 3  # trials/<trial>/<task> is how a recording finds the trial that it is of


class AgentFiles:
    """A folder for the agent, apart from the files that the run itself writes for a trial.

    An agent cannot overwrite the files that its trial is scored from: its own are moved into the trial's folder after
    its part, under names that are still free and without the run's secrets, as far as `keep_files` keeps them.

    Attributes:
        stage: The folder that is removed after the take-over.
        folder: The agent's folder, in `stage`.

    Args:
        trial: The trial's folder.
        redactor: Knows the run's secrets.
        elsewhere: The place of the agent's folder, if not in the trial's, which may be hidden from it.
    """

    def __init__(self, trial: Path, redactor: Redactor, elsewhere: Path | None = None) -> None:
        self._trial = trial.absolute()
        self._redactor = redactor
        self.stage = self._trial / _STAGE
        if elsewhere is not None:
            self.stage = Path(tempfile.mkdtemp(dir=elsewhere))
        self.folder = self.stage.joinpath(*self._trial.parts[1:][-_NAMED_BY:])
        self._made: tuple[int, int] | None = None

    def make(self) -> Path:
        """Make the agent's folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._made = self._identity()
        return self.folder

    def _identity(self) -> tuple[int, int] | None:
        """Return the folder's identity, which the target of a link in its place does not have."""
        try:
            found = self.folder.lstat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    @property
    def usable(self) -> bool:
        """Whether the place of the agent's folder still exists and has room left."""
        place = self.stage.parent
        try:
            if sys.platform == "win32":
                return shutil.disk_usage(place).free > 0
            room = os.statvfs(place)
        except OSError:
            return False
        return room.f_bavail > 0 and (room.f_favail > 0 or not room.f_files)

    def take_over(self) -> tuple[LeftOut, ...]:
        """Move everything into the trial's folder; return the files that were not kept.

        Files are taken only from the folder that the agent got: through a link in its place, the rights of the run
        would move away any files, even the system's.
        """
        left_out: tuple[LeftOut, ...] = ()
        if self._identity() == self._made:
            left_out = keep_files(self.folder, self._trial, redactor=self._redactor)
        elif os.path.lexists(self.folder):
            left_out = (LeftOut(why="is in another folder than the agent got", first="."),)
        remove_folder(self.stage)
        return left_out
