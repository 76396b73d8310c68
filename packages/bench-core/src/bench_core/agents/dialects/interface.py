"""The interface of a dialect: one provider's way to declare a computer, ask for actions and be answered."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, ClassVar

from pydantic import JsonValue, ValidationError

from bench_core.agents.ending import ending_tools
from bench_core.agents.observation_text import as_shown, observation_parts
from bench_core.agents.records import Action, ActionResult, Observation, PressKeys, Tab
from bench_core.agents.tools import TOOLS, InvalidCallError, action_of
from bench_core.models.records import (
    ImagePart,
    OpaquePart,
    Part,
    Reply,
    TextPart,
    Tool,
    ToolCall,
    ToolResult,
)
from bench_core.records import AgentTask

_MOST_KEYS = 10
_MOST_NAME = 100
"""Letters of a key, or of several held together as `ctrl+shift+a`."""
_DATED = re.compile(r"(-\d{8}|-\d{4}-\d{2}-\d{2}|-latest|@\S+)$")
_KEYS = {"return": "enter", "super": "meta", "cmd": "meta", "command": "meta", "win": "meta",
         "windows": "meta", "control": "ctrl", "option": "alt", "esc": "escape", "arrowup": "up",
         "arrowdown": "down", "arrowleft": "left", "arrowright": "right", "page_up": "pageup",
         "page_down": "pagedown", "prior": "pageup", "next": "pagedown"}  # fmt: skip


@dataclass(frozen=True)
class Screen:
    """The screen that the agent acts on.

    Attributes:
        size: Width and height of screenshots in pixels.
        offers: Kinds of actions that work; see `bench_core.agents.offered`.
        browser: Whether it is a browser and not a desktop.
        task: The task on it, and how it ends.
    """

    size: tuple[int, int]
    offers: frozenset[str]
    browser: bool
    task: AgentTask


@dataclass(frozen=True)
class Member:
    """One thing a model can ask for: the actions it becomes, and the kinds that must be offered for it.

    `says` is the model's answer if the actions give no text and no picture. `takes` names its
    arguments if others are refused, since a call with an unknown argument means something else.
    """

    make: Callable[[dict[str, Any], Screen], tuple[Action, ...]]
    needs: tuple[str, ...]
    says: str = "ok"
    takes: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Declaration:
    """A request's declaration of the tools."""

    native_tools: tuple[dict[str, JsonValue], ...] = ()
    tools: tuple[Tool, ...] = ()
    headers: dict[str, str] = field(default_factory=dict)
    body: dict[str, JsonValue] = field(default_factory=dict)
    system: str | None = None


@dataclass(frozen=True)
class Answered:
    """The outcome of one call.

    Attributes:
        results: Of its actions, in order.
        error: Why it was not carried out, or failed.
        observation: The observation after the whole turn.
        last: Whether it is the last call of its turn.
        again: Whether nothing was done since `observation` was shown.
        before: The tabs that were open before it, of a browser.
        earlier: The outcomes of the calls before it in its turn.
    """

    call: ToolCall
    results: tuple[ActionResult, ...]
    error: str | None
    observation: Observation
    last: bool
    again: bool = False
    before: tuple[Tab, ...] = ()
    earlier: tuple[Answered, ...] = ()

    @property
    def result(self) -> ActionResult:
        """The result of its last action."""
        return self.results[-1] if self.results else ActionResult()

    @property
    def text(self) -> str:
        """The answers of the actions that were carried out."""
        answers = ((each.text, each.changed) for each in self.results if each.ok)
        return "; ".join(filter(None, (text for pair in answers for text in pair)))

    @property
    def seen(self) -> Observation:
        """The observation after it: the current one for the last call, for others that of their own picture."""
        tabs = self.result.tabs
        if self.last or self.result.image is None:
            return _pictured(self.observation)
        active = next((number for number, tab in enumerate(tabs) if tab.active), None)
        here = None if active is None else tabs[active]
        return Observation(
            screenshot=self.result.image,
            url=here and here.url,
            title=here and here.title,
            tabs=tuple(tab.title or tab.url for tab in tabs),
            active_tab=active,
            open_tabs=tabs,
        )


