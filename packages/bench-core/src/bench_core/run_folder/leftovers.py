"""Removal of files that killed writers left half-written in a run folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.errors import RunFolderBusyError
from bench_core.files.atomic import sweep_temporary_below
from bench_core.files.locks import lock_for_writing

if TYPE_CHECKING:
    from bench_core.run_folder.view import RunView


def sweep_killed(view: RunView) -> None:
    """Remove half-written files of attempts and later evaluations that were killed; call as the run's writer.

    Trials with a lasting result are left out: there are none in their folders. So are evaluations that
    another process is writing.
    """
    for folder in (view.path / "attempts", *map(view.trial_folder, view.remaining())):
        if folder.is_dir():
            sweep_temporary_below(folder)
    for folder in (view.path / "rescores").glob("*/"):
        if folder.is_symlink():  # of a received folder: its target is not the run's
            continue
        try:
            lock = lock_for_writing(folder)
        except RunFolderBusyError:
            continue
        try:
            sweep_temporary_below(folder)
        finally:
            lock.release()
