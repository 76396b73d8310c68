"""Looking at a trial step by step, and at two trials beside each other, in a real Chromium."""

from __future__ import annotations

import gzip
import json
import re
from datetime import datetime, timezone
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from bench_core.records import Step

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Builds, Built, Runs, Visits
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser


def address(shop: Built, task: str, trial: int, *, run: int = 1, **more: str) -> str:
    """Return the address of a trial: run id, task, trial."""
    name = shop.report.runs[run].info.run_id
    values = {"open": json.dumps([name, task, trial])} | more
    return "#" + "&".join(f"{key}={quote(value)}" for key, value in values.items())


def opened(shop: Built, visit: Visits, fragment: str, **window: object) -> Page:
    page = visit(**window).open(shop, fragment)
    page.wait_for_selector("dialog[open] .viewer, dialog[open] .side-by-side")
    return page


def now_at(page: Page, step: int) -> None:
    page.wait_for_selector(f".step-side .step-head:has-text('Step {step} of')")


def test_a_step_is_reached_by_keys_slider_strip_and_address(shop: Built, visit: Visits) -> None:
    page = opened(shop, visit, address(shop, "t1", 1, step="3"))
    now_at(page, 3)

    page.keyboard.press("ArrowLeft")
    now_at(page, 2)
    page.keyboard.press("End")
    now_at(page, 5)
    page.keyboard.press("Home")
    now_at(page, 1)
    page.focus(".controls input[type=range]")
    page.keyboard.press("ArrowRight")
    now_at(page, 2)
    page.click(".frame >> nth=3")
    now_at(page, 4)
    page.wait_for_url(lambda url: "step=4" in url)
    page.evaluate("location.hash = location.hash.replace('step=4', 'step=2')")
    now_at(page, 2)


def test_marks_show_where_actions_went(shop: Built, visit: Visits) -> None:
    page = opened(shop, visit, address(shop, "t1", 1))
    seen = []
    for step in range(1, 5):
        now_at(page, step)
        page.wait_for_selector(".picture .mark")
        seen.append(page.get_attribute(".picture .mark", "class"))
        page.keyboard.press("ArrowRight")

    assert seen == ["mark type", "mark click", "mark scroll", "mark drag"]
    page.click(".frame >> nth=1")
    now_at(page, 2)
    box = page.locator(".mark .box").evaluate(  # waits: marks are drawn when the picture is there
        "box => ['x', 'y', 'width', 'height'].map(n => box.getAttribute(n))"
    )
    assert box == ["110", "200", "120", "40"]
    assert page.get_attribute(".marks", "viewBox") == "0 0 1000 620"


def test_what_was_said_seen_and_sent_is_beside_the_picture(shop: Built, visit: Visits) -> None:
    page = opened(shop, visit, address(shop, "t1", 1, step="2"))
    now_at(page, 2)
    beside = page.inner_text(".step-side")

    assert "click “Add desk lamp”" in beside
    assert "thought 2" in beside
    assert "Add blue lamp" in beside  # an element that was there
    assert "http://shop.test/api/2" in beside
    assert "http://shop.test/api/1" not in beside
    page.click(".step-side summary:has-text('Changes sent so far')")
    page.keyboard.press("ArrowRight")
    now_at(page, 3)
    assert "POST http://shop.test/api/2" in page.inner_text(".step-side")


def test_what_changed_in_the_apps_so_far_is_beside_the_step(shop: Built, visit: Visits) -> None:
    page = opened(shop, visit, address(shop, "t1", 1))
    assert "State changes so far" not in page.inner_text(".step-side")

    page.keyboard.press("ArrowRight")
    now_at(page, 2)
    assert page.inner_text(".changes .now") == 'step 2 shop cart/add {"sku": "lamp-desk"}'
    page.keyboard.press("End")
    now_at(page, 5)
    assert page.inner_text(".changes") == 'step 2 shop cart/add {"sku": "lamp-desk"}'
    assert page.locator(".changes .now").count() == 0
    page.click(".step-side summary:has-text('Difference at the end')")
    assert "lamp-desk" in page.inner_text(".difference pre")


