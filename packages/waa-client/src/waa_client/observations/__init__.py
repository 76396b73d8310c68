"""Observations of a Windows desktop: elements, Set-of-Marks, and whether the screen is still."""

from __future__ import annotations

from waa_client.observations.accessibility import TreeError, elements_of
from waa_client.observations.marks import enlarged, is_still

__all__ = ["TreeError", "elements_of", "enlarged", "is_still"]
