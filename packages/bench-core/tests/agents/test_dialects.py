"""Each tool version: its table of cases, the SDKs' own lists, coordinates, and which model gets it."""

from __future__ import annotations

import importlib
import re
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

import pytest
from dialect_cases import CASES
from hypothesis import given
from hypothesis import strategies as st

from bench_core.agents import Observation, Wait
from bench_core.agents.computer_use import dialect_of
from bench_core.agents.dialects import (
    Screen,
    UnknownDialectError,
    all_dialects,
    dialect_for,
    dialect_named,
)
from bench_core.agents.dialects.coordinates import on_grid, resized, smart_resize, within
from bench_core.agents.tools import InvalidCallError
from bench_core.errors import InputError
from bench_core.models import Message, Reply, TextPart, ToolCall
from bench_core.records import AgentTask

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench_core.agents import Point

SIZES = [(1024, 768), (1280, 720), (1366, 768), (1440, 900), (1920, 1080)]
EVERYTHING = frozenset(
    kind
    for dialect in all_dialects().values()
    for member in dialect.members.values()
    for kind in member.needs
)
TASK = AgentTask(benchmark="b", task_id="t", goal="Do it.")
SCREEN = Screen((1280, 720), EVERYTHING, browser=True, task=TASK)
DESKTOP = frozenset(
    {"click", "move", "mouse_down", "mouse_up", "drag", "scroll", "type", "keys", "hold_keys", "key_down",
     "key_up", "wait", "screenshot", "zoom", "pointer_position"}
)  # fmt: skip


def called(dialect: str, name: str, arguments: dict[str, Any]) -> ToolCall:
    """Return the call of a member as the provider's adapter gives it."""
    if dialect.startswith("computer_20"):
        return ToolCall(id="1", name="computer", arguments={"action": name, **arguments})
    if dialect in {"computer", "computer_use_preview"}:
        actions = [{"type": name, **arguments}]
        return ToolCall(id="1", name="computer", toolset="computer", arguments={"actions": actions})
    if dialect.startswith("qwen"):
        return ToolCall(id="1", name="computer_use", arguments={"action": name, **arguments})
    family = dialect.partition("_toolset")[0] if "_toolset" in dialect else None
    return ToolCall(id="1", name=name, toolset=family, arguments=arguments)


ROWS = [(dialect, *row) for dialect, rows in CASES.items() for row in rows]


@pytest.mark.parametrize(("dialect", "name", "arguments", "expected"), ROWS)
def test_a_call_becomes_actions(
    dialect: str, name: str, arguments: dict[str, Any], expected: Any
) -> None:
    call = called(dialect, name, arguments)
    if isinstance(expected, str):
        with pytest.raises(InvalidCallError, match=expected):
            dialect_named(dialect).read(call, SCREEN)
        return
    actions = dialect_named(dialect).read(call, SCREEN)
    assert list(actions) == (expected if isinstance(expected, list) else [expected])


@pytest.mark.parametrize("name", sorted(all_dialects()))
def test_every_member_has_a_case(name: str) -> None:
    assert {row[0] for row in CASES[name]} >= set(all_dialects()[name].members)


def test_what_an_environment_does_not_offer_is_declared_disabled() -> None:
    on_desktop = Screen((1280, 720), DESKTOP - {"zoom"}, browser=False, task=TASK)
    toolset = dialect_named("computer_toolset_20260801")
    assert toolset.declare(on_desktop).native_tools == (
        {"type": "computer_toolset_20260801", "configs": {"zoom": {"enabled": False}}},
    )
    assert toolset.declare(SCREEN).native_tools == ({"type": "computer_toolset_20260801"},)
    with pytest.raises(InvalidCallError, match="no 'zoom' here: there are screenshot"):
        toolset.read(called(toolset.name, "zoom", {"region": [0, 0, 9, 9]}), on_desktop)
    browser = dialect_named("browser_toolset_20260801").declare(SCREEN).native_tools[0]
    assert set(browser["configs"]) == {  # type: ignore[arg-type]  # a dictionary
        "javascript_exec", "file_upload", "read_console", "read_network",
    }  # fmt: skip
    google = dialect_named("google_computer_use_2026").declare(on_desktop).native_tools[0]
    assert google["computer_use"] == {
        "environment": "ENVIRONMENT_DESKTOP",
    }  # what loads pages is not in the desktop's set, and cannot be excluded from it
    fewer = Screen((1280, 720), DESKTOP - {"key_down"}, browser=False, task=TASK)
    google = dialect_named("google_computer_use_2026").declare(fewer).native_tools[0]
    assert google["computer_use"]["excluded_predefined_functions"] == ["key_down"]  # type: ignore[index, call-overload]  # same