def test_the_window_in_front_of_a_desktop_is_named(
    scored_run: Runs, build: Builds, visit: Visits, add_trajectory: Callable[..., Path]
) -> None:
    run = scored_run({"a": [0]})
    folder = add_trajectory(run, "a", [Step(step=1, title="Save as"), Step(step=2)])
    windows = {"tabs": ["Notepad", "Save as"], "active_tab": 0}
    lines = [json.dumps({"step": n, **windows}) for n in (1, 2)]
    (folder / "observations.jsonl").write_text("\n".join(lines))
    page = opened(build(run), visit, "#open=" + quote('[0,"a",1]'))

    assert page.inner_text(".step-side .front") == "In front: Save as"
    assert "Windows: Notepad | Save as" in page.inner_text(".step-side")
    page.keyboard.press("ArrowRight")
    now_at(page, 2)
    assert page.inner_text(".step-side .front") == "In front: Notepad"  # by the list of windows


def test_before_after_zoom_and_play(shop: Built, visit: Visits) -> None:
    page = opened(shop, visit, address(shop, "t1", 1))
    captions = ".pictures figcaption strong"
    assert page.locator(captions).all_inner_texts() == ["Before", "After"]

    page.keyboard.press("b")
    assert page.locator(captions).all_inner_texts() == ["Before"]
    page.click("[data-sight=after]")
    assert page.locator(captions).all_inner_texts() == ["After"]
    page.keyboard.press("+")
    assert page.eval_on_selector(".picture", "frame => frame.style.width") == "150%"
    page.keyboard.press("0")
    page.focus("dialog")
    page.keyboard.press(" ")
    now_at(page, 5)  # it ends at the last step
    page.wait_for_selector(".controls button:text-is('Play')")


SCREEN = """images => images.map(image => {
  const screen = Object.assign(document.createElement("canvas"), { width: 1280, height: 720 });
  image.src = screen.toDataURL();
  return image.decode().then(() => { const { top, bottom } = image.getBoundingClientRect(); return [top, (top + bottom) / 2, bottom]; });
}).reduce(async (all, one) => [...await all, await one], [])"""


def test_a_trial_opens_on_its_pictures_with_what_decided_beside_them(
    shop: Built, visit: Visits
) -> None:
    page = opened(shop, visit, address(shop, "t1", 1), height=860)
    shown = page.eval_on_selector_all(".zoomable img", SCREEN)

    assert len(shown) == 2
    for top, middle, bottom in shown:
        assert (top < 260, middle < 860, bottom < 860) == (True, True, True)
    for part in (".film", ".decided .checks li", ".step-head"):
        assert (page.locator(part).first.bounding_box() or {"y": 860})["y"] < 860
    assert page.is_hidden(".more-facts .facts")


def test_arrow_keys_bring_the_pictures_back_into_sight(shop: Built, visit: Visits) -> None:
    page = opened(shop, visit, address(shop, "t1", 1), width=390, height=600)
    page.evaluate("document.querySelector('#trial').scrollTop = 5000")
    page.keyboard.press("ArrowRight")
    now_at(page, 2)

    assert 0 <= page.eval_on_selector(".film", "strip => strip.getBoundingClientRect().top") < 260


def test_a_click_shows_a_picture_in_full_size_and_steps_go_on_there(
    shop: Built, visit: Visits
) -> None:
    page = opened(shop, visit, address(shop, "t1", 1))
    page.click(".zoomable >> nth=1")
    full = page.locator(".full-size[open] img")
    assert full.get_attribute("alt") == "After step 1"

    page.keyboard.press("ArrowRight")
    assert full.get_attribute("alt") == "After step 2"
    page.keyboard.press("Escape")
    page.wait_for_selector(".full-size", state="hidden")
    assert page.is_visible("#trial")
    page.keyboard.press("f")
    assert full.get_attribute("alt") == "Before step 2"


def test_failed_checks_come_first_with_the_difference_marked(shop: Built, visit: Visits) -> None:
    page = opened(shop, visit, address(shop, "t1", 1))

    assert page.locator(".checks li").first.inner_text().count("the order") == 1
    assert page.locator(".checks del").all_inner_texts() == ["blue"]
    assert page.locator(".checks ins").all_inner_texts() == ["desk"]
    top = page.eval_on_selector(".checks ins", "mark => mark.getBoundingClientRect().bottom")
    assert top < 900  # seen without scrolling


