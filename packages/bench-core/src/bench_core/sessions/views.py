"""Observations as clients get them: whole, without pictures, or as the text a model would be shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from bench_core.agents import observation_parts
from bench_core.agents.ending import answer_form

if TYPE_CHECKING:
    from bench_core.sessions.records import SessionStep

View = Literal["full", "elements", "text"]
"""`full` has screenshots (base64), `elements` is the same without, `text` is one text for a model that
reads its observations."""

_PICTURES = {"screenshot": True, "marked": True, "results": {"__all__": {"image"}}}


def shown(step: SessionStep, view: View) -> dict[str, Any]:
    """Return an observation as JSON without empty fields; after a reset, also the benchmark's statement.

    The goal is a separate field.
    """
    observation, task = step.observation, step.task
    if view == "text":
        plain = observation.model_copy(update={"screenshot": None, "marked": None})
        text = getattr(observation_parts(plain)[0], "text", "")
        if task is None:
            return {"text": text}
        end = f"End with the kind `done`, its `answer`: {answer_form(task)}."
        if task.can_fail:
            end += " When the task cannot be done, end with the kind `fail` and a `reason`."
        return {"text": "\n\n".join(filter(None, [task.instructions.strip(), end, text]))}
    left_out: Any = None if view == "full" else _PICTURES
    seen = observation.model_dump(
        mode="json", exclude_defaults=True, exclude=left_out, warnings=False
    )
    stated = {"instructions", "answer_schema", "can_fail"}
    return seen if task is None else {**task.model_dump(mode="json", include=stated), **seen}
