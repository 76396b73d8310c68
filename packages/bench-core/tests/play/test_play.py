"""A model plays the three pages: one that reads the goal and the picture, and answers in each provider's own way."""

from __future__ import annotations

import importlib.util
import io
import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from test_support.model_requests import ReadRequest
from test_support.model_rules import Rules
from test_support.model_server import Answer, ModelServer

from bench_core.agents.plugins import ComputerUsePlugin
from bench_core.models import RetryPolicy, open_model
from bench_core.protocols import TrialContext

if TYPE_CHECKING:
    from pathlib import Path

    from test_support.model_requests import Seen

    from bench_core.play import PlayFinding

pytestmark = [pytest.mark.browser, pytest.mark.slow]

COLOURS = {
    "red": (255, 0, 0), "yellow": (255, 255, 0), "blue": (0, 0, 255), "green": (0, 170, 0),
    "grey": (204, 204, 204), "orange": (255, 136, 0), "violet": (136, 0, 255),
}  # fmt: skip
SMALL = ((640, 480), (800, 600))
MODELS = {
    "anthropic:claude-opus-5-5": "anthropic",
    "openai:gpt-5.5": "openai",
    "google:gemini-3.7-flash": "google.genai",
    "openai-chat:Qwen/Qwen3-VL-8B-Instruct": "openai",
}


class Reader:
    """Answers by what the request shows and says; `stretch` is the error of one that sees another size."""

    def __init__(self, model: str, stretch: float = 1.0, *, calls_nonsense: bool = False) -> None:
        self._provider = model.partition(":")[0]
        self._stretch = stretch
        self._nonsense = calls_nonsense

    def __call__(self, seen: Seen) -> Answer:
        request = ReadRequest.of(seen)
        goal = next(line for line in request.text.splitlines() if line.startswith("Task: "))
        picture = next(iter(request.pictures[::-1]), None)
        assert picture is not None, "a picture comes with the first request"
        if self._nonsense and not request.replies:
            return self._say(("no_such_thing", {}))
        if "red square" in goal:
            spot = self._spot(picture, "red")
            return self._end(request, {}) if spot is None else self._click(spot)
        if "yellow text field" in goal:
            return self._write(request, picture)
        return self._act(request, picture)

    def _write(self, request: ReadRequest, picture: bytes) -> Answer:
        if request.replies == 0:
            return self._click(self._spot(picture, "yellow"))
        if request.replies > 1:
            return self._end(request, {})
        text = request.text.partition("a tab character:\n")[2]
        return self._type("\n".join(text.split("\n")[:2]))

    def _act(self, request: ReadRequest, picture: bytes) -> Answer:
        if request.replies == 0:
            return self._drag(self._spot(picture, "blue"), self._spot(picture, "green"))
        if request.replies == 1:
            return self._scroll(self._spot(picture, "grey"))
        if request.replies == 2:
            return self._click(self._spot(picture, "orange"))
        if request.replies == 3:
            return self._click(self._spot(picture, "violet"))
        said = re.findall(r"The (?:first|second) word is (\w+)", request.text)
        if len(said) == 1 and request.replies == 4 and "switch_tab" in request.tools:
            return Answer(tool_calls=(("switch_tab", {"index": 1}),), stop="tool_use")
        return self._end(request, {"words": " ".join(said)})

    def _spot(self, picture: bytes, colour: str) -> tuple[float, float] | None:
        image = pytest.importorskip("PIL.Image").open(io.BytesIO(picture)).convert("RGB")
        width, height = image.size
        wanted, points = COLOURS[colour], []
        data = image.load()
        for y in range(0, height, 2):
            points += [(x, y) for x in range(0, width, 2) if data[x, y] == wanted]
        if not points:
            return None
        xs, ys = sorted(x for x, _ in points), sorted(y for _, y in points)
        x, y = (xs[0] + xs[-1] + 1) / 2, (ys[0] + ys[-1] + 1) / 2
        self._size = (width, height)
        return x * self._stretch, y * self._stretch

    def _say(self, *calls: tuple[str, dict[str, Any]]) -> Answer:
        toolset = {"anthropic": "computer", "openai": "computer"}.get(self._provider)
        return Answer(tool_calls=calls, toolset=toolset, stop="tool_use")

    def _grid(self, spot: tuple[float, float]) -> list[int]:
        return [round(spot[0] * 1000 / self._size[0]), round(spot[1] * 1000 / self._size[1])]

    def _click(self, spot: Any) -> Answer:
        x, y = round(spot[0]), round(spot[1])
        if self._provider == "anthropic":
            return self._say(("left_click", {"coordinate": [x, y]}), ("screenshot", {}))
        if self._provider == "openai":
            return self._say(("click", {"x": x, "y": y, "button": "left"}))
        if self._provider == "google":
            x, y = self._grid(spot)
            return self._say(("click", {"x": x, "y": y, "intent": "click"}))
        return self._say(("computer_use", {"action": "left_click", "coordinate": self._grid(spot)}))

    def _type(self, text: str) -> Answer:
        if self._provider == "google":
            return self._say(("type", {"text": text, "intent": "type"}))
        if self._provider == "openai-chat":
            return self._say(("computer_use", {"action": "type", "text": text}))
        return self._say(("type", {"text": text}))

    def _scroll(self, spot: Any) -> Answer:
        x, y = round(spot[0]), round(spot[1])
        if self._provider == "anthropic":
            turn = {"coordinate": [x, y], "scroll_direction": "down", "scroll_amount": 40}
            return self._say(("scroll", turn))
        if self._provider == "openai":
            return self._say(("scroll", {"x": x, "y": y, "scroll_x": 0, "scroll_y": 5000}))
        if self._provider == "google":
            x, y = self._grid(spot)
            down = {"direction": "down", "magnitude_in_pixels": 5000, "intent": "scroll"}
            return self._say(("scroll", {"x": x, "y": y, **down}))
        at = self._grid(spot)
        return self._say(("computer_use", {"action": "scroll", "pixels": -5000, "coordinate": at}))

    def _drag(self, start: Any, end: Any) -> Answer:
        (x, y), (to_x, to_y) = ((round(each[0]), round(each[1])) for each in (start, end))
        if self._provider == "anthropic":
            way = {"start_coordinate": [x, y], "coordinate": [to_x, to_y]}
            return self._say(("left_click_drag", way))
        if self._provider == "openai":
            return self._say(("drag", {"path": [{"x": x, "y": y}, {"x": to_x, "y": to_y}]}))
        if self._provider == "google":
            (x, y), (to_x, to_y) = self._grid(start), self._grid(end)
            way = {"start_x": x, "start_y": y, "end_x": to_x, "end_y": to_y}
            return self._say(("drag_and_drop", {**way, "intent": "drag"}))
        way = {"start_coordinate": self._grid(start), "coordinate": self._grid(end)}
        return self._say(("computer_use", {"action": "left_click_drag", **way}))

    def _end(self, request: ReadRequest, answer: dict[str, str]) -> Answer:
        if "done" in request.tools:
            return Answer(tool_calls=(("done", answer),), stop="tool_use")
        ended = {"action": "answer", "text": json.dumps(answer)}
        return self._say(
            ("computer_use", ended if answer else {"action": "terminate", "status": "success"})
        )


