from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from bench_core.browser_use import ScriptedChat, ScriptError
from bench_core.browser_use.elements import Element, Find
from bench_core.browser_use.scripted_chat import act, answer, click, go

LINK = Element(3, "a", "Log in", {"href": "/login"})
BUTTON = Element(5, "button", "Log in", {"type": "submit", "data-url": "/x", "class": "big"})
ICON = Element(8, "button", "▲", {"aria-label": "Upvote"})
ELEMENTS = (LINK, BUTTON, ICON)


@pytest.mark.parametrize(
    ("action", "found"),
    [
        (click("Log in"), LINK),
        (click("Log in", nth=1), BUTTON),
        (click("Log in", tag="button"), BUTTON),
        (click("  Log \n in "), LINK),
        (click("Upvote"), ICON),
        (click(data_url="/x"), BUTTON),
        (click(class_="big"), BUTTON),
        (click("log in"), None),
        (click(tag="a", type="submit"), None),
        (click("Log in", nth=2), None),
    ],
)
def test_elements_are_named_by_text_tag_and_attributes(action: Any, found: Element | None) -> None:
    assert action.target.among(ELEMENTS) == found


@given(st.lists(st.sampled_from(ELEMENTS)), st.integers(0, 5))
def test_the_nth_element_is_the_nth_of_those_that_match(elements: list[Element], nth: int) -> None:
    wanted = Find(text="Log in")
    matching = [each for each in elements if wanted.matches(each)]

    found = Find(text="Log in", nth=nth).among(elements)

    assert found == (matching[nth] if nth < len(matching) else None)


class _Output(BaseModel):
    """As much of browser-use's own output format as a script fills in."""

    memory: str
    action: list[dict[str, Any]]


async def test_turns_are_played_in_order_without_counting_tokens() -> None:
    chat = ScriptedChat([go("http://a/"), (act("wait", seconds=1), go("http://b/"))])

    first = await chat.ainvoke([], _Output)
    second = await chat.ainvoke([], _Output)

    assert first.completion.action == [{"navigate": {"url": "http://a/", "new_tab": False}}]
    assert [list(each) for each in second.completion.action] == [["wait"], ["navigate"]]
    assert second.usage.total_tokens == 0


async def test_a_generator_sees_the_page_before_it_goes_on() -> None:
    seen = []

    def script() -> Any:
        seen.append((yield go("http://a/")))
        yield answer({"found": 1})

    chat = ScriptedChat(script())
    await chat.ainvoke([], _Output)
    last = await chat.ainvoke([], _Output)

    assert [page.url for page in seen] == [""]
    assert last.completion.action == [{"done": {"success": True, "data": {"found": 1}}}]


async def test_a_missing_element_is_waited_for_and_then_named() -> None:
    chat = ScriptedChat([click("Gone", tag="a")], patience=2)

    waits = [(await chat.ainvoke([], _Output)).completion.action for _ in range(2)]

    assert waits == [[{"wait": {"seconds": 1}}]] * 2
    with pytest.raises(ScriptError, match="looks for <a> 'Gone' on the page"):
        await chat.ainvoke([], _Output)


async def test_a_script_that_ends_early_says_so() -> None:
    chat = ScriptedChat([go("http://a/")])
    await chat.ainvoke([], _Output)

    with pytest.raises(ScriptError, match="ended after 1 turns"):
        await chat.ainvoke([], _Output)


async def test_a_question_without_a_format_gets_an_empty_text() -> None:
    assert (await ScriptedChat([]).ainvoke([])).completion == ""