@pytest.mark.parametrize(("family", "mapped"), [("computer", 17), ("browser", 27)])
def test_claudes_members_are_those_of_the_sdk(family: str, mapped: int) -> None:
    pytest.importorskip("anthropic", reason="the SDK is an extra")
    try:
        module = importlib.import_module(f"anthropic.types.{family}_toolset_configs_param")
    except ImportError:
        pytest.skip("this line of the SDK is older than the toolsets")
    listed = set(getattr(module, f"{family.title()}ToolsetConfigsParam").__annotations__)
    dialect = dialect_named(f"{family}_toolset_20260801")
    assert len(dialect.members) == mapped
    assert {*dialect.members, *dialect.off} == listed


def test_openais_actions_are_those_of_the_sdk() -> None:
    pytest.importorskip("openai", reason="the SDK is an extra")
    module = importlib.import_module("openai.types.responses.response_computer_tool_call")
    union = get_args(module.Action)[0]
    listed = {get_args(each.model_fields["type"].annotation)[0] for each in get_args(union)}
    for name in ("computer", "computer_use_preview"):
        assert set(dialect_named(name).members) == listed


GOOGLE = {
    "google_computer_use_2025": """open_web_browser click_at hover_at type_text_at scroll_document scroll_at
        wait_5_seconds go_back go_forward search navigate key_combination drag_and_drop""",
    "google_computer_use_2026": """click double_click triple_click middle_click right_click mouse_down mouse_up
        move type drag_and_drop wait press_key key_down key_up hotkey take_screenshot scroll go_back navigate
        go_forward""",
}
"""The functions that google-gemini/computer-use-preview declares (agent.py of 2026-06-24): the SDK lists none."""


@pytest.mark.parametrize("name", GOOGLE)
def test_googles_actions_are_those_of_its_reference_program(name: str) -> None:
    dialect = dialect_named(name)
    assert {*dialect.members, *dialect.off} == set(GOOGLE[name].split())


@pytest.mark.parametrize(
    ("model", "environment", "name"),
    [
        ("anthropic:claude-sonnet-4-5-20250929", "browser", "computer_20250124"),
        ("anthropic:claude-haiku-4-5", "desktop", "computer_20250124"),
        ("anthropic:claude-opus-4-5-20251101", "browser", "computer_20251124"),
        ("anthropic:claude-sonnet-4-6", "browser", "computer_20251124"),
        ("anthropic:claude-opus-4-8", "browser", "computer_toolset_20260801"),
        ("anthropic:claude-opus-5-5", "desktop", "computer_toolset_20260801"),
        ("anthropic:claude-haiku-5-5-20261001", "browser", "computer_toolset_20260801"),
        ("anthropic:claude-fable-5-2", "browser", "computer_toolset_20260801"),
        ("openai:gpt-5.4-mini", "desktop", "computer"),
        ("openai:gpt-5.5-2026-04-23", "browser", "computer"),
        ("openai:gpt-5.6-sol", "browser", "computer"),
        ("openai:gpt-6", "browser", "computer"),
        ("openai:gpt-6.2-astra", "desktop", "computer"),
        ("openai:computer-use-preview", "desktop", "computer_use_preview"),
        ("google:gemini-2.5-computer-use-preview-10-2025", "browser", "google_computer_use_2025"),
        ("google:gemini-3-flash-preview", "browser", "google_computer_use_2025"),
        ("google:gemini-3.1-pro-preview", "browser", "google_computer_use_2025"),
        ("google:gemini-3.5-flash", "browser", "google_computer_use_2026"),
        ("google:gemini-3.8-flash", "desktop", "google_computer_use_2026"),
        ("openai-chat:Qwen/Qwen3-VL-8B-Instruct", "desktop", "qwen3_vl"),
        ("openai-chat:Qwen/Qwen3.5-35B-A3B", "browser", "qwen3_5"),
        ("openai-chat:ByteDance-Seed/UI-TARS-1.5-7B", "browser", "ui_tars_1_5"),
        ("scripted:file", "browser", "computer_20251124"),
    ],
)
def test_a_model_gets_the_dialect_documented_for_it(
    model: str, environment: str, name: str
) -> None:
    assert dialect_of(model, None, browser=environment == "browser").name == name


