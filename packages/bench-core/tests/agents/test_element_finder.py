from __future__ import annotations

import pytest

from bench_core.agents.element_finder import named_element
from bench_core.agents.records import Element
from bench_core.errors import AgentError

ELEMENTS = (
    Element(id="0", name="Save"), Element(id="1", name="Cancel"), Element(id="2", name="Save"),
    Element(id="3", name="C#1"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "found"),
    [("Save", "0"), ("Save#1", "0"), ("Save#2", "2"), ("Cancel", "1"), ("C#1", "3")],
)
def test_an_element_is_found_by_name_and_number(name: str, found: str) -> None:
    assert named_element(ELEMENTS, name).id == found


@pytest.mark.parametrize("name", ["Open", "Save#3", "Save#0", ""])
def test_a_name_nobody_has_is_an_error_that_tells_the_others(name: str) -> None:
    with pytest.raises(AgentError, match="'Cancel'"):
        named_element(ELEMENTS, name)


def test_an_element_is_found_by_role_and_name() -> None:
    elements = (
        Element(id="0", role="link", name="Save"),
        Element(id="1", role="button", name="Save"),
    )
    assert named_element(elements, "Save", "button").id == "1"
    with pytest.raises(AgentError, match="no textbox is called 'Save'; there are none"):
        named_element(elements, "Save", "textbox")
