"""Models that do a task through their provider's own computer-use tool, in the dialect of each.

What is to be done comes as steps; places in a page are looked up there when their turn comes.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from test_support.model_server import Answer

from bench_core.agents import Click, Drag, Point, PressKeys, TypeText, connect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator

    from test_support.model_server import Seen

    from bench_core.agents import Action
    from bench_core.protocols import EnvironmentHandle

__all__ = ["MODELS", "Doing", "Peek", "Place", "Step", "steps_of"]

Call = tuple[str, dict[str, Any]]

_FIND = """
([text, tag, attributes]) => {
  const plain = value => (value || '').replace(/\\s+/g, ' ').trim();
  const fits = each => {
    if (tag && each.tagName.toLowerCase() !== tag) return false;
    for (const [name, value] of Object.entries(attributes))
      if (each.getAttribute(name) !== value) return false;
    const box = each.getBoundingClientRect();
    if (!box.width || !box.height) return false;
    if (text === null) return true;
    return [plain(each.textContent), plain(each.getAttribute('aria-label')), plain(each.value)].includes(text);
  };
  const holds = each => plain(each.textContent).includes(text);
  const acting = 'a,button,input,textarea,select,[role=button],[onclick]';
  let found = [...document.querySelectorAll(text === null || tag ? '*' : acting)].filter(fits);
  if (!found.length && text !== null)
    found = [...document.querySelectorAll('.item')].filter(holds);
  if (!found.length) return null;
  found[0].scrollIntoView({block: 'center', behavior: 'instant'});
  const box = found[0].getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
}
"""


@dataclass(frozen=True)
class Place:
    """Something in a page, by its text or name, tag and attributes."""

    text: str | None = None
    tag: str | None = None
    attributes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """One turn: an action on the screen, in a page, another tab, or the end with an answer.

    Attributes:
        fill: The text that replaces what is in the field at `place`.
    """

    action: Action | None = None
    place: Place | None = None
    fill: str | None = None
    tab: int | None = None
    answer: Any = None


def steps_of(actions: Iterable[Action]) -> list[Step]:
    """Return the steps of actions whose places are known beforehand."""
    return [*(Step(action=each) for each in actions), Step()]


class Peek:
    """Connects an agent, and lets a scripted model look into the page that it acts on."""

    def __init__(self) -> None:
        self._environment: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def __call__(self, handle: EnvironmentHandle) -> AsyncIterator[Any]:
        async with connect(handle) as environment:
            self._environment, self._loop = environment, asyncio.get_running_loop()
            yield environment

    def find(self, place: Place) -> Point:
        """Return where something is, from any thread; the agent waits for its model meanwhile."""
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(self._find(place), self._loop).result(60)

    def tab(self, index: int) -> str:
        """Return the id of an open tab, from any thread."""
        assert self._loop is not None
        listed = asyncio.run_coroutine_threadsafe(self._tabs(), self._loop).result(60)
        return str(listed[index].id)

    async def _tabs(self) -> Any:
        return await self._environment._tabs.listed()

    async def _find(self, place: Place) -> Point:
        page = self._environment._tabs.page()  # what the agent sees, and no more
        for _ in range(100):
            found = await page.evaluate(_FIND, [place.text, place.tag, place.attributes])
            if found is not None:
                return Point(x=round(found[0]), y=round(found[1]))
            await asyncio.sleep(0.1)
        raise AssertionError(f"{place} is not in {page.url}")


class Doing:
    """A model that takes the steps, one a turn, and looks at the screen first."""

    def __init__(
        self, say: Callable[..., Answer], steps: Iterable[Step], peek: Peek, size: tuple[int, int]
    ) -> None:
        self._say = say
        self._turns: Iterator[Step] = iter(steps)
        self._peek = peek
        self._size = size
        self.fault: Exception | None = None

    def __call__(self, _: Seen) -> Answer:
        try:
            step = next(self._turns)
            return self._answer(step)
        except Exception as error:
            self.fault = error
            raise

    def _answer(self, step: Step) -> Answer:
        if step.tab is not None and self._say is claude_in_a_browser:
            return _made([("switch_tab", {"tab_id": self._peek.tab(step.tab)})], "browser")
        if step.tab is not None:
            return _own(("switch_tab", {"index": step.tab}))
        if step.place is not None:
            click = Click(target=self._peek.find(step.place))
            written = [PressKeys(keys=("ctrl", "a")), TypeText(text=step.fill or "")]
            return self._say([click, *(written if step.fill is not None else [])], self._size)
        if step.action is not None:
            return self._say([step.action], self._size)
        if self._say is qwen:
            end = {"action": "terminate", "status": "success"}
            said = {"action": "answer", "text": json.dumps(step.answer)}
            return _made([("computer_use", end if step.answer is None else said)], None)
        fields = step.answer if isinstance(step.answer, dict) else {"answer": step.answer}
        return _own(("done", fields))


def _own(call: Call) -> Answer:
    return Answer(tool_calls=(call,), stop="tool_use", thinking="I think.")


def _made(calls: Iterable[Call], toolset: str | None) -> Answer:
    return Answer(tool_calls=tuple(calls), toolset=toolset, stop="tool_use", thinking="I think.")


def _at(point: Any) -> list[int]:
    return [round(point.x), round(point.y)]


def claude(actions: list[Action], size: tuple[int, int]) -> Answer:
    """Speak `computer_toolset_20260801`."""
    del size
    calls: list[Call] = []
    for each in actions:
        if isinstance(each, Click):
            name = {2: "double_click", 3: "triple_click"}.get(each.count, f"{each.button}_click")
            calls.append((name, {"coordinate": _at(each.target)}))
        elif isinstance(each, Drag):
            ends = {"start_coordinate": _at(each.start), "coordinate": _at(each.end)}
            calls.append(("left_click_drag", ends))
        elif isinstance(each, PressKeys):
            calls.append(("key", {"text": "+".join(each.keys)}))
        else:
            calls.append(("type", {"text": _text(each)}))
    return _made(calls, "computer")


def claude_in_a_browser(actions: list[Action], size: tuple[int, int]) -> Answer:
    """Speak `browser_toolset_20260801`."""
    del size
    calls: list[Call] = []
    for each in actions:
        if isinstance(each, Click):
            x, y = _at(each.target)
            calls.append(("left_click", {"target": {"type": "coordinate", "x": x, "y": y}}))
        elif isinstance(each, PressKeys):
            calls.append(("key", {"text": "+".join(each.keys)}))
        else:
            calls.append(("type", {"text": _text(each)}))
    return _made(calls, "browser")


def gpt(actions: list[Action], size: tuple[int, int]) -> Answer:
    """Speak OpenAI's `computer`."""
    del size
    calls: list[Call] = []
    for each in actions:
        if isinstance(each, Click):
            x, y = _at(each.target)
            button = {"button": each.button} if each.count == 1 else {}
            calls.append(
                ("click" if each.count == 1 else "double_click", {"x": x, "y": y, **button})
            )
        elif isinstance(each, Drag):
            path = [dict(zip("xy", _at(point), strict=True)) for point in (each.start, each.end)]
            calls.append(("drag", {"path": path}))
        elif isinstance(each, PressKeys):
            calls.append(("keypress", {"keys": [key.upper() for key in each.keys]}))
        else:
            calls.append(("type", {"text": _text(each)}))
    return _made(calls, "computer")