@pytest.mark.parametrize(
    "model", ["anthropic:claude-opus-9", "openai:gpt-4o", "google:gemini-2.5-pro"]
)
def test_an_unknown_model_is_an_error_that_lists_the_dialects(model: str) -> None:
    with pytest.raises(UnknownDialectError, match=r"--dialect.*computer_20250124.*ui_tars_1_5"):
        dialect_for(model, "browser")


def test_the_place_is_named_only_where_the_model_has_a_tool_for_another() -> None:
    with pytest.raises(UnknownDialectError, match=r"for anthropic:claude-opus-9: name one"):
        dialect_for("anthropic:claude-opus-9", "desktop")
    with pytest.raises(
        UnknownDialectError, match=r"for google:gemini-3-pro on a desktop: name one"
    ):
        dialect_for("google:gemini-3-pro", "desktop")


def test_a_dialect_is_named_instead() -> None:
    model = "anthropic:claude-opus-9"
    assert dialect_of(model, "browser_toolset_20260801", browser=True).name.startswith("browser")
    with pytest.raises(InputError, match="is for a browser, not for a desktop"):
        dialect_of(model, "browser_toolset_20260801", browser=False)
    with pytest.raises(InputError, match="spoken over 'openai', not over 'anthropic'"):
        dialect_of(model, "computer", browser=True)
    with pytest.raises(UnknownDialectError, match="there is no dialect 'x'"):
        dialect_of(model, "x", browser=True)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("given", "taken"),
    [
        (lambda at, _size: at, within),
        (lambda at, size: at * 1000 / size, lambda x, y, size: on_grid(x, y, size, 1000)),
        (lambda at, size: at * 999 / size, lambda x, y, size: on_grid(x, y, size, 999)),
    ],
    ids=["pixels", "0-1000", "0-999"],
)
def test_every_pixel_can_be_hit(
    size: tuple[int, int], given: Callable[..., float], taken: Callable[..., Point]
) -> None:
    for x in range(size[0]):
        y = x % size[1]
        # a model that gives the middle of a pixel in its convention hits that pixel
        found = taken(given(x + 0.5, size[0]), given(y + 0.5, size[1]), size)
        assert (found.x, found.y) == (x, y)


@pytest.mark.parametrize("size", SIZES)
def test_every_pixel_of_the_resized_picture_is_where_it_was(size: tuple[int, int]) -> None:
    larger = smart_resize(size)
    assert all(side % 28 == 0 for side in larger)
    for x in range(size[0]):
        y = x % size[1]
        found = resized((x + 0.5) * larger[0] / size[0], (y + 0.5) * larger[1] / size[1], size)
        assert (found.x, found.y) == (x, y)


@pytest.mark.parametrize(
    ("size", "expected"),
    list(
        zip(SIZES, [(1036, 756), (1288, 728), (1372, 756), (1428, 896), (1932, 1092)], strict=True)
    ),
)
def test_pictures_are_resized_as_the_image_processor_does(
    size: tuple[int, int], expected: tuple[int, int]
) -> None:
    assert smart_resize(size) == expected


