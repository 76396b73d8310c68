"""What a model was sent and replied, in the page beside the step that it belongs to."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from bench_core.records import ArtifactFile, CallPart, CallTurn, ModelCall, Step, Usage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Builds, Built, Results, Runs, Visits

START = datetime(2026, 1, 1, tzinfo=timezone.utc)


def call(number: int, second: float, *parts: CallPart, **fields: Any) -> ModelCall:
    turn = CallTurn(at=2 * number - 2, role="user", parts=parts)
    return ModelCall(
        call=number,
        model="openai:m",
        started=START + timedelta(seconds=second),
        length=2 * number - 1,
        turns=(turn,),
        **fields,
    )


def text(words: str) -> CallPart:
    return CallPart(type="text", text=words)


CALLS = [
    call(
        1,
        0.5,
        text("Find the cheapest lamp."),
        CallPart(type="picture", sha256="PIXEL"),
        system=text("You act in a browser."),
        tools=({"name": "click"},),
        reply=(CallPart(type="call", name="click", arguments={"element": "7"}),),
        stop="tool_use",
        usage=Usage(requests=1, input_tokens=1200, output_tokens=30),
        model_reported="m-2026",
    ),
    call(
        2,
        10.5,
        CallPart(
            type="result", name="click", failed=True, content=(text("covered by <a dialog>"),)
        ),
        reply=(text("I give up"),),
        error="cut off",
    ),
]


@pytest.fixture
def page_of(
    scored_run: Runs,
    scored_result: Results,
    add_trajectory: Callable[..., Path],
    build: Builds,
    pixel: bytes,
) -> Callable[..., Built]:
    """Return the page of a run whose only trial made these calls."""

    def built(calls: list[ModelCall], steps: int, name: str = "conversation.jsonl") -> Built:
        digest = hashlib.sha256(pixel).hexdigest()
        file = ArtifactFile(path="screenshots/step-001.png", size=len(pixel), sha256=digest)
        run = scored_run({"t1": [1]}, results=[scored_result("t1", 1, 1.0, artifacts=(file,))])
        taken = [
            Step(step=n, started=START + timedelta(seconds=10 * (n - 1)), duration_s=1)
            for n in range(1, steps + 1)
        ]
        folder = add_trajectory(run, "t1", taken)
        if not steps:
            (folder / "trajectory.jsonl").unlink()
        lines = [each.model_dump_json().replace("PIXEL", digest) for each in calls]
        (folder / name).write_text("\n".join([*lines, '{"torn": ']), encoding="utf-8")
        return build(run)

    return built


@pytest.fixture
def steps_shown(page_of: Callable[..., Built]) -> Callable[..., list[dict[str, Any]]]:
    """Return the steps of the page of a run whose only trial made these calls."""
    return lambda *of: page_of(*of).embedded("evidence-0")[0]["steps"]


@pytest.mark.parametrize("name", ["conversation.jsonl", "proxied_calls.jsonl"])
def test_each_call_is_beside_the_step_during_which_it_was_made(
    steps_shown: Callable[..., Any], name: str
) -> None:
    first, second = steps_shown(CALLS, 2, name)

    (asked,) = first["model"]
    assert asked["sent"] == [
        ["system", "You act in a browser."],
        ["tools", json.dumps([{"name": "click"}], indent=1)],
        ["user", "Find the cheapest lamp."],
        ["user", "(picture: screenshots/step-001.png)"],
    ]
    assert asked["reply"] == [["call", 'click {"element": "7"}']]
    assert asked["facts"] == "1,200 tokens in, 30 out; stopped by tool_use; answered by m-2026"
    (asked,) = second["model"]
    assert asked["sent"] == [["result of click, failed", "covered by <a dialog>"]]
    assert (asked["kept"], asked["error"]) == (2, "cut off")


def test_calls_of_an_agent_that_writes_no_steps_are_shown_one_by_one(
    steps_shown: Callable[..., Any],
) -> None:
    steps = steps_shown(CALLS, 0)

    assert [each["step"] for each in steps] == [1, 2]
    assert steps[0]["model"][0]["reply"] == [["call", 'click {"element": "7"}']]


def test_a_page_holds_so_much_of_long_conversations_and_no_more(
    steps_shown: Callable[..., Any],
) -> None:
    calls = [call(n, n / 100, text("x" * 4_000)) for n in range(1, 202)]
    (step,) = steps_shown(calls, 1)

    cut = [each["cut"] for each in step["model"]]
    assert (cut.count(True) > 50, cut[0], cut[-1]) == (True, False, True)


@pytest.mark.browser
def test_what_was_sent_and_replied_can_be_read_beside_the_picture(
    page_of: Callable[..., Built], visit: Visits
) -> None:
    built = page_of(CALLS, 2)
    run_id = built.report.runs[0].info.run_id
    fragment = "#open=" + quote(json.dumps([run_id, "t1", 1])) + "&step=2"
    page = visit().open(built, fragment)
    page.keyboard.press("m")

    sent = page.locator(".turn.failed pre")
    assert sent.inner_text() == "covered by <a dialog>"
    assert (sent.bounding_box() or {"width": 0})["width"] > 100
    assert page.inner_text(".step-side .problem") == "cut off"
    assert "after 2 earlier turns" in page.inner_text(".step-side")
    page.keyboard.type("lamp")
    assert page.locator(".messages .turn:visible").count() == 0
    page.keyboard.press("Escape")
    page.fill(".messages input", "dialog")
    assert page.locator(".messages .turn:visible").count() == 1
