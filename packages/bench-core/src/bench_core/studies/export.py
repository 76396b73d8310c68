"""From a study's folder to one file for reviewers."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench_core.discovery import load_plugin
from bench_core.studies.bundle import REPORT, Bundle, pack_bundle, write_bundle

__all__ = ["export_study"]


def export_study(
    study: Path, out: Path, *, evidence: bool = False, words: Sequence[str] = ()
) -> Bundle:
    """Write the anonymous bundle of a study into the file `out`, with a report made of what is in it.

    Args:
        study: The study's folder.
        out: The bundle; replaced if it is there.
        evidence: Whether the files of trials are in it.
        words: Further texts to take out.

    Raises:
        InputError: There are no runs, or one is not as it was written or goes on.
        UnknownPluginError: No reporter of studies is installed.
    """
    reporter = load_plugin("reporter", "study")()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "study"
        folder.mkdir()
        bundle = write_bundle(study, folder, evidence=evidence, words=words)
        # of the copy, so that no number in it comes from what is not
        reporter.report([folder], folder / REPORT)
        return pack_bundle(folder, bundle, out)
