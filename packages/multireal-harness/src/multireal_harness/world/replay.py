"""Replays the histories of the built-in apps: computes an end state from its recorded actions alone.

It repeats the logic of the apps' own scripts in Python, on captured data: no script of a page takes part.
"""

from __future__ import annotations

import copy
import functools
import json
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from types import MappingProxyType
from typing import Any

from multireal_harness.world.clones import APPS

_State = dict[str, Any]
_UNCOMPARED = frozenset({"router", "_persist"})
_NUMBERS, _SWITCHES = (
    frozenset({"latency", "padding_mb"}),
    frozenset({"removePopup", "hide_aria_labels", "error_saving"}),
)
_NAVIGATION = "router/locationChange"
_REJECTED = "/rejected"
# an app page's own facts before any agent has begun
_READ = """() => {
  const { app, history } = document.documentElement.dataset;
  return history === 'complete' ? [app, localStorage.getItem(`persist:${app}`)] : null;
}"""


class ReplayError(ValueError):
    """A history has an action that the app would not have made."""


class Beginning:
    """An app as the agent found it.

    Args:
        app: Which of the built-in apps.
        initial: Its first state.
        actions: Its history so far.
    """

    def __init__(self, app: str, initial: _State, actions: Sequence[Any]) -> None:
        self.app = app
        self.initial = initial
        self.actions = list(actions)


@functools.cache
def table(name: str) -> dict[str, Any]:
    """Return the table of the apps' actions.

    - `buttons`: of an action, the buttons that it follows.
    - `written`: of an action, the parts of its payload that a user writes, and the fields they are typed into.
    - `differences`: of an app, the differences that it reports: the place of the things, and their keys.
    """
    file = resources.files(__package__).joinpath("actions.json")
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))[name]
    return found


async def read_beginning(page: Any) -> Beginning | None:
    """Read an app in its opened page; None for an app whose history cannot be replayed.

    Args:
        page: Playwright's, before an agent gets it.
    """
    found = await page.evaluate(_READ)
    if not found or found[0] not in APPS or found[1] is None:
        return None
    store = json.loads(found[1])
    return Beginning(found[0], store["initial"], store["actions"])


def disagreements(beginning: Beginning, report: Mapping[str, Any]) -> list[str]:
    """Return the parts of an end state that the app's own history does not lead to; empty if all agrees.

    Args:
        beginning: The app before the agent.
        report: The content of its `/finish`.
    """
    actions = report.get("actionhistory")
    final, initial = report.get("finalstate"), report.get("initialstate")
    if (
        not isinstance(actions, list)
        or not isinstance(final, dict)
        or not isinstance(initial, dict)
    ):
        return ["the end state is not one of this app"]
    final = {name: value for name, value in final.items() if name != "padding"}
    found = []
    if not _same(initial, beginning.initial):
        found.append("its first state is not the one that the agent found")
    if not _same(actions[: len(beginning.actions)], beginning.actions):
        found.append("its history does not begin as it did when the agent began")
    try:
        if not _same(_replayed(beginning.app, beginning.initial, actions), final):
            found.append("its history leads to another state")
        shown = {name: report.get(name) for name in table("differences")[beginning.app]}
        shown["initialfinaldiff"] = report.get("initialfinaldiff")
        if not _same(_differences(beginning.app, initial, final), shown):
            found.append("its differences are not those of its states")
    except (ReplayError, KeyError, TypeError, ValueError, AttributeError) as error:
        # a forged history or state may have any shape
        found.append(f"its history cannot be replayed: {error!r}"[:200])
    return found


def report_before(app: str, report: Mapping[str, Any], end_ms: float) -> dict[str, Any]:
    """Return the content of `/finish` at an earlier time, from an end state that agrees with its history.

    Args:
        app: Which of the built-in apps.
        report: The content of its `/finish` at the end.
        end_ms: The time, in milliseconds since 1970; actions before it count.
    """
    initial = report["initialstate"]
    actions = [each for each in report["actionhistory"] if each["timestamp"] < end_ms]
    state = _replayed(app, initial, actions)
    return {
        **_differences(app, initial, state),
        "actionhistory": actions, "initialstate": initial, "finalstate": state, "state": state,
    }  # fmt: skip


def _replayed(app: str, initial: _State, actions: Sequence[Any]) -> _State:
    state = copy.deepcopy(initial)
    for index, action in enumerate(actions):
        if (action["index"], action["id"]) != (index, f"{app}-{index}"):
            raise ReplayError(f"action {index} has the number of another")
        _apply(app, state, str(action["type"]), copy.deepcopy(action.get("payload")))
    return state


def _apply(app: str, state: _State, kind: str, payload: Any) -> None:
    if kind == _NAVIGATION:
        state["router"].update(payload)
    elif kind == "config/set":
        state["config"][app].update({name: _knob(name, text) for name, text in payload.items()})
    elif kind == "config/closePopup":
        state["config"][app]["removePopup"] = True
    elif kind in _ACTIONS[app]:
        _ACTIONS[app][kind](state, payload)
    elif kind.removesuffix(_REJECTED) not in _ACTIONS[app] and kind not in _WITHOUT_CHANGE:
        raise ReplayError(f"{app} has no action {kind[:60]!r}")


