"""What bounds the memory and time of a recording."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RecordingLimits"]

_MIB = 1024 * 1024


@dataclass(frozen=True)
class RecordingLimits:
    """Bounds of one recording; what they cut off is said in the HAR.

    Attributes:
        post_bytes: The longest request body kept; the rest of a longer one is cut off.
        body_bytes: The longest response body kept; a longer one is left out.
        total_bytes: All response bodies together; later ones are left out.
        entries: Requests kept, beside as many images, style sheets, scripts and fonts; later ones
            are counted only.
        body_s: How long the browser may take to hand out one body.
    """

    post_bytes: int = 8 * _MIB
    body_bytes: int = 2 * _MIB
    total_bytes: int = 64 * _MIB
    entries: int = 20_000
    body_s: float = 5.0

    def describe(self) -> str:
        """Say for readers of the HAR what was not kept."""
        return (
            "Recorded over the DevTools protocol. Bodies are kept of requests up to "
            f"{self.post_bytes} bytes and of JSON, HTML and form responses up to "
            f"{self.body_bytes} bytes each and {self.total_bytes} bytes together."
        )
