"""Write down each step of a browser-use agent as it ends, with its screenshot and observation."""

from __future__ import annotations

import shutil
from datetime import datetime, timezone
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_core.records import SeenElement, Step, StepView, Usage
from bench_core.run_folder.artifacts import TrialArtifacts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench_core.browser_use.session import PageWatch
    from bench_core.browser_use.watch import ModelWatch

_KEPT_ELEMENTS = 500
_KEPT_NAME = 200


class Trajectory:
    """The steps of one trial, appended to `trajectory.jsonl` in the trial's folder.

    A line is written as soon as its step has ended, so a killed trial keeps all but its last.

    Attributes:
        steps: Their number so far.
        left_out: The number of requested actions that were not carried out.
        pages: The pages' requests, from when the browser is watched.
    """

    def __init__(self, folder: Path, watch: ModelWatch) -> None:
        self.steps = 0
        self.left_out = 0
        self.pages: PageWatch | None = None
        self._artifacts = TrialArtifacts(folder)
        self._watch = watch
        self._counted = watch.usage
        self._seen = 0
        self._shown: Any = None

    def see(self, shown: Any, output: Any, number: int) -> None:
        """Keep the agent's observation until its step ends; browser-use's `register_new_step_callback`."""
        del output, number  # browser-use counts failed steps otherwise than its history
        self._shown = shown

    async def note(self, agent: Any) -> None:
        """Write new entries of the agent's history, and tell the agent of the pages' requests meanwhile.

        A hook for `Agent.run(on_step_end=...)`: the report stands in the results of the step that has ended, and in
        the agent's next observation.
        """
        items = agent.history.history
        # browser-use ends a run out of steps with a bare error
        ended = [each for each in items[self._seen :] if each.metadata is not None]
        self._seen = len(items)
        if not ended:
            return
        told: tuple[str, ...] = ()
        if self.pages is not None:
            await self.pages.look_again()
            told = self.pages.dialogs.take()
        agent.browser_session._closed_popup_messages[:] = told
        for item in ended[:-1]:
            self._append(item, ())
        self._append(ended[-1], told)

    def _append(self, item: Any, told: tuple[str, ...]) -> None:
        self.steps += 1
        shown, self._shown = self._shown, None
        # An answer that could not be read has no actions, and the page it was given for was not kept.
        if shown is not None and item.model_output is not None:
            self._artifacts.append_view(_view(self.steps, shown))
        step = _step(self.steps, item, self._keep_screenshot(item), self._usage_since())
        step = step.model_copy(update={"results": (*step.results, *told)})
        asked = self._watch.asked_actions if item.model_output is not None else 0
        # browser-use stops where the page changes, and at its limit
        if asked > len(item.result) > 0:
            self.left_out += asked - len(item.result)
            note = f"only {len(item.result)} of the {asked} actions asked for have a result"
            step = step.model_copy(update={"results": (*step.results, note)})
        self._artifacts.append_step(step)

    def _usage_since(self) -> Usage:
        now, before = self._watch.usage, self._counted
        self._counted = now
        fields = type(now).model_fields
        return type(now)(**{each: getattr(now, each) - getattr(before, each) for each in fields})

    def _keep_screenshot(self, item: Any) -> str | None:
        taken = item.state.screenshot_path
        if not taken or not Path(taken).is_file():
            return None
        name = f"screenshots/step-{self.steps:03d}.png"
        # Moved, not copied: browser-use's own folder goes away with the agent.
        shutil.move(taken, self._artifacts.path(name))
        return name


def _step(number: int, item: Any, screenshot: str | None, usage: Usage) -> Step:
    output, times = item.model_output, item.metadata
    errors = [each.error for each in item.result if each.error]
    return Step(
        step=number,
        started=datetime.fromtimestamp(times.step_start_time, timezone.utc),
        duration_s=max(0.0, times.duration_seconds),
        url=item.state.url or None,
        title=item.state.title or None,
        screenshot=screenshot,
        thought=_thought(output) if output else None,
        actions=tuple(_action(each) for each in output.action) if output else (),
        results=tuple(each.extracted_content for each in item.result if each.extracted_content),
        error="; ".join(errors) or None,
        usage=usage,
    )


def _thought(output: Any) -> str | None:
    parts = (output.thinking, output.evaluation_previous_goal, output.memory, output.next_goal)
    return "\n".join(each for each in parts if each) or None


def _action(action: Any) -> dict[str, Any]:
    dumped: dict[str, Any] = action.model_dump(mode="json", exclude_unset=True)
    return dumped


def _view(number: int, shown: Any) -> StepView:
    """Return where the elements were that the agent could name, in pixels of its screenshot."""
    page = shown.page_info
    size = (page.viewport_width, page.viewport_height) if page else None
    return StepView(
        step=number,
        size=size if size and min(size) > 0 else None,
        tabs=tuple(tab.title or tab.url for tab in shown.tabs),
        elements=tuple(_elements(shown.dom_state.selector_map)),
        notices=tuple(shown.closed_popup_messages),
    )


def _elements(numbered: dict[int, Any]) -> Iterator[SeenElement]:
    for index, node in islice(numbered.items(), _KEPT_ELEMENTS):
        spoken = node.ax_node
        place = node.absolute_position  # in the window: scrolling and frames are counted
        yield SeenElement(
            id=str(index),
            role=(spoken and spoken.role) or node.node_name.lower(),
            name=((spoken and spoken.name) or node.get_all_children_text())[:_KEPT_NAME],
            rect=place and (place.x, place.y, place.width, place.height),
        )
