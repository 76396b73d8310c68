"""Observations of a Windows desktop: elements, Set-of-Marks, and whether the screen is still."""

from __future__ import annotations

from waa_client.observations.accessibility import TreeError, elements_of
from waa_client.observations.marks import draw_marks, enlarged, is_still

__all__ = ["TreeError", "draw_marks", "elements_of", "enlarged", "is_still"]
