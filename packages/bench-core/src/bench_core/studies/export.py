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
    """Write the anonymous bundle of a study into the file `out`, with a report made from its contents.

    Args:
        study: The study's folder.
        out: The bundle; replaced if it is there.
        evidence: Whether the files of trials are in it.
        words: Further texts to take out.

    Raises:
        InputError: Runs are missing, or one is not as it was written or goes on.
        UnknownPluginError: No reporter of studies is installed.
    """
    reporter = load_plugin("reporter", "study")()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "study"
        folder.mkdir()
        bundle = write_bundle(study, folder, evidence=evidence, words=words)
        # of the copy, so that every number in it comes from the bundle
        reporter.report([folder], folder / REPORT)
        return pack_bundle(folder, bundle, out)
