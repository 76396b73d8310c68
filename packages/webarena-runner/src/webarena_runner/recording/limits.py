"""Limits of memory and time for recordings."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RecordingLimits"]

_MIB = 1024 * 1024


@dataclass(frozen=True)
class RecordingLimits:
    """Limits of one recording; the HAR says what they left out.

    Attributes:
        post_bytes: Longest request body; the rest of a longer one is cut off.
        body_bytes: Longest response body; a longer one is left out.
        total_bytes: All response bodies together; later ones are left out.
        entries: Number of requests, beside as many images, style sheets, scripts and fonts; later ones
            are only counted.
        body_s: Longest time for the browser to return one body.
    """

    post_bytes: int = 8 * _MIB
    body_bytes: int = 2 * _MIB
    total_bytes: int = 64 * _MIB
    entries: int = 20_000
    body_s: float = 5.0

    def describe(self) -> str:
        """Return a sentence for readers of the HAR about what is recorded."""
        return (
            "Recorded over the DevTools protocol. Bodies are kept of requests up to "
            f"{self.post_bytes} bytes and of JSON, HTML and form responses up to "
            f"{self.body_bytes} bytes each and {self.total_bytes} bytes together."
        )
