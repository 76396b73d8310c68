"""Compares the actions in an app's history with the input to its pages.

An action of a built-in app follows a press of one of its buttons, and a user's text was typed into one
of its fields. Actions that no press accounts for were made by a script that called the app itself, or
were written into its storage.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from multireal_harness.interactions import TYPED, Interactions
from multireal_harness.world.replay import Beginning, table

_NAVIGATION = "router/locationChange"
_PREFIX = re.compile(r"(?:(?:Re|Fwd): )*")


def changing_actions(beginning: Beginning, report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the actions in an end state's history since the beginning, without those of no one.

    An app that is opened or reloaded notes where it is by itself.
    """
    actions = report.get("actionhistory")
    later = actions[len(beginning.actions) :] if isinstance(actions, list) else []
    return [e for e in later if isinstance(e, dict) and e.get("type") != _NAVIGATION]


def unaccounted(beginning: Beginning, report: Mapping[str, Any], done: Interactions) -> list[str]:
    """Return actions that no interaction with the app's pages accounts for; none for honest work.

    Args:
        beginning: The app before the agent.
        report: The content of its `/finish`.
        done: The input to its pages.
    """
    actions = changing_actions(beginning, report)
    if len(actions) > done.total:
        return [f"{len(actions)} actions and {done.total} interactions with its pages"]
    return [*_not_pressed(actions, done), *_not_typed(beginning, actions, done)]


def _not_pressed(actions: Sequence[dict[str, Any]], done: Interactions) -> Iterator[str]:
    follows = table("buttons")  # any interaction will do for an action that is not there
    buttons = Counter(
        follows[kind]
        for each in actions
        if (kind := str(each.get("type")).removesuffix("/rejected")) in follows
    )
    for button, number in buttons.items():
        pressed = sum(n for label, n in done.pressed.items() if re.fullmatch(button, label))
        if number > pressed:
            yield f"{number} actions of {button!r}, which was pressed {pressed} times"


def _not_typed(
    beginning: Beginning, actions: Sequence[dict[str, Any]], done: Interactions
) -> Iterator[str]:
    # texts in a field before the agent types: an answer's recipient, a draft, an event
    shown = json.dumps(beginning.initial, ensure_ascii=False)
    for action in actions:
        written = table("written").get(str(action.get("type")), {})
        payload: Any = action.get("payload")
        for key, field in written.items() if isinstance(payload, dict) else ():
            # The texts in a field's value, without the app's prefix to an answer's subject
            value = payload.get(key)
            values = value if isinstance(value, list) else [value]
            texts = [_PREFIX.sub("", each, count=1) for each in values if isinstance(each, str)]
            for text in [each for each in texts if each]:
                typed = any(text[:TYPED] in held for held in done.typed.get(field, ()))
                if not typed and json.dumps(text, ensure_ascii=False)[1:-1] not in shown:
                    yield f"{action['type']} with a {key!r} that was not typed"
