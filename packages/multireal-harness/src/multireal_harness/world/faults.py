"""Faults of the built-in apps, switched on for tests of code that must handle them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

FaultKind = Literal[
    "drop", "status", "slow", "stall", "garbage", "odd_json", "invalid_json", "no_pre"
]
"""`drop`: close the connection; `status`: answer with the status `value`; `slow`: answer after
`value` seconds; `stall`: never answer; `garbage`: answer with bytes that are not HTTP; `odd_json`: answer
with `ODD_JSON[value]`; `invalid_json`, `no_pre`: `/finish` shows broken JSON, or no `<pre>`."""
ODD_JSON = (
    "[]", '"a state"', "null", "7", "{}", '{"error": "out of order"}', '{"finalstate": ' * 300 + "1" + "}" * 300,
)  # fmt: skip
"""JSON that is not a state."""

FAULTS: tuple[FaultKind, ...] = get_args(FaultKind)

_PAGES = {"config": "/config", "finish": "/finish", "page": "/"}
_FAULT = re.compile(
    r"(?P<page>[\w/-]+)=(?:(?P<status>[45]\d\d)|slow:(?P<seconds>\d+(?:\.\d+)?)|(?P<kind>[a-z_]+?))(?:x(?P<times>\d+))?"
)


@dataclass(frozen=True)
class AppFault:
    """One fault of one app; with `times` None it lasts until it is cleared."""

    app: str
    kind: FaultKind
    path: str = "/"
    times: int | None = None
    value: float = 0


def read_faults(text: str) -> tuple[AppFault, ...]:
    """Read `app=dining,finish=503x2`: an app, and for each page a fault and how often it occurs.

    A page is `finish`, `config`, `page` (all) or a path; a fault is a status, `slow:SECONDS`, `drop`,
    `stall`, `garbage`, `odd_json`, `invalid_json` or `no_pre`.

    Raises:
        ValueError: It is not of this form; the message names the part.

    >>> read_faults("app=dining,finish=503x2")
    (AppFault(app='dining', kind='status', path='/finish', times=2, value=503.0),)
    """
    first, *rest = [each.strip() for each in text.split(",")]
    name, _, app = first.partition("=")
    if name != "app" or not app or not rest:
        raise ValueError(
            f"{text!r}: begin with app=NAME, then PAGE=WHAT, e.g. app=dining,finish=503x2"
        )
    return tuple(_read(app, each) for each in rest)


def _read(app: str, text: str) -> AppFault:
    found = _FAULT.fullmatch(text)
    if found is None:
        raise ValueError(
            f"{text!r} is not a fault: write PAGE=WHAT, e.g. finish=503x2 or page=slow:3"
        )
    path = _PAGES.get(found["page"], found["page"])
    if not path.startswith("/"):
        raise ValueError(
            f"{found['page']!r} is not a page: {', '.join(_PAGES)} or a path that begins with /"
        )
    times = None if found["times"] is None else int(found["times"])
    if found["status"]:
        return AppFault(app, "status", path, times, float(found["status"]))
    if found["seconds"]:
        return AppFault(app, "slow", path, times, float(found["seconds"]))
    for kind in FAULTS:
        if kind == found["kind"] and kind not in {"status", "slow"}:
            return AppFault(app, kind, path, times)
    raise ValueError(
        f"{found['kind']!r} is not a fault: a status, slow:SECONDS, drop, stall, garbage, odd_json, "
        "invalid_json, no_pre"
    )
