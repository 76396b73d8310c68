"""What an agent writes in a process of its own, until the run has taken it over."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench_core.redaction import Redactor

_TEXT = (".json", ".jsonl", ".txt", ".log", ".md", ".html", ".htm", ".csv", ".har", ".xml", ".yaml")
_STAGE = "agent-files"
_NAMED_BY = 3  # trials/<trial>/<task> is how a recording finds the trial that it is of


class AgentFiles:
    """A folder for the agent beside what the run itself writes for a trial.

    An agent cannot write over what its trial is scored from: what it left is moved into the trial's
    folder when its part is over, under names that are still free, without the run's secrets, and
    links are left out.

    Args:
        trial: The trial's folder.
        redactor: Knows the run's secrets.
        elsewhere: Where the agent's folder is made instead of in the trial's, which it may not see.
    """

    def __init__(self, trial: Path, redactor: Redactor, elsewhere: Path | None = None) -> None:
        self._trial = trial.absolute()
        self._redactor = redactor
        self._stage = self._trial / _STAGE
        if elsewhere is not None:
            self._stage = Path(tempfile.mkdtemp(dir=elsewhere))
        self.folder = self._stage.joinpath(*self._trial.parts[1:][-_NAMED_BY:])

    def make(self) -> Path:
        """Make the folder that the agent gets."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder

    def take_over(self) -> list[str]:
        """Move everything into the trial's folder; return the names that were refused."""
        refused: list[str] = []
        for root, _, names in os.walk(self.folder):
            for name in names:
                path = Path(root, name)
                inside = path.relative_to(self.folder)
                target = self._trial / inside
                with contextlib.suppress(OSError):
                    taken = os.path.lexists(target) or target.is_relative_to(self._stage)
                    if taken or not stat.S_ISREG(path.lstat().st_mode):
                        refused.append(inside.as_posix())
                        continue
                    target.parent.mkdir(parents=True, exist_ok=True)
                    self._redact(path)
                    shutil.move(path, target)  # perhaps to another file system
        shutil.rmtree(self._stage, ignore_errors=True)
        return refused

    def _redact(self, path: Path) -> None:
        if path.suffix.lower() not in _TEXT:
            return
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
        clean = self._redactor.redact(text, evidence=True)
        if clean != text:
            path.write_text(clean, encoding="utf-8", errors="surrogateescape")
