"""What a model reads of an observation: once in full, then what has changed."""

from __future__ import annotations

import base64
import io
from typing import TYPE_CHECKING, Any

import pytest
from drawn import DrawnDesktop

from bench_core.agents import (
    ActionResult,
    Click,
    Decision,
    Element,
    ModelStepper,
    Observation,
    Tab,
    ToolCalling,
    TypeText,
    Wait,
    connect,
    observation_parts,
)
from bench_core.agents.dialects import all_dialects
from bench_core.agents.marks import with_marks
from bench_core.agents.observation_text import changed_parts, clicked_text, typed_text
from bench_core.models import Model, ModelRequest, ScriptedAdapter
from bench_core.models.records import ImagePart
from bench_core.records import Limits

if TYPE_CHECKING:
    from bench_core.protocols import DesktopHandle, TrialContext
    from bench_core.records import AgentTask

TODO = [
    "# To do",
    *(f'- [{n}] checkbox "Thing {n}" (unchecked)' for n in range(1, 21)),
    '[30] button "Add"',
]


def page(*lines: str, url: str = "http://todo.test/", **given: Any) -> Observation:
    return Observation(url=url, tabs=(url,), active_tab=0, text="\n".join(lines), **given)


def text_of(observation: Observation) -> str:
    part = observation_parts(observation)[0]
    assert part.type == "text"
    return part.text


def test_a_line_that_reads_otherwise_is_shown_as_it_reads_now() -> None:
    after = [each.replace('3" (unchecked)', '3" (checked)') for each in TODO]
    text = str(changed_parts(page(*TODO), page(*after)).text)
    assert text.splitlines()[1:] == [
        '~ - [3] checkbox "Thing 3" (checked)',
        '~ - [13] checkbox "Thing 13" (checked)',
    ]


def test_what_came_stands_after_what_is_before_it_and_what_went_is_named() -> None:
    came = [*TODO[:5], "- a new thing", *TODO[5:]]
    assert str(changed_parts(page(*TODO), page(*came)).text).splitlines()[1:] == [
        'after: - [4] checkbox "Thing 4" (unchecked)',
        "+ - a new thing",
    ]
    assert str(changed_parts(page(*came), page(*TODO)).text).splitlines()[1:] == ["- - a new thing"]


@pytest.mark.parametrize("lines", [TODO, ["One line"]])
def test_nothing_changed_is_said(lines: list[str]) -> None:
    assert "not changed" in str(changed_parts(page(*lines), page(*lines)).text)


def test_the_address_that_is_shown_is_not_in_the_result_as_well() -> None:
    there, here = (f"the page is now 'To do' (http://todo.test/{each})" for each in ("new", ""))
    results = (
        ActionResult(text="clicked button 'Save'", changed=there),
        ActionResult(changed=here),
    )
    shown = page(*TODO, url="http://todo.test/", results=results)
    assert text_of(shown).splitlines()[:2] == [
        f"Result of action 1: clicked button 'Save'; {there}",
        "Result of action 2: ok; the page is now 'To do'",
    ]


@pytest.mark.parametrize(
    ("typed", "holds", "said"),
    [
        ({"text": "13:25"}, "13:25", ""),
        ({"text": "13:25"}, "1:25 PM13:25", " (it holds '1:25 PM13:25')"),
        ({"text": "Hi", "enter": True}, "", " (it is empty), then Enter"),
        ({"text": "Hi\nyou"}, "Hi\n\nyou\n", ""),
        ({"text": "b"}, "a" * 200, f" (it holds '{'a' * 119}…')"),
        ({"text": "b", "enter": True}, None, ", then Enter"),
    ],
)
def test_typing_says_what_a_field_holds_that_is_not_what_was_typed(
    typed: dict[str, Any], holds: str | None, said: str
) -> None:
    action = TypeText(**typed)
    assert typed_text(action, "textbox 'End'", holds) == f"typed into textbox 'End'{said}"


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({}, "clicked"), ({"count": 2}, "double-clicked"), ({"count": 3}, "triple-clicked"),
        ({"button": "right"}, "right-clicked"),
    ],
)  # fmt: skip
def test_a_click_says_of_which_kind_it_was(how: dict[str, Any], said: str) -> None:
    assert clicked_text(Click(**how), "textbox 'Date'") == f"{said} textbox 'Date'"
    assert clicked_text(Click(**how), "") == ""


