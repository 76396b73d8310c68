"""How a task ends, and what of a turn is carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from bench_core.agents import (
    Action,
    ActionResult,
    Click,
    Decision,
    Done,
    Drag,
    ElementRef,
    Fail,
    Goto,
    HoldKeys,
    KeyDown,
    KeyUp,
    LoopAgent,
    MouseDown,
    MouseUp,
    Move,
    Observation,
    PageText,
    Point,
    PressKeys,
    Screenshot,
    Scroll,
    ScrollTo,
    SetValue,
    SwitchTab,
    TypeText,
    Wait,
)
from bench_core.agents.ending import answer_form, answer_from_text, answer_of, ending_tools
from bench_core.agents.prompts import task_text
from bench_core.models import ImagePart
from bench_core.protocols import DesktopHandle, TrialContext
from bench_core.records import AgentTask, Limits, Status

if TYPE_CHECKING:
    from pathlib import Path

FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "status": {"enum": ["SUCCESS", "NOT_FOUND"]},
        "data": {"type": ["array", "null"]},
    },
    "required": ["status"],
}
GOOD = {"status": "SUCCESS", "data": None}
HERE = Point(x=1, y=1)
BUTTON = ElementRef(element="1")


def task(**stated: Any) -> AgentTask:
    return AgentTask(benchmark="b", task_id="t", goal="Do it.", **stated)


class Place:
    """An environment that does what it is given and notes it; `breaks` and `turns` name kinds of actions."""

    def __init__(self, breaks: str = "", turns: str = "", *, asked: bool = False) -> None:
        self.done: list[str] = []
        self._asked = asked
        self._breaks = breaks
        self._turns = turns

    async def observe(self) -> Observation:
        return Observation(screenshot=ImagePart(data="AAAA"))

    async def act(self, action: Action) -> ActionResult:
        if action.kind == self._breaks:
            return ActionResult(ok=False, error="it broke")
        self.done.append(action.kind)
        changed = "the page is now 'Orders'" if action.kind == self._turns else ""
        return ActionResult(changed=changed, asked=bool(changed) and self._asked)


class Script:
    """Decides what its lines say, and keeps what it was shown."""

    def __init__(self, lines: list[tuple[Action, ...]]) -> None:
        self.seen: list[Observation] = []
        self._lines = iter(lines)

    async def act(self, observation: Observation) -> Decision:
        self.seen.append(observation)
        return Decision(actions=next(self._lines))


async def run(
    folder: Path, given: AgentTask, place: Place, *lines: tuple[Action, ...], steps: int = 8
) -> Any:
    script = Script(list(lines))
    context = TrialContext(run_id="r", folder=folder, limits=Limits(max_steps=steps))
    handle = DesktopHandle(url="http://127.0.0.1:9").with_live(lambda: place)
    agent = LoopAgent("script", lambda *_: script)
    return await agent.run(given, handle, context), script.seen


async def test_an_ending_of_another_form_is_answered_and_asked_again(tmp_path: Path) -> None:
    outcome, seen = await run(
        tmp_path,
        task(answer_schema=FORM),
        Place(),
        (Done(answer="it is done"),),
        (Done(answer=GOOD),),
    )
    assert (outcome.status, outcome.answer, outcome.flags) == (Status.COMPLETED, GOOD, ())
    assert "the answer does not have the form asked for" in str(seen[1].results[0].error)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (None, "None is not of type 'object'"),
        ({}, "'status' is a required property"),
        ({"status": "MAYBE"}, "'MAYBE' is not one of"),
        ({"status": "SUCCESS", "data": "x"}, "'x' is not of type 'array', 'null'"),
        ([GOOD], "is not of type 'object'"),
        (7, "7 is not of type 'object'"),
    ],
)
async def test_what_is_wrong_with_an_answer_is_named(
    tmp_path: Path, answer: Any, problem: str
) -> None:
    _, seen = await run(
        tmp_path, task(answer_schema=FORM), Place(), (Done(answer=answer),), (Done(answer=GOOD),)
    )
    assert problem in str(seen[1].results[0].error)


async def test_an_agent_that_insists_ends_as_it_said_and_is_flagged(tmp_path: Path) -> None:
    wrong = (Done(answer="prose"),)
    outcome, seen = await run(
        tmp_path, task(answer_schema=FORM), Place(), wrong, wrong, wrong, wrong
    )
    assert (outcome.status, outcome.answer, len(seen)) == (Status.COMPLETED, "prose", 3)
    assert outcome.flags == ("malformed_ending",)


async def test_on_the_last_step_there_is_no_time_to_ask_again(tmp_path: Path) -> None:
    outcome, _ = await run(
        tmp_path, task(answer_schema=FORM), Place(), (Done(answer="x"),), steps=1
    )
    assert (outcome.status, outcome.answer, outcome.flags) == (
        Status.COMPLETED, "x", ("malformed_ending",),
    )  # fmt: skip


async def test_where_the_benchmark_does_not_say_any_answer_will_do(tmp_path: Path) -> None:
    outcome, _ = await run(tmp_path, task(), Place(), (Done(answer=[7]),))
    assert (outcome.answer, outcome.flags) == ([7], ())


async def test_giving_up_is_an_ending_only_where_the_benchmark_knows_it(tmp_path: Path) -> None:
    fail = (Fail(reason="no button"),)
    outcome, _ = await run(tmp_path / "may", task(), Place(), fail)
    assert (outcome.answer, outcome.flags) == ({"gave_up": "no button"}, ("gave_up",))
    outcome, seen = await run(
        tmp_path / "may-not",
        task(answer_schema=FORM, can_fail=False),
        Place(),
        fail,
        (Done(answer=GOOD),),
    )
    assert (outcome.answer, outcome.flags) == (GOOD, ())
    assert "call `done`" in str(seen[1].results[0].error)


async def test_each_action_has_a_result_and_none_is_done_after_one_that_failed(
    tmp_path: Path,
) -> None:
    place = Place(breaks="scroll")
    turn = (Click(target=HERE), Scroll(dy=1), Wait(seconds=0), TypeText(text="a"), Done(answer=1))
    _, seen = await run(tmp_path, task(), place, turn, (Done(),))
    results = seen[1].results
    assert place.done == ["click"]
    assert [(each.ok, each.carried_out) for each in results] == [
        (True, True), (False, True), (False, False), (False, False), (False, False),
    ]  # fmt: skip
    assert {each.error for each in results[2:]} == {
        "not carried out: an earlier action of this turn failed"
    }


AIMED = [
    Click(target=BUTTON), Move(target=HERE), MouseDown(), Drag(start=HERE, end=HERE), Scroll(dy=1),
    ScrollTo(target=BUTTON), TypeText(text="a"), SetValue(target=BUTTON, value="a"),
    PressKeys(keys=("enter",)), HoldKeys(keys=("a",)), KeyDown(key="a"),
]  # fmt: skip


@pytest.mark.parametrize("action", AIMED, ids=lambda each: each.kind)
async def test_what_aims_at_what_was_seen_is_not_done_on_another_page(
    tmp_path: Path, action: Action
) -> None:
    place = Place(turns="back")
    turn = (Goto(url="http://a.test"), action)
    _, seen = await run(tmp_path, task(), Place(turns="goto"), turn, (Done(),))
    assert seen[1].results[1] == ActionResult(
        ok=False,
        error="not carried out: the page is now 'Orders'; look at what is there now, then act",
        carried_out=False,
    )
    assert place.done == []


@pytest.mark.parametrize("action", AIMED, ids=lambda each: each.kind)
async def test_in_a_tab_that_the_agent_chose_ids_and_keys_are_meant_for_it_and_places_are_not(
    tmp_path: Path, action: Action
) -> None:
    place = Place(turns="switch_tab", asked=True)
    await run(tmp_path, task(), place, (SwitchTab(index=1), action), (Done(),))
    by_place = action.kind in {"move", "mouse_down", "drag", "scroll"}
    assert place.done == ["switch_tab", *([] if by_place else [action.kind])]


@pytest.mark.parametrize(
    "action",
    [
        pytest.param(Click(), id="where the pointer is"),
        pytest.param(Click(target=HERE), id="a point"),
        pytest.param(TypeText(text="a", target=HERE), id="typed at a point"),
        pytest.param(Drag(start=BUTTON, end=BUTTON, path=(HERE,)), id="dragged by way of a point"),
    ],
)
async def test_a_place_is_that_of_the_tab_that_was_seen(tmp_path: Path, action: Action) -> None:
    place = Place(turns="switch_tab", asked=True)
    await run(tmp_path, task(), place, (SwitchTab(index=1), action), (Done(),))
    assert place.done == ["switch_tab"]


@pytest.mark.parametrize(
    "action",
    [Wait(seconds=0), PageText(), Goto(url="http://b.test"), KeyUp(key="a"), MouseUp()],
    ids=lambda each: each.kind,
)
async def test_looking_waiting_loading_and_letting_go_go_on(tmp_path: Path, action: Action) -> None:
    place = Place(turns="click")
    _, seen = await run(tmp_path, task(), place, (Click(target=HERE), action), (Done(),))
    assert (place.done, seen[1].results[1].ok) == (["click", action.kind], True)


async def test_after_a_change_a_picture_can_be_taken_and_the_task_can_end(tmp_path: Path) -> None:
    place = Place(turns="click")
    outcome, _ = await run(
        tmp_path,
        task(),
        place,
        (Click(target=HERE), Screenshot(), TypeText(text="a"), Done(answer=2)),
    )
    assert (outcome.answer, place.done) == (2, ["click"])


def test_done_takes_the_form_of_the_answer_as_its_parameters() -> None:
    (done,) = ending_tools(task(answer_schema=FORM, can_fail=False))
    assert (done.name, done.parameters) == ("done", FORM)
    done, fail = ending_tools(task(answer_schema={"type": "string"}))
    assert (done.parameters["properties"], fail.name) == ({"answer": {"type": "string"}}, "fail")


@pytest.mark.parametrize(
    ("schema", "arguments", "answer"),
    [
        (FORM, GOOD, GOOD),
        ({"type": "object", "properties": {}}, {}, None),
        ({"type": "string"}, {"answer": "7"}, "7"),
        (None, {"answer": [1]}, [1]),
        (None, {}, None),
    ],
)
def test_the_answer_is_what_the_form_says(schema: Any, arguments: Any, answer: Any) -> None:
    assert answer_of(task(answer_schema=schema), arguments) == answer


@pytest.mark.parametrize(
    ("schema", "text", "answer"),
    [
        (FORM, '{"status": "SUCCESS"}', {"status": "SUCCESS"}),
        (FORM, '```json\n{"status": "SUCCESS"}\n```', {"status": "SUCCESS"}),
        (FORM, "It is done.", "It is done."),
        (None, "7", "7"),
    ],
)
def test_a_model_that_ends_in_words_gives_the_fields_as_json(
    schema: Any, text: str, answer: Any
) -> None:
    assert answer_from_text(task(answer_schema=schema), text) == answer


def test_the_form_in_words_names_every_field_and_value() -> None:
    form = answer_form(task(answer_schema=FORM))
    assert all(word in form for word in ("status", "SUCCESS", "NOT_FOUND", "data"))
    assert answer_form(task(answer_schema={"type": "object", "properties": {}})) == "nothing"


@pytest.mark.parametrize(
    ("of_run", "of_task", "known"), [(None, None, 30), (None, 7, 7), (5, 7, 5)]
)
async def test_who_decides_knows_how_often_it_may(
    tmp_path: Path, of_run: int | None, of_task: int | None, known: int
) -> None:
    texts: list[str] = []

    def begin(given: AgentTask, _context: TrialContext) -> Script:
        texts.append(task_text(given))
        return Script([(Done(),)])

    context = TrialContext(run_id="r", folder=tmp_path, limits=Limits(max_steps=of_run))
    handle = DesktopHandle(url="http://127.0.0.1:9").with_live(Place)
    given = task().model_copy(update={"limits": Limits(max_steps=of_task)})
    await LoopAgent("script", begin).run(given, handle, context)
    assert f"at most {known} turns" in texts[0]


async def test_where_no_answer_is_asked_for_any_will_do(tmp_path: Path) -> None:
    none = task(answer_schema={"type": "object", "properties": {}})
    for answer in (None, "It is done.", {}, [1]):
        outcome, _ = await run(tmp_path, none, Place(), (Done(answer=answer),))
        assert (outcome.answer, outcome.steps, outcome.flags) == (answer, 1, ())
