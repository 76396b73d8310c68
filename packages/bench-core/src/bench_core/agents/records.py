"""One vocabulary for agents on desktops and in browsers: their observations and actions."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue, PositiveInt, field_validator

from bench_core.models.records import ImagePart
from bench_core.records import Dollars, Record, RefusedCall, Usage

EARLIER_FAILED = "not carried out: an earlier action of this turn failed"
"""The result of an action that was left out because one before it failed."""


def unseen(changed: str) -> str:
    """Return the result of an action left out because the screen or page it was for changed."""
    return f"not carried out: {changed}; look at what is there now, then act"


def shortened(text: str, most: int) -> str:
    """Return `text`, cut with a mark if it is longer than `most`."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


class Element(Record):
    """Something on the screen that an action can target, by its id.

    Attributes:
        rect: x, y, width and height in pixels, if it is in view.
        states: Its current states: `checked`, `selected`, `expanded`, `disabled`, `focused`, `required` ...
        options: Labels that `SetValue` takes, of a control that offers a choice.
        window: The window of a desktop that contains it, by its title or substitute name.
    """

    id: str
    role: str = ""
    name: str = ""
    value: str | None = None
    rect: tuple[float, float, float, float] | None = None
    states: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    window: str = ""

    @property
    def called(self) -> str:
        """Its name in an agent's reports of actions on it, as `button 'Save'`."""
        return (self.role or "something") + (f" '{shortened(self.name, 60)}'" if self.name else "")


class Tab(Record):
    """An open tab; `id` stays the same until it is closed."""

    id: str
    url: str = ""
    title: str = ""
    active: bool = False


class Observation(Record):
    """The state that an agent sees before it acts.

    Attributes:
        size: Width and height of the screenshot's coordinate system in pixels.
        tabs: Titles or URLs of open tabs or windows, `active_tab` an index into them.
        open_tabs: The same tabs with the ids that `ActivateTab` and `CloseTab` take, in a browser.
        text: An accessibility tree or page text, if the environment gives one.
        notices: Events since the previous observation: a dialog that was closed, a tab
            that a page opened, a message that appeared.
        results: Results of the previous actions, in order, including those that were not carried out.
        marked: The screenshot with the ids of `elements` drawn where they are, for models that see.
    """

    screenshot: ImagePart | None = None
    marked: ImagePart | None = None
    size: tuple[PositiveInt, PositiveInt] | None = None
    url: str | None = None
    title: str | None = None
    tabs: tuple[str, ...] = ()
    active_tab: int | None = None
    open_tabs: tuple[Tab, ...] = ()
    elements: tuple[Element, ...] = ()
    text: str | None = None
    notices: tuple[str, ...] = ()
    results: tuple[ActionResult, ...] = ()


class ActionResult(Record):
    """The result of one action.

    Attributes:
        text: The agent's answer: a position, a page's text, search results.
        error: Why it had no effect, for the agent.
        image: The picture that `Screenshot` and `Zoom` ask for.
        tabs: All open tabs after the action, of a browser.
        changed: The change since the agent looked - another document, tab or dialog is in front - in
            words for the agent; empty if there is none. Later actions of the turn that aim at the old
            view are then not carried out.
        asked: Whether the change is the tab or window that the action was to bring to the front, and no more.
        carried_out: False for an action that was left out because of an earlier one of its turn.
    """

    ok: bool = True
    text: str = ""
    error: str | None = None
    image: ImagePart | None = None
    tabs: tuple[Tab, ...] = ()
    changed: str = ""
    asked: bool = False
    carried_out: bool = True


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
"""The place where to act."""


Button = Literal["left", "right", "middle", "back", "forward"]
"""A button of the mouse."""

Seconds = Annotated[float, Field(ge=0, le=60)]


class InTab(Record):
    """An action in one tab.

    Attributes:
        tab: The tab's id. Acting does not bring it to the front; empty means the front tab.
    """

    tab: str = ""


class Click(InTab):
    """Press and release a mouse button `count` times, at `target` or where the pointer is."""

    kind: Literal["click"] = "click"
    target: Target | None = None
    button: Button = "left"
    count: Annotated[int, Field(ge=1, le=3)] = 1
    modifiers: tuple[str, ...] = ()