def test_a_scrolled_page_says_what_is_on_the_screen_now() -> None:
    before = [*TODO[:10], "--- the screen ends here: 900 px of the page are below ---", *TODO[10:]]
    after = [
        *TODO[:4],
        "--- the screen begins here: 300 px of the page are above ---",
        *TODO[4:16],
        "--- the screen ends here: 600 px of the page are below ---",
        *TODO[16:],
    ]
    assert str(changed_parts(page(*before), page(*after)).text).splitlines()[1:] == [
        f"--- the screen begins here: 300 px of the page are above, before: {TODO[4]}",
        f"--- the screen ends here: 600 px of the page are below, after: {TODO[15]}",
    ]


def test_another_page_and_one_that_is_mostly_new_are_shown_whole() -> None:
    elsewhere = page(*TODO, url="http://todo.test/other")
    assert changed_parts(page(*TODO), elsewhere) is elsewhere
    new = page(*(f"Line {n}" for n in range(30)))
    assert changed_parts(page(*TODO), new) is new


def test_a_desktops_elements_are_compared_as_well() -> None:
    elements = [Element(id=str(n), role="button", name=f"Key {n}") for n in range(20)]
    before = Observation(tabs=("Calculator",), active_tab=0, elements=tuple(elements))
    elements[7] = elements[7].model_copy(update={"states": ("disabled",)})
    after = changed_parts(before, before.model_copy(update={"elements": tuple(elements)}))
    assert text_of(after).splitlines()[-1] == '~ [7] button "Key 7" (disabled)'


def test_of_a_desktop_that_has_a_row_more_only_that_is_shown_with_the_window_above_it() -> None:
    elements = [
        Element(id=str(n), role="button", name=f"Key {n}", window="Calculator") for n in range(20)
    ]
    before = Observation(tabs=("Calculator",), active_tab=0, elements=tuple(elements))
    new = Element(id="20", role="button", name="OK", window="Question")
    after = before.model_copy(
        update={"tabs": ("Calculator", "Question"), "elements": (*elements, new)}
    )
    assert text_of(changed_parts(before, after)).splitlines()[1:] == [
        'after: [19] button "Key 19"', "+ Window 1: Question", '+ [20] button "OK"',
    ]  # fmt: skip


def test_results_and_notices_come_first_then_where_the_agent_is() -> None:
    tabs = (
        Tab(id="tab_1", url="http://a.test/", title="A"),
        Tab(id="tab_2", url="http://b.test/", title="B", active=True),
    )
    seen = page(
        '[1] button "Go"', url="http://b.test/", title="B", open_tabs=tabs, size=(640, 480),
        notices=("The page says: Saved",), elements=(Element(id="1", role="button", name="Go"),),
    ).model_copy(update={"active_tab": 1})  # fmt: skip
    assert text_of(seen).splitlines() == [
        "The page says: Saved",
        "Page: B http://b.test/",
        "Screen: 640 x 480 pixels",
        "Tab 0: A http://a.test/",
        "Tab 1: B http://b.test/ (active)",
        '[1] button "Go"',
    ]


def test_a_desktop_has_windows_and_elements_with_what_is_known_of_them() -> None:
    seen = Observation(
        tabs=("Settings",), active_tab=0,
        elements=(
            Element(id="4", role="combobox", name='The "best"', value="Dark", states=("focused",),
                    options=("Dark", "Light")),
        ),
    )  # fmt: skip
    assert text_of(seen).splitlines() == [
        "Window 0: Settings (active)",
        "Elements:",
        '[4] combobox "The "best"" = "Dark" (focused) options: Dark | Light',
    ]


def waiting(requests: list[ModelRequest]) -> Model:
    """Return a model that waits, and keeps what it is sent."""

    def reply(request: ModelRequest) -> dict[str, Any]:
        requests.append(request)
        return {"tool_calls": [{"name": "wait", "arguments": {"seconds": 0}}]}

    return Model(ScriptedAdapter(reply))


