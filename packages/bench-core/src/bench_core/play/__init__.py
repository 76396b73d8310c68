"""Whether a model can play: three small pages on which it clicks, types, drags, scrolls and answers.

Its acts are compared with the instructions, so that clicks which miss their targets, texts that arrive
changed and requests that its provider refuses are found in two minutes rather than after a run.
"""

from __future__ import annotations

from bench_core.play.checks import play_checks
from bench_core.play.session import Landing, PlayFinding, play

__all__ = ["Landing", "PlayFinding", "play", "play_checks"]