def gemini(actions: list[Action], size: tuple[int, int]) -> Answer:
    """Speak Google's vocabulary of 2026."""
    calls: list[Call] = []
    for each in actions:
        if isinstance(each, Click):
            name = {2: "double_click", 3: "triple_click"}.get(each.count, "click")
            name = name if each.button == "left" else f"{each.button}_click"
            calls.append((name, _grid(each.target, size)))
        elif isinstance(each, Drag):
            ends = {"start": each.start, "end": each.end}
            named = {
                f"{end}_{key}": at
                for end, point in ends.items()
                for key, at in _grid(point, size).items()
            }
            calls.append(("drag_and_drop", named))
        elif isinstance(each, PressKeys):
            one = len(each.keys) == 1
            calls.append(
                ("press_key", {"key": each.keys[0]}) if one else ("hotkey", {"keys": [*each.keys]})
            )
        else:
            calls.append(("type", {"text": _text(each)}))
    return _made(calls, None)


def qwen(actions: list[Action], size: tuple[int, int]) -> Answer:
    """Speak Qwen3-VL's `computer_use`."""
    calls: list[dict[str, Any]] = []
    for each in actions:
        if isinstance(each, Click):
            name = {2: "double_click", 3: "triple_click"}.get(each.count, f"{each.button}_click")
            calls.append({"action": name, "coordinate": [*_grid(each.target, size).values()]})
        elif isinstance(each, Drag):
            calls.append(
                {"action": "mouse_move", "coordinate": [*_grid(each.start, size).values()]}
            )
            calls.append(
                {"action": "left_click_drag", "coordinate": [*_grid(each.end, size).values()]}
            )
        elif isinstance(each, PressKeys):
            calls.append({"action": "key", "keys": [*each.keys]})
        else:
            calls.append({"action": "type", "text": _text(each)})
    return _made([("computer_use", call) for call in calls], None)


def _text(action: Any) -> str:
    assert isinstance(action, TypeText), json.dumps(action.model_dump(mode="json"))
    return action.text + ("\n" if action.enter else "")


def _grid(point: Any, size: tuple[int, int]) -> dict[str, int]:
    return {"x": round(point.x * 1000 / size[0]), "y": round(point.y * 1000 / size[1])}


MODELS: dict[str, tuple[str, str | None, Callable[..., Answer]]] = {
    "anthropic": ("anthropic:claude-opus-5-5", None, claude),
    "openai": ("openai:gpt-5.5", None, gpt),
    "google": ("google:gemini-3.7-flash", None, gemini),
    "open model": ("openai-chat:Qwen/Qwen3-VL-8B-Instruct", None, qwen),
    "browser toolset": (
        "anthropic:claude-opus-5-5",
        "browser_toolset_20260801",
        claude_in_a_browser,
    ),
}
"""Of each kind: the model, its dialect where it is not the one documented for it, and how it speaks."""
