"""Hide the answers of a benchmark from agents' processes and from the Chromium they act on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from bench_core.sealing.files import SealedFiles, answers_of, sealed_files
    from bench_core.sealing.machine import Ability, how_to_seal, sealed_command

__all__ = ["Ability", "SealedFiles", "answers_of", "how_to_seal", "sealed_command", "sealed_files"]

__getattr__ = lazy_exports(
    __name__,
    {
        "files": ("SealedFiles", "answers_of", "sealed_files"),
        "machine": ("Ability", "how_to_seal", "sealed_command"),
    },
)