class Move(InTab):
    """Move the pointer."""

    kind: Literal["move"] = "move"
    target: Target
    modifiers: tuple[str, ...] = ()


class MouseDown(InTab):
    """Press a mouse button and hold it, at `target` or where the pointer is."""

    kind: Literal["mouse_down"] = "mouse_down"
    target: Target | None = None
    button: Button = "left"


class MouseUp(InTab):
    """Release a mouse button, at `target` or where the pointer is."""

    kind: Literal["mouse_up"] = "mouse_up"
    target: Target | None = None
    button: Button = "left"


class Drag(InTab):
    """Press at `start`, move to `end` by way of `path`, release."""

    kind: Literal["drag"] = "drag"
    start: Target
    end: Target
    path: tuple[Target, ...] = ()
    modifiers: tuple[str, ...] = ()


class Scroll(InTab):
    """Turn the wheel at `target`, in pixels; positive is right and down."""

    kind: Literal["scroll"] = "scroll"
    target: Target | None = None
    dx: float = 0
    dy: float = 0
    modifiers: tuple[str, ...] = ()


class ScrollTo(InTab):
    """Scroll until `target` is in view."""

    kind: Literal["scroll_to"] = "scroll_to"
    target: ElementRef


class TypeText(InTab):
    """Type into the focused element, or into `target` after clicking it; tabs and line ends are keys."""

    kind: Literal["type"] = "type"
    text: str
    target: Target | None = None
    clear: bool = False
    enter: bool = False


class SetValue(InTab):
    """Give a control its value: text of a field, an option's label or value, whether a box is checked."""

    kind: Literal["set_value"] = "set_value"
    target: ElementRef
    value: bool | float | str


