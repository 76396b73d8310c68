"""What apps noted of their own states, told step by step."""

from __future__ import annotations

import gzip
import json
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

import pytest

from bench_core.records import Step
from bench_report.html_page.state_changes import read_changes
from bench_report.html_page.steps import StepReader
from bench_report.run_data.artifacts import TrialFolder

if TYPE_CHECKING:
    from pathlib import Path

START = datetime(2026, 3, 1, 9, tzinfo=timezone.utc)


def noted(kind: str, seconds: float, **payload: Any) -> dict[str, Any]:
    return {"type": kind, "payload": payload, "timestamp": (START.timestamp() + seconds) * 1000}


def leave(folder: Path, states: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "finish_state.json.gz").write_bytes(gzip.compress(json.dumps(states).encode()))
    return folder


def steps_of(folder: Path, *seconds: float | None) -> list[dict[str, Any]]:
    lines = [
        Step(step=n, started=None if at is None else START + timedelta(seconds=at))
        for n, at in enumerate(seconds, 1)
    ]
    (folder / "trajectory.jsonl").write_text("".join(f"{x.model_dump_json()}\n" for x in lines))
    reader = StepReader(lambda _, href: href)
    return reader.steps_of(TrialFolder(folder, "x"), (), read_changes(folder))[0]


def test_changes_stand_at_the_step_during_which_they_were(tmp_path: Path) -> None:
    mail = [
        noted("config/set", 1),
        noted("router/locationChange", 11),
        noted("email/send", 22, id="m1"),
    ]
    events = [noted("calendar/createEvent", 13, title="Review"), noted("calendar/deleteEvent", 29)]
    folder = leave(tmp_path / "t", {"mail": {"actionhistory": mail}, "calendar": {"actionhistory": events}})  # fmt: skip

    shown = [each.get("changed") for each in steps_of(folder, 0, 10, 20)]

    assert shown == [
        None,
        [["calendar", "calendar/createEvent", '{"title": "Review"}']],
        [["mail", "email/send", '{"id": "m1"}'], ["calendar", "calendar/deleteEvent", "{}"]],
    ]


def test_the_difference_of_the_end_stands_at_the_last_step(tmp_path: Path) -> None:
    difference = {"added": {"emails": {"8": "hello"}, "config": {"latency": 0}}, "deleted": {}}
    states = {"mail": {"initialfinaldiff": difference}, "travel": {"initialfinaldiff": {"updated": {"config": {}}}}}  # fmt: skip

    shown = steps_of(leave(tmp_path / "t", states), 0, 10)

    assert [each.get("difference") for each in shown] == [
        None,
        [["mail", '{"added": {"emails": {"8": "hello"}}}']],
    ]


def test_steps_without_times_have_the_end_alone(tmp_path: Path) -> None:
    state = {"actionhistory": [noted("email/send", 1)], "initialfinaldiff": {"added": {"a": 1}}}

    shown = steps_of(leave(tmp_path / "t", {"mail": state}), None, None)

    assert [sorted(set(each) & {"changed", "difference"}) for each in shown] == [[], ["difference"]]


@pytest.mark.parametrize(
    "states",
    [
        [], 7, None, {"mail": 7}, {"mail": {"actionhistory": 7, "initialfinaldiff": []}},
        {"mail": {"actionhistory": [7, {}, {"type": [], "timestamp": "x"}, {"type": "a", "timestamp": -1}]}},
        {"mail": {"actionhistory": [{"type": "a", "timestamp": 1e300}, {"type": "a", "timestamp": float("nan")}]}},
    ],
)  # fmt: skip
def test_states_of_another_shape_say_nothing(states: Any, tmp_path: Path) -> None:
    found = read_changes(leave(tmp_path / "t", states))

    assert (found.changes, found.differences) == ([], [])


def test_damaged_and_endless_states_are_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    for data in (b"", b"nonsense", gzip.compress(b"[" * 100_000), gzip.compress(b" " * 40_000_000)):
        (folder / "finish_state.json.gz").write_bytes(data)

        assert read_changes(folder) == ([], [])


def test_what_is_long_is_cut_and_hidden_characters_are_shown(tmp_path: Path) -> None:
    actions = [noted("W" * 10_000, n, text="\u202e" + "W" * 20_000) for n in range(400)]

    found = read_changes(leave(tmp_path / "t", {"a\x1b": {"actionhistory": actions}})).changes

    assert len(found) == 300
    assert found[0].app == "a␛"
    assert max(len(found[0].kind), len(found[0].payload or "")) < 500
    assert "\u202e" not in (found[0].payload or "")
