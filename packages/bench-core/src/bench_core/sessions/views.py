"""Observations as clients get them: whole, without pictures, or as the text a model would be shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from bench_core.agents import observation_parts

if TYPE_CHECKING:
    from bench_core.agents import Observation

__all__ = ["View", "shown"]

View = Literal["full", "elements", "text"]
"""`full` has screenshots (base64), `elements` is the same without, `text` is one text for a model that
reads its observations."""

_PICTURES = {"screenshot": True, "marked": True, "results": {"__all__": {"image"}}}


def shown(observation: Observation, view: View) -> dict[str, Any]:
    """Return an observation as JSON, without fields that are empty."""
    if view == "text":
        plain = observation.model_copy(update={"screenshot": None, "marked": None})
        text = observation_parts(plain)[0]
        return {"text": getattr(text, "text", "")}
    left_out: Any = None if view == "full" else _PICTURES
    return observation.model_dump(
        mode="json", exclude_defaults=True, exclude=left_out, warnings=False
    )
