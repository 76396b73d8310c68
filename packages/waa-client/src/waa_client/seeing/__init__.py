"""What an agent is shown of a Windows desktop: picture, elements, marks."""

from __future__ import annotations

from waa_client.seeing.accessibility import TreeError, elements_of
from waa_client.seeing.marks import draw_marks, is_still

__all__ = ["TreeError", "draw_marks", "elements_of", "is_still"]