def _knob(name: str, text: str) -> Any:
    if name in _NUMBERS:
        number = float(text)
        return int(number) if number.is_integer() else number
    return text == "true" if name in _SWITCHES else text


def _one(things: list[Any], ident: str) -> dict[str, Any]:
    for each in things:
        if each["id"] == ident:
            found: dict[str, Any] = each
            return found
    raise ReplayError(f"there is nothing with the id {ident!r}")


def _without(things: list[Any], ident: str) -> list[Any]:
    return [each for each in things if each["id"] != ident]


def _marks(name: str) -> Callable[[_State, Any], None]:
    def mark(state: _State, payload: Any) -> None:
        _one(state["email"]["emails"], payload["id"])[name] = True

    return mark


def _keeps_in(part: str, name: str) -> Callable[[_State, Any], None]:
    def keep(state: _State, payload: Any) -> None:
        state[part][name] = [*_without(state[part][name], payload["id"]), payload]

    return keep


def _removes_from(part: str, name: str) -> Callable[[_State, Any], None]:
    def remove(state: _State, payload: Any) -> None:
        state[part][name] = _without(state[part][name], payload["id"])

    return remove


def _star(state: _State, payload: Any) -> None:
    mail = _one(state["email"]["emails"], payload["id"])
    mail["starred"] = not mail["starred"]


def _toggle_saved(state: _State, payload: Any) -> None:
    saved = state["savedRestaurants"]["savedRestaurants"]
    kept = _without(saved, payload["id"])
    more = [payload["restaurant"]] if len(kept) == len(saved) else []
    state["savedRestaurants"]["savedRestaurants"] = [*kept, *more]


def _adds_to(part: str, name: str) -> Callable[[_State, Any], None]:
    def add(state: _State, payload: Any) -> None:
        state[part][name].append(payload)

    return add


_WITHOUT_CHANGE = frozenset({"submit", "flightSearch/search", "search/stays"})
_ACTIONS: Mapping[str, Mapping[str, Callable[[_State, Any], None]]] = MappingProxyType(
    {
        "mail": {
            "email/markRead": _marks("isRead"),
            "email/star": _star,
            "email/trash": _marks("trash"),
            "email/send": _keeps_in("email", "emails"),
            "email/saveDraft": _keeps_in("email", "emails"),
        },
        "calendar": {
            "calendar/createEvent": _keeps_in("calendar", "myEvents"),
            "calendar/updateEvent": _keeps_in("calendar", "myEvents"),
            "calendar/deleteEvent": _removes_from("calendar", "myEvents"),
        },
        "dining": {
            "booking/confirm": _adds_to("booking", "bookingDetails"),
            "booking/cancel": _removes_from("booking", "bookingDetails"),
            "review/post": _adds_to("review", "reviews"),
            "savedRestaurants/toggle": _toggle_saved,
        },
        "travel": {
            "booking/bookFlight": _adds_to("booking", "bookedFlights"),
            "booking/reserveStay": _adds_to("booking", "bookingDetails"),
            "wishlist/add": _adds_to("wishlist", "stays"),
        },
    }
)


def _differences(app: str, initial: _State, final: _State) -> dict[str, Any]:
    def of(place: Any) -> Any:
        if isinstance(place, dict):
            return {name: of(each) for name, each in place.items()}
        part, name, by = place
        return _changes(initial[part][name], final[part][name], by)

    shown = {name: of(place) for name, place in table("differences")[app].items()}
    return {**shown, "initialfinaldiff": _difference(initial, final)}


def _changes(before: list[Any], after: list[Any], by: str | None) -> dict[str, Any]:
    old, young = ({each["id"]: each for each in things} for things in (before, after))

    def packed(things: list[Any]) -> Any:
        if by is None:
            return things
        return {str(n) if by == "index" else each[by]: each for n, each in enumerate(things)}

    return {
        "added": packed([each for each in after if each["id"] not in old]),
        "deleted": packed([each for each in before if each["id"] not in young]),
        "updated": packed(
            [e for e in after if e["id"] in old and json.dumps(old[e["id"]]) != json.dumps(e)]
        ),
    }


def _difference(before: Any, after: Any) -> dict[str, Any]:
    """Return the additions, deletions and updates between two trees; lists count as objects."""
    old, young = _as_object(before), _as_object(after)
    found: dict[str, Any] = {"added": {}, "deleted": {}, "updated": {}}
    for key in dict.fromkeys([*old, *young]):
        if key in _UNCOMPARED:
            continue
        if key not in old:
            found["added"][key] = young[key]
        elif key not in young:
            found["deleted"][key] = old[key]
        elif isinstance(old[key], dict | list) and isinstance(young[key], dict | list):
            inner = _difference(old[key], young[key])
            for part, changed in inner.items():
                if changed:
                    found[part][key] = changed
        elif not _same(old[key], young[key]):
            found["updated"][key] = young[key]
    return found


def _as_object(tree: Any) -> dict[str, Any]:
    return {str(n): each for n, each in enumerate(tree)} if isinstance(tree, list) else tree


def _same(one: Any, other: Any) -> bool:
    """Compare as JSON: Python takes `true` for 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