class Dialect(ABC):
    """One tool version; the modules of this package have theirs as `DIALECTS`.

    Attributes:
        name: The tool's own name, if it has one.
        provider: The API it is spoken over: `anthropic`, `openai`, `openai-chat` or `google`.
        models: Regular expressions for the whole names of models, dates left out.
        environments: `browser`, `desktop`.
        coordinates: How places are given, for the table in the documentation.
        since: Date of the documents it was written after.
        append_only: Whether earlier turns must stay as they were.
        text_ends: Whether a reply without a call ends the provider's own loop.
        default: Whether a model that fits gets it without being asked for.
        images: How many of the latest screenshots are sent by default; None for all.
        exact: Whether never more than so many are sent, as the model's own loop does.
        pictures: Whether each call is answered with a picture of the moment after it.
        textual: Whether each turn shows the page's text, so that changes are enough while it stays.
        members: The things a model can ask for, by name.
        off: Members that are always declared disabled.
    """

    name: ClassVar[str]
    provider: ClassVar[str]
    models: ClassVar[tuple[str, ...]]
    environments: ClassVar[tuple[str, ...]] = ("browser", "desktop")
    coordinates: ClassVar[str] = "pixels"
    since: ClassVar[date]
    append_only: ClassVar[bool] = False
    text_ends: ClassVar[bool] = True
    default: ClassVar[bool] = True
    images: ClassVar[int | None] = None
    exact: ClassVar[bool] = False
    pictures: ClassVar[bool] = False
    textual: ClassVar[bool] = False
    members: ClassVar[Mapping[str, Member]]
    off: ClassVar[tuple[str, ...]] = ()

    def speaks(self, provider: str, model: str) -> bool:
        """Whether a model is documented to know this tool version."""
        plain = _DATED.sub("", model)
        named = {plain, plain.removesuffix("-preview")}
        found = any(re.fullmatch(p, n, re.IGNORECASE) for p in self.models for n in named)
        return provider == self.provider and found

    def picture_size(self, model: str, size: tuple[int, int]) -> tuple[int, int]:
        """Return how large a model sees a picture of `size`: pictures are sent so, and places are pixels of them."""
        del model
        return size

    def named_place(self, x: float, y: float, size: tuple[int, int]) -> tuple[int, int]:
        """Return a pixel of a picture of `size` as the model names places."""
        del size
        return round(x), round(y)

    def nudge(self, task: AgentTask) -> str:
        """Return the text shown to a model that neither acted nor ended."""
        del task
        return "You called no tool. Act with one of your tools; call `done` to end."

    @abstractmethod
    def declare(self, screen: Screen) -> Declaration:
        """Return the tools that requests declare."""

    def show(self, observation: Observation, *, results: bool) -> tuple[TextPart | ImagePart, ...]:
        """Return the parts of a turn except elements, whose ids no tool takes; `results` adds those of actions."""
        return observation_parts(_pictured(observation), results=results)

    def calls(self, reply: Reply) -> tuple[ToolCall, ...]:
        """Return the calls in a reply; dialects that are text read them out of the text."""
        return reply.tool_calls

    def read(self, call: ToolCall, screen: Screen) -> tuple[Action, ...]:
        """Return the actions of a call.

        Raises:
            InvalidCallError: It makes no sense, or the environment does not offer it.
        """
        if call.arguments is None:
            raise InvalidCallError(f"the arguments of {call.name} are not a JSON object")
        found = self.member(call)
        if found is None:
            if call.name not in {tool.name for tool in self.declare(screen).tools}:
                of = f" of the toolset {call.toolset}" if call.toolset else ""
                raise self._unknown(f"{call.name}{of}", screen)
            return (action_of(call, screen.task),)
        name, arguments = found
        return self.make(name, arguments, screen)

    def make(self, name: str, arguments: dict[str, Any], screen: Screen) -> tuple[Action, ...]:
        """Return the actions of a member; see `read`."""
        member = self.members.get(name)
        if member is None or not set(member.needs) <= screen.offers:
            raise self._unknown(name, screen)
        unknown = sorted(set(arguments) - set(arguments if member.takes is None else member.takes))
        if unknown:
            takes = ", ".join(member.takes or ()) or "none"
            raise InvalidCallError(
                f"{name} has no argument {', '.join(map(repr, unknown))}: it takes {takes}"
            )
        try:
            return member.make(arguments, screen)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(str(each) for each in first["loc"]) or "arguments"
            raise InvalidCallError(f"{name}: {where}: {first['msg']}") from error
        except InvalidCallError as error:
            raise InvalidCallError(f"{name}: {error}") from error
        except KeyError as error:
            raise InvalidCallError(f"{name} lacks the argument {error}") from error
        except (AttributeError, IndexError, OverflowError, TypeError, ValueError) as error:
            raise InvalidCallError(f"{name}: the arguments do not fit: {error}") from error

    def _unknown(self, name: str, screen: Screen) -> InvalidCallError:
        tools = (tool.name for tool in self.declare(screen).tools)
        known = ", ".join(dict.fromkeys((*self.available(screen), *tools)))
        return InvalidCallError(f"there is no {name[:100]!r} here: there are {known}")

    def member(self, call: ToolCall) -> tuple[str, dict[str, Any]] | None:
        """Return the member and arguments of a call of the native tool, None of another tool."""
        return (call.name, dict(call.arguments or {})) if call.name in self.members else None

    def thought(self, call: ToolCall) -> str:
        """Return the model's reason for a call, if the call itself states one."""
        del call
        return ""

    def flags(self, call: ToolCall) -> tuple[str, ...]:
        """Return the flags of a call for the trial's record."""
        del call
        return ()

    def answer(self, done: Answered) -> tuple[Part, ...]:
        """Return the answer to one call, as the model receives it."""
        if done.error is not None:
            return (reply_to(done.call, TextPart(text=done.error), error=True),)
        return (reply_to(done.call, *self.content(done)),)

    def content(self, done: Answered) -> tuple[TextPart | ImagePart, ...]:
        """Return the picture, or else a text, of a call that was carried out, and the changes it made."""
        name, arguments = self.member(done.call) or ("", {})  # none for a tool of our own
        member, result = self.members.get(name), done.result
        says = _filled(member.says, arguments) if member else "ok"
        own = result.image or TextPart(text=result.text or says)
        changed = as_shown(result.changed, done.observation)
        return (own, *((TextPart(text=changed),) if changed else ()))

    def available(self, screen: Screen) -> tuple[str, ...]:
        """Return the members that the environment offers."""
        return tuple(n for n, m in self.members.items() if set(m.needs) <= screen.offers)