@pytest.mark.parametrize("size", SIZES)
def test_the_far_corner_is_the_last_pixel(size: tuple[int, int]) -> None:
    last = (size[0] - 1, size[1] - 1)
    larger = smart_resize(size)
    for found in (
        within(*size, size), on_grid(1000, 1000, size, 1000), on_grid(999, 999, size, 999),
        resized(*larger, size),
    ):  # fmt: skip
        assert (found.x, found.y) == last


def test_ui_tars_is_told_in_which_picture_its_places_are() -> None:
    task = AgentTask(benchmark="b", task_id="t", goal="Do it.")
    screen = Screen((1440, 900), frozenset({"click"}), browser=False, task=task)
    said = dialect_named("ui_tars_1_5").declare(screen).system
    assert said is not None
    assert "pixels from the top left corner of the picture, resized to 1428 x 896" in said


CALLED = '<tool_call>{"name": "computer_use", "arguments": {"action": "wait"}}</tool_call>'
PIECES = (
    "Action:", "\n", " ", "click(", "type(", "finished(", "start_box=", "content=", "'", '"', "\\", "\\n", "(1,2)", ")",
    ",", "#", "Thought: x", "<tool_call>", "</tool_call>", "<think>", "</think>", "<function=computer_use>",
    "<parameter=action>", "type", "<parameter=text>", "</parameter>", "</function>", "[1, 2]", "{", "}", CALLED,
    '{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": ', "[1e999, null]", "\\ud800",
)  # fmt: skip
"""What texts with calls are made of, to be put together in every way."""


def reply(text: str) -> Reply:
    return Reply(
        provider="p", model="m", message=Message(role="assistant", parts=(TextPart(text=text),))
    )


@pytest.mark.parametrize(
    ("dialect", "text", "expected"),
    [
        ("qwen3_vl", ('I click.\n<tool_call>\n{"name": "computer_use", "arguments": {"action": "left_click", '
         '"coordinate": [500, 500]}}\n</tool_call>'), {"action": "left_click", "coordinate": [500, 500]}),
        ("qwen3_5", ("<tool_call>\n<function=computer_use>\n<parameter=action>\ntype\n</parameter>\n"
         "<parameter=text>\n 1.50\n\n</parameter>\n</function>\n</tool_call>"), {"action": "type", "text": " 1.50\n"}),
        ("qwen3_5", ("<tool_call>\n<function=computer_use>\n<parameter=action>\nleft_click\n</parameter>\n"
         "<parameter=coordinate>\n[10, 20]\n</parameter>\n</function>\n</tool_call>"),
         {"action": "left_click", "coordinate": [10, 20]}),
        ("ui_tars_1_5", "Thought: I click.\nAction: click(start_box='(10,20)')", {"start_box": "(10,20)"}),
        ("ui_tars_1_5", "Thought: t\nAction: click(point='<point>10 20</point>')",
         {"point": "<point>10 20</point>"}),
        ("ui_tars_1_5", "Thought: t\nAction: click(start_box=(10, 20))", {"start_box": "(10, 20)"}),
        ("ui_tars_1_5", "Thought: t\nAction: type(content='it\\'s (done)\\n')", {"content": "it's (done)\n"}),
        ("ui_tars_1_5", "Thought: t\nAction: finished(content='42')", {"content": "42"}),
        ("ui_tars_1_5", "Thought: My next Action: is this.\nAction: finished(content='I've done 'it'.')",
         {"content": "I've done 'it'."}),
        ("ui_tars_1_5", "Thought: t Action: finished(content=\"it's\") # the end", {"content": "it's"}),
        ("ui_tars_1_5", "Action: finished(content='{\"a\": \"say \\\\\"x\\\\\"\"}')", {"content": '{"a": "say \\"x\\""}'}),
        ("ui_tars_1_5", "Action: finished(content='{\"a\": \"say \\\"x\\\"\"}')", {"content": '{"a": "say \\"x\\""}'}),
        ("ui_tars_1_5", 'Action: finished(content={"a": [1, 2]})', {"content": '{"a": [1, 2]}'}),
        ("ui_tars_1_5", "Action: type(content='C:\\\\new\\\\test')", {"content": "C:\\new\\test"}),
        ("ui_tars_1_5", "Action: type(content='100\\% \\u00e9 C:\\bin')", {"content": "100\\% \u00e9 C:\\bin"}),
        ("ui_tars_1_5", "Action: type(content='f(1)\n\nwait()')", {"content": "f(1)\n\nwait()"}),
        ("ui_tars_1_5", "Action: type(content='Action: go')", {"content": "Action: go"}),
        ("qwen3_vl", "<think>Shall I <tool_call>{}</tool_call>?</think>" + CALLED, {"action": "wait"}),
        ("qwen3_vl", CALLED.removesuffix("</tool_call>"), {"action": "wait"}),
        ("qwen3_vl", "<tool_call>{'name': 'computer_use', 'arguments': {'action': 'wait',}}</tool_call>",
         {"action": "wait"}),
        ("qwen3_5", "<function=computer_use><parameter=action>wait</parameter></function>", {"action": "wait"}),
    ],
)  # fmt: skip
def test_calls_are_read_out_of_text(dialect: str, text: str, expected: dict[str, Any]) -> None:
    (call,) = dialect_named(dialect).calls(reply(text))
    assert call.arguments == expected
    assert dialect_named(dialect).read(call, SCREEN)