async def stepper(
    model: Model, task: AgentTask, context: TrialContext, **given: Any
) -> ModelStepper:
    made = ModelStepper(
        model, ToolCalling(**given), task, context, size=(640, 480), browser=True, images=None
    )
    await made.enter(DrawnDesktop())
    return made


async def test_a_model_gets_all_again_after_eight_changes_in_a_row(
    task: AgentTask, context: TrialContext
) -> None:
    requests: list[ModelRequest] = []
    acting = await stepper(waiting(requests), task, context)
    shown = []
    for number in range(11):
        after = [each.replace('5" (un', f'5" ({"un" * (number % 2)}') for each in TODO]
        assert (await acting.act(page(*after))).actions == (Wait(seconds=0),)
        last = requests[-1].messages[-1].parts[-1]
        content = last.content[-1] if last.type == "tool_result" else last
        assert content.type == "text"
        shown.append("# To do" in content.text)
    assert [number for number, whole in enumerate(shown) if whole] == [0, 9]


async def test_what_has_not_changed_is_not_shown_again_after_any_number_of_turns(
    task: AgentTask, context: TrialContext
) -> None:
    requests: list[ModelRequest] = []
    acting = await stepper(waiting(requests), task, context)
    for _ in range(12):
        await acting.act(page(*TODO))
    assert str(requests[-1].messages).count("# To do") == 1


async def test_where_a_models_own_loop_keeps_just_so_many_pictures_no_more_are_sent(
    task: AgentTask, context: TrialContext
) -> None:
    sent: list[int] = []

    def reply(request: ModelRequest) -> dict[str, Any]:
        sent.append(str(request.messages).count("ImagePart("))
        return {"text": "Thought: It loads.\nAction: wait()"}

    acting = ModelStepper(
        Model(ScriptedAdapter(reply)), all_dialects()["ui_tars_1_5"], task, context,
        size=(640, 480), browser=True, images=2,
    )  # fmt: skip
    await acting.enter(DrawnDesktop())
    for _ in range(5):
        await acting.act(await DrawnDesktop().observe())
    assert sent == [1, 2, 2, 2, 2]


async def test_a_model_is_told_when_few_turns_are_left(
    task: AgentTask, context: TrialContext
) -> None:
    requests: list[ModelRequest] = []
    limited = task.model_copy(update={"limits": Limits(max_steps=7)})
    acting = await stepper(waiting(requests), limited, context)
    for _ in range(7):
        await acting.act(page(*TODO))
    said = [str(each.messages[-1]) for each in requests]
    assert [n for n, text in enumerate(said, 1) if "You have 5 turns left" in text] == [3]
    assert [n for n, text in enumerate(said, 1) if "your last turn" in text] == [7]


async def test_a_model_without_pictures_is_sent_none(
    task: AgentTask, context: TrialContext
) -> None:
    requests: list[ModelRequest] = []
    acting = await stepper(waiting(requests), task, context, pictures=False)
    picture = ImagePart.from_bytes(b"\x89PNG\r\n\x1a\n")
    mark = "--- the screen ends here: 900 px of the page are below ---"
    decision: Decision = await acting.act(page(*TODO, mark, "- x", screenshot=picture))
    assert decision.actions
    request = requests[-1]
    sent = str([request.tools, request.system, request.messages])
    assert [
        each
        for each in ("pixel", " px", '"x"', "'x'", "to_y", "a point", "picture")
        if each in sent
    ] == []
    assert "image" not in {part.type for message in request.messages for part in message.parts}
    assert "zoom" not in {tool.name for tool in request.tools}


async def test_marks_are_drawn_around_the_elements(
    handle: DesktopHandle,
) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow is an extra")
    async with with_marks(connect)(handle) as environment:
        seen = await environment.observe()
    assert seen.marked is not None
    assert seen.screenshot is not None
    plain, marked = (
        image.open(io.BytesIO(base64.b64decode(each.data))).convert("RGB")
        for each in (seen.screenshot, seen.marked)
    )
    x, y, width, height = next(each.rect for each in seen.elements if each.rect)
    corner = (int(x + width) - 1, int(y + height) - 1)
    assert marked.getpixel(corner) != plain.getpixel(corner)
    assert marked.size == plain.size
