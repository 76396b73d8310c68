"""What each agent sends its model first and second, as files that people read: a change of them is reviewed."""

from __future__ import annotations

import pytest
from integration_tests.model_requests import FOLDER, PAGE, WORLDS, collected, table

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.mark.parametrize("world", WORLDS)
def test_the_first_two_requests_are_those_that_were_read(world: str) -> None:
    pytest.importorskip("browser_use")
    kept = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob(f"{world}-*.txt")}
    sent = collected(world)
    assert sent == kept, (
        "read what changed, then run `python -m integration_tests.model_requests --write`"
    )


def test_the_page_has_the_tokens_of_these_requests() -> None:
    assert table() in PAGE.read_text(encoding="utf-8")
