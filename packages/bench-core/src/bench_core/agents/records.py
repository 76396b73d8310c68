"""One vocabulary for agents on desktops and in browsers: what they see and what they do."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue, PositiveInt

from bench_core.models.records import ImagePart
from bench_core.records import Dollars, Record, Usage

__all__ = [
    "Action",
    "ActionResult",
    "Back",
    "Click",
    "Decision",
    "Done",
    "Drag",
    "Element",
    "ElementRef",
    "Fail",
    "Goto",
    "Move",
    "Observation",
    "Point",
    "PressKeys",
    "RunCode",
    "Scroll",
    "SwitchTab",
    "Target",
    "TypeText",
    "Wait",
]


class Element(Record):
    """Something on the screen that an action can target, by its id; `rect` is x, y, width, height in pixels."""

    id: str
    role: str = ""
    name: str = ""
    value: str | None = None
    rect: tuple[float, float, float, float] | None = None


class Observation(Record):
    """What an agent sees before it acts.

    Attributes:
        size: Width and height of the screenshot's coordinate system in pixels.
        tabs: Titles or URLs of open tabs or windows, `active_tab` an index into them.
        text: An accessibility tree or page text, where the environment gives one.
        results: What became of the previous actions, in order.
        marked: The screenshot with the ids of `elements` drawn where they are, for models that see.
    """

    screenshot: ImagePart | None = None
    marked: ImagePart | None = None
    size: tuple[PositiveInt, PositiveInt] | None = None
    url: str | None = None
    title: str | None = None
    tabs: tuple[str, ...] = ()
    active_tab: int | None = None
    elements: tuple[Element, ...] = ()
    text: str | None = None
    results: tuple[ActionResult, ...] = ()


class ActionResult(Record):
    """What became of one action; `error` is why it had no effect, for the agent."""

    ok: bool = True
    text: str = ""
    error: str | None = None


class Point(Record):
    """A place on the screen: pixels, or fractions of width and height from 0 to 1."""

    x: float
    y: float
    unit: Literal["px", "relative"] = "px"

    def pixels(self, size: tuple[int, int]) -> tuple[float, float]:
        """Return the place in pixels of a screen of `size`.

        >>> Point(x=0.5, y=0.25, unit="relative").pixels((1280, 720))
        (640.0, 180.0)
        """
        if self.unit == "px":
            return self.x, self.y
        return self.x * size[0], self.y * size[1]


class ElementRef(Record):
    """An element of the latest observation, by its id."""

    element: str


Target = Point | ElementRef
"""Where to act."""


class Click(Record):
    """Press and release a mouse button `count` times."""

    kind: Literal["click"] = "click"
    target: Target
    button: Literal["left", "right", "middle"] = "left"
    count: Annotated[int, Field(ge=1, le=3)] = 1
    modifiers: tuple[str, ...] = ()


class Move(Record):
    """Move the pointer."""

    kind: Literal["move"] = "move"
    target: Target


class Drag(Record):
    """Press at `start`, move to `end`, release."""

    kind: Literal["drag"] = "drag"
    start: Target
    end: Target


class Scroll(Record):
    """Turn the wheel at `target`, in pixels; positive is right and down."""

    kind: Literal["scroll"] = "scroll"
    target: Target | None = None
    dx: float = 0
    dy: float = 0


class TypeText(Record):
    """Type into what has the focus, or into `target` after clicking it."""

    kind: Literal["type"] = "type"
    text: str
    target: Target | None = None
    clear: bool = False
    enter: bool = False


class PressKeys(Record):
    """Press keys together, e.g. `("ctrl", "s")`; names as in `KeyboardEvent.key`, lower case."""

    kind: Literal["keys"] = "keys"
    keys: tuple[str, ...] = Field(min_length=1)


class Wait(Record):
    """Do nothing for a while."""

    kind: Literal["wait"] = "wait"
    seconds: Annotated[float, Field(ge=0, le=60)] = 1.0


class Goto(Record):
    """Load a URL in the active tab, or in a new one."""

    kind: Literal["goto"] = "goto"
    url: str
    new_tab: bool = False


class Back(Record):
    """Go back one page."""

    kind: Literal["back"] = "back"


class SwitchTab(Record):
    """Bring a tab to the front, by its index in `Observation.tabs`."""

    kind: Literal["switch_tab"] = "switch_tab"
    index: Annotated[int, Field(ge=0)]


class RunCode(Record):
    """Run code in the environment's own language, for agents that write code instead of acting.

    `language` is one the environment knows, its usual one when empty.
    """

    kind: Literal["code"] = "code"
    code: str = Field(min_length=1)
    language: str = ""


class Done(Record):
    """The task is done; `answer` is what the benchmark asked for."""

    kind: Literal["done"] = "done"
    answer: JsonValue = None


class Fail(Record):
    """The agent declares that the task cannot be done."""

    kind: Literal["fail"] = "fail"
    reason: str = ""


Action = Annotated[
    Click
    | Move
    | Drag
    | Scroll
    | TypeText
    | PressKeys
    | Wait
    | Goto
    | Back
    | SwitchTab
    | RunCode
    | Done
    | Fail,
    Field(discriminator="kind"),
]
"""One thing an agent does."""


class Decision(Record):
    """What an agent decided on one observation, and what deciding cost."""

    actions: tuple[Action, ...] = ()
    thought: str | None = None
    usage: Usage = Usage()
    cost_usd: Dollars | None = None
    model_reported: str | None = None
    flags: tuple[str, ...] = ()