def test_the_search_box_is_left_for_the_steps_by_keys_alone(shop: Built, visit: Visits) -> None:
    page = visit().open(shop)
    page.keyboard.press("/")
    page.keyboard.type("lamp 5")
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open] .viewer")
    page.keyboard.press("ArrowRight")

    now_at(page, 2)
    assert page.input_value("#search") == "lamp 5"


@pytest.mark.parametrize("way", ["key", "mouse", "address"])
def test_two_trials_stand_beside_each_other_at_the_first_difference(
    way: str, shop: Built, visit: Visits
) -> None:
    other = json.dumps([shop.report.runs[0].info.run_id, 1])
    wanted = address(shop, "t1", 1, **({"with": other} if way == "address" else {}))
    page = opened(shop, visit, wanted)
    if way == "key":
        page.keyboard.press("c")
    elif way == "mouse":
        page.select_option(".beside", label="careful · openai:gpt-5.2, trial 1, passed")
    page.wait_for_selector(".side-by-side .pair-list [aria-current]")

    current = page.inner_text(".pair-list [aria-current]")
    assert "Add desk lamp" in current
    assert "Add blue lamp" in current
    assert page.get_attribute(".pair-list [aria-current]", "class") == "differs first"
    assert "first difference is at step 2 of A, step 2 of B" in page.inner_text(".pair-summary")
    page.wait_for_function("document.querySelectorAll('.pair .mark').length === 2")
    page.keyboard.press("ArrowLeft")
    assert "type" in page.inner_text(".pair-list [aria-current]")
    page.keyboard.press("d")
    assert "Add desk lamp" in page.inner_text(".pair-list [aria-current]")
    page.keyboard.press("c")
    page.wait_for_selector("dialog .viewer")


def test_trials_that_did_the_same_say_so(shop: Built, visit: Visits) -> None:
    page = opened(shop, visit, address(shop, "t0", 1) + "&with=" + quote('["x"]'))  # no trial
    page.keyboard.press("c")
    page.wait_for_selector(".side-by-side")

    assert "Both did the same in all 4 steps" in page.inner_text(".pair-summary")


def test_links_of_earlier_reports_still_open_their_trial(shop: Built, visit: Visits) -> None:
    page = opened(shop, visit, "#open=" + quote('[1,"t3",2]'))

    assert "trial 2" in page.inner_text(".dialog-bar")


def test_an_open_trial_prints_every_step(shop: Built, visit: Visits) -> None:
    page = opened(shop, visit, address(shop, "t1", 1))

    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(".printed-step").count() == 5
    assert len(page.pdf()) > 10_000
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator(".printed-step").count() == 0


def test_listed_trials_print_from_a_sheet_of_their_own_on_each(shop: Built, visit: Visits) -> None:
    page = visit().open(shop, "#view=trials&outcome=fail")
    page.wait_for_selector("#shown:has-text('of 32 trials')")
    page.fill("#search", "lamp")
    page.evaluate("window.print = () => { document.body.dataset.asked = 'yes'; }")

    page.click("#print-trials")
    page.wait_for_selector("body[data-asked]")
    trials = page.locator(".print-trial").count()
    text = page.text_content(".print-trials") or ""
    page.emulate_media(media="print")
    breaks = page.eval_on_selector_all(
        ".print-trial", "all => all.map(each => getComputedStyle(each).breakBefore)"
    )

    assert trials == len(page.locator("#grid tbody tr[data-index]").all()) > 1
    assert breaks == ["auto", *["page"] * (trials - 1)]
    assert text.count("thought 2") == trials
    assert page.is_hidden("main")
    pages = len(re.findall(rb"/Type ?/Page\b(?!s)", page.pdf()))
    assert pages >= trials
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.wait_for_selector(".print-trials", state="detached")