async def played(
    folder: Path,
    name: str,
    reader: Any,
    sizes: tuple[tuple[int, int], ...] = SMALL,
    agent: Any = None,
) -> dict[str, PlayFinding]:
    from bench_core.play import play  # brings the browser

    provider = name.partition(":")[0]
    try:
        found = importlib.util.find_spec(MODELS[name])
    except ModuleNotFoundError:
        found = None
    if found is None:
        pytest.skip(f"the SDK of {provider} is not installed")
    pytest.importorskip("PIL")
    with ModelServer(reader, rules=Rules()) as server:
        context = TrialContext(run_id="r", folder=folder, model=name).with_model_opener(
            lambda _: open_model(
                name, api_key="a key of some length", base_url=server.base_url(provider),
                policy=RetryPolicy(attempts=1),
            )
        )  # fmt: skip
        return {
            each.page: each for each in await play(agent or ComputerUsePlugin(), context, sizes)
        }


@pytest.mark.parametrize("name", MODELS)
async def test_a_model_that_reads_passes_every_page(tmp_path: Path, name: str) -> None:
    found = await played(tmp_path, name, Reader(name))
    assert {page: each.detail for page, each in found.items() if not each.passed} == {}
    assert [len(each.landings) for each in found.values()] == [3, 3, 0, 0]


@pytest.mark.full_chromium
async def test_places_in_another_size_are_found(tmp_path: Path) -> None:
    name = "openai:gpt-5.5"
    found = await played(tmp_path, name, Reader(name, stretch=1.03), ((1280, 720),))
    target = found["target 1280x720"]
    assert not target.passed
    assert "+3.0% across and +2.9% down" in target.detail


async def test_a_refused_request_is_shown(tmp_path: Path) -> None:
    name = "openai:gpt-5.5"
    refusal = Answer(status=400, message="this model takes no pictures")
    found = await played(tmp_path, name, lambda _: refusal, ((640, 480),))
    assert not any(each.passed for each in found.values())
    assert all("this model takes no pictures" in each.refused[-1] for each in found.values())


async def test_a_refused_call_is_shown_beside_what_worked(tmp_path: Path) -> None:
    name = "google:gemini-3.7-flash"
    found = await played(tmp_path, name, Reader(name, calls_nonsense=True), ((640, 480),))
    target = found["target 640x480"]
    assert target.passed
    assert "no_such_thing" in "".join(target.refused)