def _pictured(observation: Observation) -> Observation:
    """Return an observation without the contents of its picture: pages, tabs and events remain."""
    return observation.model_copy(
        update={"elements": (), "text": None, "size": None, "marked": None}
    )


def place_text(screen: Screen, *, load: str = "goto", back: str = "back") -> str:
    """Return a description of the picture, and the tools for acts that it does not allow."""
    if not screen.browser:
        return "You see the screen of a Windows computer."
    goes = f"`{back}` goes back" if back != load else f"`{load}` with the url `back` goes back"
    tools = {"goto": f"`{load}` loads another page", "back": goes,
             "switch_tab": "`switch_tab` brings another tab to the front"}  # fmt: skip
    offered = ", ".join(does for kind, does in tools.items() if kind in screen.offers)
    return (
        "You see a page of a web browser, without address bar and tabs"
        + (f": {offered}." if offered else ".")
        + " Its dialogs are answered with OK for you, and you are told"
        + ("; `answer_dialog` answers otherwise." if "answer_dialog" in screen.offers else ".")
    )


def reply_to(
    call: ToolCall,
    *content: TextPart | ImagePart | OpaquePart,
    error: bool = False,
    extra: dict[str, JsonValue] | None = None,
) -> ToolResult:
    """Build the result of a call."""
    return ToolResult(
        call_id=call.id, name=call.name, toolset=call.toolset, content=content, is_error=error,
        extra=extra or {},
    )  # fmt: skip


def _filled(says: str, arguments: dict[str, Any]) -> str:
    target = arguments.get("target")
    named = {"ref": target.get("ref", "") if isinstance(target, dict) else "", **arguments}
    for key in re.findall(r"\{(\w+)\}", says):
        value = named.get(key, "")
        whole = int(value) if isinstance(value, float) and value.is_integer() else value
        says = says.replace("{" + key + "}", str(whole)[:200])
    return says


def browser_tools(screen: Screen, *names: str) -> tuple[Tool, ...]:
    """Return our own tools for a browser, those with `names` and the answer to dialogs, with the native one."""
    wanted = {*names, "answer_dialog"} & screen.offers if screen.browser else set()
    return tuple(tool for tool in TOOLS if tool.name in wanted)


def function_tools(screen: Screen, *names: str) -> tuple[Tool, ...]:
    """Return `browser_tools`, and those by which the task is ended."""
    return (*browser_tools(screen, *names), *ending_tools(screen.task))


def names_of_keys(given: Any) -> tuple[str, ...]:
    """Return the keys of `ctrl+s`, or of a list of keys, in our names.

    >>> names_of_keys("ctrl+Return"), names_of_keys("ctrl++"), names_of_keys(["CTRL", "A"])
    (('ctrl', 'enter'), ('ctrl', '+'), ('ctrl', 'a'))
    """
    listed = [*given] if isinstance(given, list | tuple) else [given]
    named = all(isinstance(each, str) and len(each) <= _MOST_NAME for each in listed)
    if len(listed) > _MOST_KEYS or not named:
        raise InvalidCallError(
            f"keys are names of keys to press together, not {str(given)[:200]!r}"
        )
    # a blank is a key, blanks around a name are not
    texts = tuple(each if len(each) == 1 else each.strip() for each in listed if each)
    if not any(texts):
        raise InvalidCallError("which key?")
    keys = PressKeys(keys=tuple(filter(None, texts))).keys
    names = [each if len(each) == 1 else each.strip().lower() for each in keys]
    lower = (each.lower() if len(names) > 1 else each for each in names)
    return tuple(_KEYS.get(each, each) for each in lower)