def test_a_million_steps_show_both_ends_at_once(
    scored_run: Runs, build: Builds, visit: Visits, add_trajectory: Callable[..., Path]
) -> None:
    run = scored_run({"a": [0]})
    folder = add_trajectory(run, "a", [])
    line = Step(step=7, actions=({"kind": "wait"},)).model_dump_json(exclude_defaults=True)
    first, last = line.split("7", 1)
    with (folder / "trajectory.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(f"{first}{number}{last}\n" for number in range(1, 1_000_001))
    page = visit().open(build(run, formats=["html"]), "#open=" + quote('[0,"a",1]'))
    page.wait_for_selector(".frame")

    assert page.locator(".frame").count() == 500
    assert "first and the last 250 of 1,000,000 steps" in page.inner_text(".trajectory-note")
    page.keyboard.press("End")
    page.wait_for_selector(".step-head:has-text('Step 1000000 of 1000000')")


ATTACKS = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "\u202egnp.exe\u2066",
    "\x1b[2J\x1b[31mred",
    "W" * 5_000,
    "__proto__",
)


@pytest.mark.parametrize("width", [1280, 390])
def test_hostile_steps_stay_text_in_every_view(
    width: int, scored_run: Runs, build: Builds, visit: Visits, add_trajectory: Callable[..., Path]
) -> None:
    run = scored_run({"a": [0, 1]})
    for trial in (1, 2):
        steps = [
            Step(step=n, title=attack, url=attack, thought=attack, results=(attack,), error=attack,
                 started=datetime(2026, 3, 1, 9, n, tzinfo=timezone.utc), screenshot="1.png",
                 actions=({"kind": attack, "text": attack, "target": {"element": attack, "x": attack}},
                          {"kind": "click", "target": {"x": -1e5 * trial, "y": 9e5}},
                          {"kind": "click", "target": {"element": attack}}))
            for n, attack in enumerate(ATTACKS, 1)
        ]  # fmt: skip
        folder = add_trajectory(run, "a", steps, trial)
        views = [
            {"step": n, "size": [10, 10], "tabs": [attack, attack], "text": attack,
             "elements": [{"id": attack, "role": attack, "name": attack, "value": attack, "rect": [-9e5, 9e5, 9e5, -1]}, attack]}
            for n, attack in enumerate(ATTACKS, 1)
        ]  # fmt: skip
        lines = [json.dumps(view) for view in views]
        (folder / "observations.jsonl").write_text("\n".join([*lines, "nonsense", "[]", "{}"]))
        entries = [
            {"startedDateTime": f"2026-03-01T09:0{n}:10+00:00", "time": attack,
             "request": {"method": attack, "url": attack}, "response": {"status": 0}}
            for n, attack in enumerate(ATTACKS, 1)
        ]  # fmt: skip
        (folder / "network.har").write_text(json.dumps({"log": {"entries": entries}}))
        began = datetime(2026, 3, 1, 9, 1, tzinfo=timezone.utc).timestamp() * 1000
        states = {
            attack: {"actionhistory": [{"type": attack, "payload": {attack: attack}, "timestamp": began}],
                     "initialfinaldiff": {"added": {attack: attack}}}
            for attack in ATTACKS
        }  # fmt: skip
        (folder / "finish_state.json.gz").write_bytes(gzip.compress(json.dumps(states).encode()))
    window = visit(width=width)
    page = window.open(build(run), "#open=" + quote('[0,"a",1]'))
    page.wait_for_selector("dialog .viewer")

    def fits() -> None:
        assert page.eval_on_selector("dialog", "d => d.scrollWidth - d.clientWidth") == 0

    for _ in ATTACKS:
        page.eval_on_selector_all(
            "dialog details", "all => all.forEach(each => { each.open = true; })"
        )
        fits()
        page.keyboard.press("ArrowRight")
    page.keyboard.press("c")
    page.wait_for_selector(".side-by-side .pair-list")
    fits()
    page.keyboard.press("Escape")
    page.evaluate("window.print = () => { document.body.dataset.asked = 'yes'; }")
    page.click("#print-trials")
    page.wait_for_selector("body[data-asked]")

    assert window.overflow() == 0
    assert window.dialogs == []
    assert window.complaints == []
    assert all(url.startswith(("file:", "data:")) for url in window.requests)
