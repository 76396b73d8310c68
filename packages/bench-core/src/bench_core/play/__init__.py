"""Whether a model can play: three small pages on which it clicks, types, drags, scrolls and answers.

What it does is compared with what it was asked, so that clicks which land beside their targets, texts that arrive
changed and requests that its provider refuses are found in two minutes and not after a run.
"""

from __future__ import annotations

from bench_core.play.checks import play_checks
from bench_core.play.session import Landing, PlayFinding, play

__all__ = ["Landing", "PlayFinding", "play", "play_checks"]