def _separate(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Split keys that models write as one, `ctrl+a`, into keys; `+` alone is a key.

    >>> _separate(("ctrl+a",)), _separate(("ctrl", "+")), _separate(("ctrl++",))
    (('ctrl', 'a'), ('ctrl', '+'), ('ctrl', '+'))
    """
    names: list[str] = []
    for key in keys:
        parts = [part for part in key.split("+") if part]
        names += [*parts, *(["+"] if key.endswith("++") else [])] if parts else [key]
    return tuple(names)


class PressKeys(InTab):
    """Press keys together, e.g. `("ctrl", "s")`, `repeat` times; names as in `KeyboardEvent.key`, lower case.

    `("ctrl+s",)` is taken as the same.
    """

    kind: Literal["keys"] = "keys"
    keys: tuple[str, ...] = Field(min_length=1)
    repeat: Annotated[int, Field(ge=1, le=100)] = 1

    _each_key = field_validator("keys")(_separate)


class HoldKeys(InTab):
    """Hold keys down together for a while."""

    kind: Literal["hold_keys"] = "hold_keys"
    keys: tuple[str, ...] = Field(min_length=1)
    seconds: Seconds = 1.0

    _each_key = field_validator("keys")(_separate)


class KeyDown(Record):
    """Press a key and hold it until `KeyUp`."""

    kind: Literal["key_down"] = "key_down"
    key: str


class KeyUp(Record):
    """Release a key."""

    kind: Literal["key_up"] = "key_up"
    key: str


class Wait(Record):
    """Do nothing for a while."""

    kind: Literal["wait"] = "wait"
    seconds: Seconds = 1.0


class Screenshot(InTab):
    """Take a picture of the screen in the middle of several actions."""

    kind: Literal["screenshot"] = "screenshot"


class Zoom(InTab):
    """Take a larger picture of a part of the screen: left, top, right, bottom in pixels."""

    kind: Literal["zoom"] = "zoom"
    region: tuple[float, float, float, float]


class PointerPosition(Record):
    """Ask where the pointer is; the result's text is `X=640,Y=360`."""

    kind: Literal["pointer_position"] = "pointer_position"


class Goto(InTab):
    """Load a URL in the active tab, or in a new one."""

    kind: Literal["goto"] = "goto"
    url: str
    new_tab: bool = False


class Back(InTab):
    """Go back one page."""

    kind: Literal["back"] = "back"


class Forward(InTab):
    """Go forward one page."""

    kind: Literal["forward"] = "forward"


class Reload(InTab):
    """Load the page again."""

    kind: Literal["reload"] = "reload"


class NewTab(Record):
    """Open a tab, empty or with a URL, and bring it to the front."""

    kind: Literal["new_tab"] = "new_tab"
    url: str = ""


class ListTabs(Record):
    """Ask which tabs are open."""

    kind: Literal["list_tabs"] = "list_tabs"


class ActivateTab(Record):
    """Bring a tab to the front, by its id."""

    kind: Literal["activate_tab"] = "activate_tab"
    tab: str


class CloseTab(Record):
    """Close a tab, by its id; the active one when empty."""

    kind: Literal["close_tab"] = "close_tab"
    tab: str = ""


class AnswerDialog(Record):
    """Set the answer to a page's next question (`confirm`, `prompt`, leaving it) before it asks.

    Without it, the answer is OK, with the text that the page offers. `text` None stands for that text.
    """

    kind: Literal["answer_dialog"] = "answer_dialog"
    accept: bool = True
    text: str | None = None


class PageText(InTab):
    """Ask for the text of the page."""

    kind: Literal["page_text"] = "page_text"


class FindElements(InTab):
    """Ask for elements whose name, role or text has the words of `query`; the result names their ids."""

    kind: Literal["find"] = "find"
    query: str = Field(min_length=1)


class ReadPage(InTab):
    """Ask for the page as an outline of roles and names, with ids that actions take as targets.

    `visible` limits it to the part on the screen, `interactive` to controls and headings, `element` to the part below that element,
    `depth` to so many levels; `start` leaves out so many lines.
    """

    kind: Literal["read_page"] = "read_page"
    visible: bool = False
    interactive: bool = False
    depth: Annotated[int, Field(ge=1, le=100)] = 15
    element: str = ""
    start: Annotated[int, Field(ge=0)] = 0


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
    """The task is done; `answer` is the reply that the benchmark asked for."""

    kind: Literal["done"] = "done"
    answer: JsonValue = None


class Fail(Record):
    """The agent declares that the task cannot be done."""

    kind: Literal["fail"] = "fail"
    reason: str = ""


Action = Annotated[
    Click
    | Move
    | MouseDown
    | MouseUp
    | Drag
    | Scroll
    | ScrollTo
    | TypeText
    | SetValue
    | PressKeys
    | HoldKeys
    | KeyDown
    | KeyUp
    | Wait
    | Screenshot
    | Zoom
    | PointerPosition
    | Goto
    | Back
    | Forward
    | Reload
    | NewTab
    | ListTabs
    | ActivateTab
    | CloseTab
    | SwitchTab
    | AnswerDialog
    | PageText
    | FindElements
    | ReadPage
    | RunCode
    | Done
    | Fail,
    Field(discriminator="kind"),
]
"""One thing an agent does."""


AIMED = (
    Click,
    Move,
    MouseDown,
    Drag,
    Scroll,
    ScrollTo,
    TypeText,
    SetValue,
    PressKeys,
    HoldKeys,
    KeyDown,
)
"""Actions that refer to the view the agent saw; others (wait, look, load a page) go on after a change."""


def by_place(action: Action) -> bool:
    """Return whether an action aims at a place on the screen rather than at an element or the focus."""
    places = [getattr(action, name, None) for name in ("target", "start", "end")]
    places += getattr(action, "path", ())
    if any(places):
        return any(isinstance(each, Point) for each in places)
    return isinstance(action, Click | MouseDown | Scroll)


class Decision(Record):
    """One decision of an agent on an observation, and its cost.

    Actions after one that failed are not carried out. `refused` lists requests that became no action.
    """

    actions: tuple[Action, ...] = ()
    refused: tuple[RefusedCall, ...] = ()
    thought: str | None = None
    usage: Usage = Usage()
    cost_usd: Dollars | None = None
    model_reported: str | None = None
    flags: tuple[str, ...] = ()
