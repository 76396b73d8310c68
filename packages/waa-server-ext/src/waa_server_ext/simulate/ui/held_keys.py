"""The keys that are held down."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class HeldKeys:
    """The modifiers that are down.

    Attributes:
        names: `ctrl`, `alt`, `shift`, `win`.
        cues: Whether the focus is drawn with a border, as Windows does once Tab has been pressed.
    """

    names: set[str] = field(default_factory=set)
    cues: bool = False
