"""What a model reads of a page: each page of `outlines` beside the text that an observation has of it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from bench_core.agents import (
    Click,
    ElementRef,
    FindElements,
    Observation,
    ReadPage,
    observation_parts,
)
from bench_core.agents.browser import BrowserEnvironment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]
pytest.importorskip("playwright", reason="Playwright is an extra")

PAGES = sorted((Path(__file__).parent / "outlines").glob("*.html"))


@pytest_asyncio.fixture(loop_scope="module")
async def browser(chromium: Any) -> AsyncIterator[BrowserEnvironment]:
    context = await chromium.new_context(viewport={"width": 1280, "height": 720})
    await context.new_page()
    yield BrowserEnvironment(context, (1280, 720))
    await context.close()


async def seen(browser: BrowserEnvironment, html: str) -> Observation:
    page: Any = browser._tabs.page()  # the page itself is not part of the interface
    await page.set_content(html)
    return await browser.observe()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
async def test_a_page_is_text_in_order_with_its_controls(
    browser: BrowserEnvironment, page: Path
) -> None:
    observation = await seen(browser, page.read_text(encoding="utf-8"))
    text = "\n".join([*(f"! {each}" for each in observation.notices), observation.text or "", ""])
    expected = page.with_suffix(".txt")
    # after a change of the outline, whose difference is read before it is kept
    if os.environ.get("WRITE_OUTLINES"):
        expected.write_text(text, encoding="utf-8")
    assert text == expected.read_text(encoding="utf-8")


async def test_elements_have_the_ids_of_the_text_and_what_it_says_of_them(
    browser: BrowserEnvironment,
) -> None:
    observation = await seen(
        browser,
        '<select aria-label="Status" disabled><option value="1">Open<option value="2" selected>Closed'
        '</select><div style="height:2000px"></div><button>Far away</button>',
    )
    status, far = observation.elements
    assert f'[{far.id}] button "Far away"' in str(observation.text)
    assert (status.value, status.options) == ("Closed", ("Open", "Closed"))
    assert "disabled" in status.states
    assert status.rect is not None
    assert far.rect is None


async def test_a_rectangle_in_a_frame_is_that_in_the_page(browser: BrowserEnvironment) -> None:
    observation = await seen(
        browser,
        '<style>body{margin:0}</style><iframe style="border:3px solid;margin:40px 0 0 50px"'
        " srcdoc='<style>body{margin:0}</style><button style=\"margin:7px 0 0 11px\">Pay</button>'>",
    )
    rect = observation.elements[0].rect
    assert rect is not None
    assert rect[:2] == (64, 50)


async def test_what_appears_is_said_first_and_once(browser: BrowserEnvironment) -> None:
    observation = await seen(
        browser,
        """<div role="status" id="said">Ready</div>
        <button onclick="said.textContent = 'Saved'">Save</button>""",
    )
    assert observation.notices == ()
    save = ElementRef(element=observation.elements[0].id)
    await browser.act(Click(target=save))
    after = await browser.observe()
    assert after.notices == ("The page says: Saved",)
    text = observation_parts(after)[0]
    assert text.type == "text"
    assert text.text.startswith("The page says: Saved\n")
    assert (await browser.observe()).notices == ()


async def test_a_screen_that_ends_before_nothing_is_not_said_to_end(
    browser: BrowserEnvironment,
) -> None:
    page = "<p>Text</p><div style='height: 1000px'></div>"
    ends = "the screen ends here"
    assert ends not in str((await seen(browser, page)).text)
    assert ends in str((await seen(browser, f"{page}<p>Footer</p>")).text)


async def test_what_is_cut_is_said_and_can_be_found_and_read(browser: BrowserEnvironment) -> None:
    rows = "".join(f"<p>Row {number} of the ledger</p>" for number in range(4000))
    observation = await seen(browser, rows + "<button>At the end</button>")
    text = str(observation.text)
    assert len(text) < 21_000
    assert "lines are left out here: scroll, or ask with find or read_page" in text
    found = (await browser.act(FindElements(query="ledger 3999"))).text
    assert found == "Row 3999 of the ledger"
    first = (await browser.act(ReadPage())).text
    assert len(first) < 51_000
    start = int(first.rpartition("start ")[2].rstrip(")"))
    second = (await browser.act(ReadPage(start=start))).text
    assert second.startswith(f"Row {start} of the ledger")
    assert "At the end" not in text


async def test_a_part_of_a_page_is_read_with_where_its_links_lead(
    browser: BrowserEnvironment,
) -> None:
    await seen(
        browser,
        "<p>Not this</p><div role=button tabindex=0 aria-label=Card>Card <a href=https://example.org/x>more</a></div>",
    )
    card = (await browser.act(FindElements(query="card"))).text
    number = card.partition("]")[0].lstrip("[")
    text = (await browser.act(ReadPage(element=number))).text
    assert text.endswith('link "more" -> https://example.org/x')
    assert "Not this" not in text
    only = (await browser.act(ReadPage(interactive=True))).text.splitlines()
    assert [each.partition("] ")[2][:6] for each in only] == ["button", 'link "']


ORDERS = """<h1>Shop</h1><nav><ul><li><a href=/a>Account</a></li></ul></nav><h2>My orders</h2>
<table><thead><tr><th><button>Sort</button></th><th>Date</th></tr></thead>
<tr><td><input type=checkbox aria-label=Pick></td><td>0001</td><td><a href=/1>View Order</a></td></tr>
<tr><td></td><td>0002</td><td><a href=/2>View Order</a></td></tr></table>
<ul><li>Blue kettle, 20 pounds <button>Add to cart</button></li><li>Red kettle, 25 pounds <button>Add to cart</button></li></ul>
<button>Log out</button>"""


async def test_controls_that_are_read_alone_say_where_they_stand(
    browser: BrowserEnvironment,
) -> None:
    await seen(browser, ORDERS)
    read = await browser.act(ReadPage(interactive=True))
    assert read.ok, read.error
    assert [re.sub(r"^\[\d+\] ", "", each.strip()) for each in read.text.splitlines()] == [
        "# Shop",
        'link "Account" -> /a',
        "## My orders",
        'button "Sort"',
        'checkbox "Pick" (unchecked) in the row "0001"',
        'link "View Order" -> /1 in the row "0001"',
        'link "View Order" -> /2 in the row "0002"',
        'button "Add to cart" in the item "Blue kettle, 20 pounds Add to cart"',
        'button "Add to cart" in the item "Red kettle, 25 pounds Add to cart"',
        'button "Log out"',
    ]
    red = (await browser.act(FindElements(query="add red kettle to cart"))).text
    assert red.endswith('] button "Add to cart" in the item "Red kettle, 25 pounds Add to cart"')
    out = (await browser.act(FindElements(query="log out"))).text
    assert out.endswith('] button "Log out" (below: My orders)')


async def test_a_page_that_changes_what_scripts_build_on_is_read_all_the_same(
    browser: BrowserEnvironment,
) -> None:
    observation = await seen(
        browser,
        """<p>Before</p><p id="long"></p><div id="top"></div><button>After</button><script>
        Array.prototype.toJSON = () => 'wrong';
        document.getElementById('long').textContent = 'many words '.repeat(500);
        let node = document.getElementById('top');
        for (let depth = 0; depth < 900; depth += 1) node = node.appendChild(document.createElement('div'));
        node.textContent = 'Too deep';</script>""",
    )
    lines = str(observation.text).splitlines()
    assert lines[0] == "Before"
    assert '] button "After"' in lines[-2]
    assert lines[-1].startswith("(the page goes on: read_page")
    assert sum(line.count("many") for line in lines) == 500
    assert max(map(len, lines)) <= 2000


async def test_the_names_of_a_form_s_fields_do_not_stand_for_the_form(
    browser: BrowserEnvironment,
) -> None:
    names = (
        "title", "name", "alt", "labels", "list", "placeholder", "onclick", "control", "type", "value", "children",
        "tabIndex", "required", "id", "role", "min", "open", "text", "data", "href", "hidden", "style", "className",
    )  # fmt: skip
    fields = "".join(f"<input type=hidden name={each}>" for each in names)
    observation = await seen(
        browser,
        f"<form tabindex=0 style='cursor: pointer' title='Find a page'>{fields}<button>Go</button></form><p>Text</p>",
    )
    number = observation.elements[0].id
    assert observation.text == f'[{number}] button "Go" (Find a page)\nText'


async def test_a_page_that_cannot_be_read_says_so(browser: BrowserEnvironment) -> None:
    observation = await seen(
        browser, "<p>Here</p><script>Element.prototype.getAttribute = null</script>"
    )
    assert str(observation.text).startswith("(the page cannot be read: TypeError")
    assert observation.screenshot is not None
