"""Parsing of agents' replies into actions: vanilla's code blocks, and Proctor's own actions.

Vanilla takes the first python block of a reply as one action, or in its place a decision block that
contains DONE, FAIL or WAIT, searched in that order. A reply without either is an error here; vanilla
sends the comment `# plan not found`, which has no effect and counts as success.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable
from typing import Any

from pydantic import TypeAdapter, ValidationError

from bench_core.agents import (
    Action,
    Click,
    Done,
    ElementRef,
    Fail,
    Move,
    Point,
    PressKeys,
    RunCode,
    TypeText,
    Wait,
)
from waa_client.actions.code import SPECIAL

_ACTIONS: TypeAdapter[tuple[Action, ...]] = TypeAdapter(tuple[Action, ...])
_MOST_CHARACTERS = 200_000
_PYTHON = re.compile(r"```(?:python|py)[ \t]*\r?\n(.*?)```", re.DOTALL)
_DECISION = re.compile(r"```decision[ \t]*\r?\n?(.*?)```", re.DOTALL)
_JSON = re.compile(r"```json[ \t]*\r?\n(.*?)```", re.DOTALL)
_WORDS: dict[str, Callable[[], Action]] = {"DONE": Done, "FAIL": Fail, "WAIT": Wait}


class ReplyError(ValueError):
    """A reply without an action; the agent gets the message."""


def parse_reply(text: str) -> tuple[str, ...]:
    r"""Return the actions vanilla takes from a reply: code blocks, or one of DONE, FAIL and WAIT.

    Raises:
        ReplyError: The reply has neither a code block nor a decision.

    >>> parse_reply("```python\ncomputer.mouse.single_click()\n```")
    ('computer.mouse.single_click()\n',)
    """
    text = text[:_MOST_CHARACTERS]
    decision = _DECISION.search(text)
    if decision:
        for word in _WORDS:
            if word in decision[1]:
                return (word,)
    code = _PYTHON.search(text)
    if code:
        return (_filled(textwrap.dedent(code[1])),)
    if text.strip() in SPECIAL:
        return (text.strip(),)
    raise ReplyError("the reply has no ```python block and no decision DONE, FAIL or WAIT")


def actions_of_reply(text: str) -> tuple[Action, ...]:
    """Return the actions of a reply: vanilla's, or a JSON list or object of actions.

    JSON is the whole reply, or a fenced block of a reply without actions in vanilla's form.

    Raises:
        ReplyError: It does not contain an action, or one is malformed.
    """
    text = text[:_MOST_CHARACTERS]
    found = [_tried(read, text) for read in (_all_json, _as_vanilla, _json_block)]
    for each in found:
        if isinstance(each, tuple):
            return each
    # the error of the form that the reply resembles most is the most helpful
    raise next(each for each in (found[2], found[0], found[1]) if isinstance(each, ReplyError))


def parse_block(code: str) -> tuple[Action, ...]:
    r"""Return the actions of a code block, inverting `translate` if it can produce the block.

    A block with more than calls of `computer` with plain arguments is returned as one `RunCode`.

    >>> [each.kind for each in parse_block("computer.mouse.move_id(id=4)\ncomputer.mouse.double_click()")]
    ['click']
    """
    if code.strip() in _WORDS:
        return (_WORDS[code.strip()](),)
    try:
        calls = [_call(each) for each in ast.parse(code).body]
        return tuple(_fused(calls))
    except (_TooMuchError, SyntaxError, ValueError, RecursionError, MemoryError):
        return (RunCode(code=code),)


class _TooMuchError(Exception):
    """The block does more than actions can express."""


_Actions = tuple[Action, ...]


def _tried(read: Callable[[str], _Actions | None], text: str) -> _Actions | ReplyError | None:
    try:
        return read(text)
    except ReplyError as error:
        return error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "reply"
        return ReplyError(f"{where}: {first['msg']}")


def _all_json(text: str) -> _Actions | None:
    given = text.strip()
    return _from_json(given) if given.startswith(("[", "{")) else None


def _as_vanilla(text: str) -> _Actions:
    taken = parse_reply(text)
    return tuple(_WORDS[each]() if each in _WORDS else RunCode(code=each) for each in taken)


def _json_block(text: str) -> _Actions | None:
    found = _JSON.search(text)
    return _from_json(found[1].strip()) if found else None


def _filled(code: str) -> str:
    """Refuse a block without code, which has no effect, or raises in vanilla's agent."""
    if not code.strip():
        raise ReplyError("the ```python block is empty")
    return code


def _from_json(text: str) -> _Actions:
    given = TypeAdapter(Any).validate_json(text)
    actions = _ACTIONS.validate_python(tuple(given) if isinstance(given, list) else (given,))
    if not actions:
        raise ReplyError("the reply is an empty list of actions")
    return actions


def _call(node: ast.stmt) -> tuple[str, dict[str, Any]]:
    """Return name and arguments of a statement that is one call of `computer`."""
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        raise _TooMuchError
    call = node.value
    name = ast.unparse(call.func)
    names = _PARAMETERS.get(name)
    if names is None or len(call.args) > len(names):
        raise _TooMuchError
    given = {n: ast.literal_eval(a) for n, a in zip(names, call.args, strict=False)}
    given |= {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
    if set(given) - set(names):
        raise _TooMuchError
    return name, given


_PARAMETERS = {
    "computer.mouse.move_id": ("id",),
    "computer.mouse.move_abs": ("x", "y"),
    "computer.mouse.single_click": (),
    "computer.mouse.double_click": (),
    "computer.mouse.right_click": (),
    "computer.keyboard.write": ("text",),
    "computer.keyboard.press": ("key",),
}
_CLICKS: dict[str, dict[str, Any]] = {
    "computer.mouse.single_click": {},
    "computer.mouse.double_click": {"count": 2},
    "computer.mouse.right_click": {"button": "right"},
}


def _fused(calls: list[tuple[str, dict[str, Any]]]) -> list[Action]:
    """Join a move and the click after it; a click without a move has no target and stays code."""
    actions: list[Action] = []
    for name, given in calls:
        last = actions[-1] if actions else None
        if name in _CLICKS:
            if not isinstance(last, Move):
                raise _TooMuchError
            actions[-1] = Click(target=last.target, **_CLICKS[name])
        else:
            actions.append(_single(name, given))
    return actions


def _single(name: str, given: dict[str, Any]) -> Action:
    if name == "computer.mouse.move_id":
        return Move(target=ElementRef(element=str(int(given["id"]))))
    if name == "computer.mouse.move_abs":
        return Move(target=Point(x=given["x"], y=given["y"], unit="relative"))
    if name == "computer.keyboard.write":
        return TypeText(text=str(given["text"]))
    return PressKeys(keys=_split(str(given["key"])))


def _split(key: str) -> tuple[str, ...]:
    """Split a combination as WAA's keyboard does."""
    if len(key) > 1 and ("+" in key or "-" in key):
        return tuple(part.strip() for part in key.split("+" if "+" in key else "-"))
    return (key,)