@pytest.mark.parametrize(
    ("dialect", "text", "told"),
    [
        ("ui_tars_1_5", "Action: finished('done')", r"finished\('done'\)\" cannot be read: write finished"),
        ("ui_tars_1_5", "Action: click(10, 20)", r"cannot be read: write click\(start_box="),
        ("ui_tars_1_5", "Action: type(content='hello wor", r"cannot be read: write type\(content="),
        ("ui_tars_1_5", "Action: type(content='f('a')\nb')", "cannot be read"),
        ("ui_tars_1_5", "Action: click the button", "'click the button' cannot be read: there are click"),
        ("ui_tars_1_5", "Action: call_user()", "is not an action here: there are"),
        ("ui_tars_1_5", "Action: type(content='C:\\new\\test')", "write each backslash twice"),
        ("qwen3_vl", '<tool_call>{"name": "computer_use", "argum', r"cannot be read: a call is <tool_call>\{"),
        ("qwen3_vl", "<tool_call>[1]</tool_call>", "cannot be read"),
        ("qwen3_vl", '<tool_call>{"arguments": {"action": "wait"}}</tool_call>', "cannot be read"),
        ("qwen3_5", "<tool_call><function=computer_use><parameter=action>type</parameter><parameter=text>hell",
         "cannot be read: a call is <tool_call><function="),
        ("qwen3_5", "<function=computer_use><parameter=action>type</parameter><parameter=text>hell</function>",
         "cannot be read"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_answered_with_it_and_the_form(
    dialect: str, text: str, told: str
) -> None:
    (call,) = dialect_named(dialect).calls(reply(text))
    screen = replace(SCREEN, task=TASK.model_copy(update={"can_fail": False}))
    with pytest.raises(InvalidCallError, match=told):
        dialect_named(dialect).read(call, screen)


def test_only_the_first_action_of_several_turns_in_one_text_is_carried_out() -> None:
    tars = dialect_named("ui_tars_1_5")
    first, later = tars.calls(reply("Thought: a\nAction: wait()\nThought: b\nAction: back()"))
    assert tars.read(first, SCREEN) == (Wait(seconds=5),)
    with pytest.raises(InvalidCallError, match="once, and look at the screen before the next"):
        tars.read(later, SCREEN)


@pytest.mark.parametrize("name", ["qwen3_vl", "qwen3_5", "ui_tars_1_5"])
def test_what_cannot_end_the_task_is_not_offered_and_refused(name: str) -> None:
    dialect = dialect_named(name)
    for can_fail in (True, False):
        screen = replace(SCREEN, task=TASK.model_copy(update={"can_fail": can_fail}))
        declared = str(dialect.declare(screen))
        assert ("failure" in declared or "call_user" in declared) is can_fail
    gives_up = ("call_user", {}) if name == "ui_tars_1_5" else ("terminate", {"status": "failure"})
    with pytest.raises(InvalidCallError, match=r"no ending of this task|not an action here"):
        dialect.read(called(name, *gives_up), screen)


@pytest.mark.parametrize("name", ["qwen3_vl", "qwen3_5", "ui_tars_1_5"])
def test_a_dialect_names_only_its_own_tools_and_one_scale(name: str) -> None:
    dialect = dialect_named(name)
    seen = Observation(
        url="http://a.example/", title="A", size=(1280, 720), text="words", tabs=("A", "B")
    )
    for screen in (SCREEN, replace(SCREEN, browser=False)):
        declared = dialect.declare(screen)
        told = f"{declared} {dialect.nudge(TASK)} {dialect.show(seen, results=True)}"
        assert not re.search("`done`|`fail`|1280|element", told)
        assert ("switch_tab" in told) is screen.browser
        assert "http://a.example/" in told
        assert "Tab 1: B" in told


@pytest.mark.parametrize("name", ["qwen3_vl", "qwen3_5", "ui_tars_1_5"])
def test_the_form_of_the_answer_is_stated_or_that_none_is_asked_for(name: str) -> None:
    dialect = dialect_named(name)
    for fields, expected in (
        ({}, "asks for no answer"),
        ({"verdict": {"type": "string"}}, '"verdict"'),
    ):
        schema = {"type": "object", "properties": fields}
        screen = replace(SCREEN, task=TASK.model_copy(update={"answer_schema": schema}))
        system = dialect.declare(screen).system or ""
        assert [each in system for each in ("asks for no answer", '"verdict"')].count(True) == 1
        assert expected in system
        if name.startswith("qwen"):
            (tool, *_) = dialect.declare(screen).tools
            stated = (system, str(tool), dialect.nudge(screen.task))
            assert [
                ("answer" in dialect.available(screen)),
                *("`answer`" in e for e in stated),
            ] == ([bool(fields)] * 4)


@pytest.mark.parametrize("name", ["qwen3_vl", "qwen3_5", "ui_tars_1_5"])
@given(text=st.text(max_size=300) | st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_any_text_is_acted_on_or_answered(name: str, text: str) -> None:
    dialect = dialect_named(name)
    for call in dialect.calls(reply(text)):
        with suppress(InvalidCallError):
            dialect.read(call, SCREEN)


def test_several_actions_of_one_text_are_several_calls() -> None:
    text = "Thought: t\nAction: click(start_box='(1,2)')\n\ntype(content='a')"
    calls = dialect_named("ui_tars_1_5").calls(reply(text))
    assert [call.name for call in calls] == ["click", "type"]


def test_text_without_a_call_is_none() -> None:
    for name in ("qwen3_vl", "qwen3_5", "ui_tars_1_5"):
        assert dialect_named(name).calls(reply("I cannot see it.")) == ()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["qwen3_vl", "qwen3_5"])
def test_a_place_is_named_as_the_model_gives_it(name: str, size: tuple[int, int]) -> None:
    dialect = dialect_named(name)
    for x, y in ((0, 0), (349, 270), (size[0] - 1, size[1] - 1)):
        call = called(name, "left_click", {"coordinate": [*dialect.named_place(x, y, size)]})
        (click,) = dialect.read(call, replace(SCREEN, size=size))
        assert abs(click.target.x - x) <= 2
        assert abs(click.target.y - y) <= 2


def test_dialects_have_names_that_can_be_typed() -> None:
    assert all(re.fullmatch(r"[a-z0-9_]+", name) for name in all_dialects())
