"""Observations of a Windows desktop: elements, Set-of-Marks, and whether the screen is still."""

from __future__ import annotations

from waa_client.observations.accessibility import (
    NestedElement,
    TreeError,
    control_at,
    controls_of,
    elements_of,
    numbered,
    same_control,
)
from waa_client.observations.marks import enlarged, is_still, looks_as_before

__all__ = [
    "NestedElement",
    "TreeError",
    "control_at",
    "controls_of",
    "elements_of",
    "enlarged",
    "is_still",
    "looks_as_before",
    "numbered",
    "same_control",
]
