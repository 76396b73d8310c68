"""The page in a real Chromium: filters, deep links, trials, keys, print."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from bench_core.records import Step
from bench_core.testing import make_results, make_run, make_tasks
from bench_report.text import numbers

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Builds, Built, Results, Runs, Visits
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
ROWS = "#grid tbody tr[data-index]"


def shown(page: Page) -> str:
    return page.inner_text("#shown")


def column(page: Page, name: str) -> list[str]:
    return page.eval_on_selector_all(
        f"{ROWS} td.{name}", "cells => cells.map(cell => cell.textContent)"
    )


@pytest.fixture
def built(run: Runs, build: Builds, add_trajectory: Callable[..., Path]) -> Built:
    """Two runs of 20 tasks with three trials; trial 1 of task 0 of the first has a trajectory."""
    first = run("a", tasks=20, trials=3, seed=1)
    steps = [
        Step(step=n, url=f"http://site/{n}", thought=f"thought {n}", duration_s=1.0,
             screenshot=f"screenshots/{n}.png", actions=({"click": n},), results=(f"done {n}",))
        for n in range(1, 5)
    ]  # fmt: skip
    add_trajectory(first, "0", steps)
    return build(first, run("b", tasks=20, trials=3, seed=2, agent="other"))


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_opens_from_disk_without_complaint(
    width: int, scheme: str, built: Built, visit: Visits
) -> None:
    window = visit(width=width, scheme=scheme)

    page = window.open(built)

    assert page.locator(ROWS).count() > 5
    assert window.complaints == []
    assert window.overflow() == 0
    assert all(url.startswith(("file:", "data:")) for url in window.requests)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (390, "light")])
def test_axe_finds_nothing_wrong_in_an_audited_page_unfolded(
    width: int, scheme: str, judged_run: Runs, build: Builds, visit: Visits
) -> None:
    from axe_playwright_python.sync_playwright import Axe  # as Chromium

    runs = judged_run(), judged_run(known=0, seed=2, name="other", agent="other")
    window = visit(width=width, scheme=scheme)
    page = window.open(build(*runs))
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")

    found = Axe().run(page)

    assert found.violations_count == 0, found.generate_report()
    assert window.overflow() == 0


@pytest.mark.parametrize("width", [320, 390])
def test_nothing_overflows_a_phone_with_everything_unfolded(
    width: int, built: Built, visit: Visits
) -> None:
    window = visit(width=width)
    page = window.open(built)
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")

    clipped = page.eval_on_selector_all(
        ".top nav a",
        "links => links.filter(each => each.getBoundingClientRect().right > innerWidth).length",
    )
    assert window.overflow() == 0
    assert clipped == 0


def test_filters_narrow_the_table(built: Built, visit: Visits) -> None:
    page = visit().open(built)
    assert shown(page) == "20 tasks"

    page.fill("#search", "no such entry")
    assert shown(page) == "0 of 20 tasks"
    assert page.is_visible("#nothing")
    page.fill("#search", "17 SHOPPING_ADMIN entry")
    assert shown(page) == "1 of 20 tasks"
    page.click("#clear")
    page.select_option("[data-name='in.site']", "reddit")
    assert set(column(page, "c-group")) >= {"reddit"}
    assert shown(page) == "4 of 20 tasks"


def test_outcomes_and_views_agree_with_the_data(built: Built, visit: Visits) -> None:
    page = visit().open(built)
    rows = [row for each in built.report.runs for row in each.trials]

    page.click("[data-view=trials]")
    assert shown(page) == "120 trials"
    for outcome, success in (("pass", True), ("fail", False), ("void", None)):
        page.click(f"[data-outcome={outcome}]")
        expected = sum(row.success is success for row in rows)
        assert shown(page) == f"{expected} of 120 trials"
        page.click(f"[data-outcome={outcome}]")


def test_a_template_leads_to_its_tasks(built: Built, visit: Visits) -> None:
    page = visit().open(built)

    page.click("#templates summary")
    page.click("#templates a:text-is('t3')")

    page.wait_for_selector("#shown:text-is('4 of 20 tasks')")
    assert column(page, "c-task") == ["12", "13", "14", "15"]


def test_the_network_of_a_trial_is_summarised(run: Runs, build: Builds, visit: Visits) -> None:
    folder = run(tasks=3)
    entries = [
        {
            "request": {"method": "GET", "url": f"http://shop.test/{n}"},
            "response": {"status": 200 + n * 151},
        }
        for n in range(3)
    ]
    (folder / "trials/1/0/network.har").write_text(json.dumps({"log": {"entries": entries}}))

    page = visit().open(build(folder), "#open=" + quote('[0,"0",1]'))
    page.wait_for_selector("dialog[open] .hosts")

    assert page.inner_text(".hosts tbody").split() == ["shop.test", "3", "1"]
    page.click("dialog summary:has-text('Failed requests')")
    assert "502 GET http://shop.test/2" in page.inner_text(".failed-requests")


def test_a_failure_mode_in_the_summary_leads_to_its_trials(built: Built, visit: Visits) -> None:
    page = visit().open(built)
    modes = [each.summary.failure_modes.get("wrong_answer", 0) for each in built.report.runs]

    page.click("#outcomes a:has-text('wrong answer') >> nth=0")

    page.wait_for_selector(f"#shown:text-is('{sum(modes)} of 120 trials')")
    assert set(column(page, "c-why")) == {"wrong answer"}


def test_columns_sort_both_ways_with_missing_values_last(built: Built, visit: Visits) -> None:
    page = visit().open(built, "#view=trials&sort=score")
    scores = column(page, "c-number.c-rate")
    assert scores == sorted(scores)

    page.click("#grid th:has-text('Score') button")
    assert page.get_attribute("#grid th:has-text('Score')", "aria-sort") == "descending"
    page.eval_on_selector("#grid", "box => box.scrollTo(0, box.scrollHeight)")
    page.wait_for_selector("[data-index='119']")
    unscored = sum(row.score is None for each in built.report.runs for row in each.trials)
    assert unscored > 0
    assert column(page, "c-number.c-rate")[-1] == numbers.NONE


def test_the_address_keeps_what_is_seen(built: Built, visit: Visits) -> None:
    window = visit()
    page = window.open(built)
    page.click("[data-view=trials]")
    page.click("[data-outcome=fail]")
    page.select_option("[data-name=run]", index=2)
    page.fill("#search", "map")
    seen = shown(page)

    again = visit().open(built, page.evaluate("location.hash"))

    assert shown(again) == seen
    assert again.get_attribute("[data-view=trials]", "aria-pressed") == "true"
    assert again.input_value("#search") == "map"


def test_addresses_that_make_no_sense_are_survived(built: Built, visit: Visits) -> None:
    for fragment in (
        "#open=%5B%5D",
        "#open=nonsense",
        "#sort=nothing&in.nothing=1",
        "#view=x",
        "#%",
    ):
        window = visit()

        assert window.open(built, fragment).locator(ROWS).count() > 0
        assert window.complaints == []


def test_a_trial_opens_with_its_evidence(built: Built, visit: Visits) -> None:
    window = visit()
    page = window.open(built)

    page.click("#grid [data-index='0'] .square >> nth=0")

    page.wait_for_selector("dialog[open] .film")
    text = page.inner_text("dialog")
    assert "Find entry 0 on gitlab" in text
    assert "the answer is well-formed" in (page.text_content("dialog") or "")  # passed: folded
    assert "Step 1 of 4" in text
    assert "thought 1" in text
    decoded = "img => img.decode().then(() => img.naturalWidth)"
    assert page.eval_on_selector(".pictures img", decoded) == 1
    assert window.complaints == []


def test_a_trajectory_is_walked_with_the_arrow_keys(built: Built, visit: Visits) -> None:
    page = visit().open(built)
    page.click("#grid [data-index='0'] .square >> nth=0")
    page.wait_for_selector("dialog[open] .film")

    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert "Step 3 of 4" in page.inner_text(".stage")
    page.click(".frame >> nth=1")
    assert "thought 2" in page.inner_text(".stage")


def test_a_trial_has_an_address_and_back_closes_it(built: Built, visit: Visits) -> None:
    address = quote(json.dumps([1, "3", 2]))
    page = visit().open(built, f"#open={address}")
    page.wait_for_selector("dialog[open]")
    assert "Task 3" in page.inner_text("dialog")

    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="hidden")
    page.wait_for_url(lambda url: "open=" not in url)
    page.click("#grid [data-index='5']")
    page.wait_for_selector("dialog[open]")
    page.go_back()
    page.wait_for_selector("dialog", state="hidden")


def test_everything_works_from_the_keyboard(built: Built, visit: Visits) -> None:
    page = visit().open(built)

    page.keyboard.press("/")
    page.keyboard.type("gitlab")
    assert shown(page) == "4 of 20 tasks"
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    page.focus(f"{ROWS}[tabindex='0']")
    page.keyboard.press("j")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    assert "Task 2" in page.inner_text("dialog")
    page.keyboard.press("j")
    assert "trial 2" in page.inner_text("dialog .dialog-bar")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="hidden")


def test_the_theme_can_be_chosen(built: Built, visit: Visits) -> None:
    page = visit(scheme="light").open(built)
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)

    page.click("#theme")

    assert page.evaluate(paper) != light


def test_print_shows_rows_that_are_out_of_sight(built: Built, visit: Visits) -> None:
    page = visit().open(built, "#view=trials")
    before = page.locator(ROWS).count()

    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator(ROWS).count() == 120
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator(ROWS).count() == before
    assert len(page.pdf()) > 10_000


@pytest.mark.slow
def test_a_hundred_thousand_rows_scroll(large_run: Path, build: Builds, visit: Visits) -> None:
    page = visit().open(build(large_run, formats=["html"]), "#view=trials")
    assert shown(page) == "100,000 trials"

    page.eval_on_selector("#grid", "box => box.scrollTo(0, box.scrollHeight)")
    page.wait_for_selector("[data-index='99999']")
    assert page.locator(ROWS).count() < 100
    page.fill("#search", "entry 4999")
    assert shown(page) == "20 of 100,000 trials"


@pytest.mark.slow
def test_a_long_run_with_screenshots_stays_usable(
    tmp_path: Path, build: Builds, visit: Visits, pixel: bytes
) -> None:
    tasks = make_tasks(812)
    folder = make_run(tmp_path / "long", tasks=tasks, trials=3, results=(), artifacts=False)
    results = list(make_results(tasks, trials=3))
    lines = (each.model_dump_json() + "\n" for each in results)
    (folder / "results.jsonl").write_text("".join(lines), encoding="utf-8")
    steps = [
        Step(step=n, thought=f"thought {n}", actions=({"click": {"index": n}},), screenshot=f"screenshots/{n}.png")
        for n in range(1, 31)
    ]  # fmt: skip
    trajectory = "".join(step.model_dump_json() + "\n" for step in steps)
    for n in range(1, 31):  # a file has no more than 65,000 names
        (tmp_path / f"{n}.png").write_bytes(pixel)
    for each in results:
        trial = folder / "trials" / str(each.trial) / each.task_id
        (trial / "screenshots").mkdir(parents=True)
        (trial / "trajectory.jsonl").write_text(trajectory, encoding="utf-8")
        if int(each.task_id) % 16 != 811 % 16:
            continue  # 73,080 pictures would take longer to make and to remove than to show
        for n in range(1, 31):
            (trial / "screenshots" / f"{n}.png").hardlink_to(tmp_path / f"{n}.png")
    window = visit()

    built = build(folder, screenshots="link")
    page = window.open(built, "#view=trials")
    page.fill("#search", "entry 811")
    assert shown(page) == "3 of 2,436 trials"
    page.click("#grid [data-index='2']")
    page.wait_for_selector("dialog[open] .film")

    assert page.locator(".frame").count() == 30
    page.click(".frame >> nth=29")
    assert "thought 30" in page.inner_text(".stage")
    decoded = "img => img.decode().then(() => img.naturalWidth)"
    assert page.eval_on_selector(".pictures img", decoded) == 1
    assert sum(each.stat().st_size for each in built.folder.rglob("*")) < 25_000_000
    assert window.complaints == []


def test_figures_are_written_as_elsewhere(built: Built, visit: Visits) -> None:
    page = visit().open(built, "#view=trials")
    writers: list[tuple[str, Callable[[Any], str], list[Any]]] = [
        ("c-tokens", numbers.short, [row.input_tokens + row.output_tokens for row in rows(built)]),
        ("c-cost", numbers.dollars, [row.cost_usd for row in rows(built)]),
        ("c-time", numbers.duration, [row.time_s for row in rows(built)]),
    ]
    for name, write, values in writers:
        seen = column(page, f"c-number.{name}")
        assert len(seen) > 5
        assert seen == [write(value) for value in values][: len(seen)]


def rows(built: Built) -> list[Any]:
    """Return the trials in the order of the table: by run, then task."""
    return [row for each in built.report.runs for row in each.trials]


def headings(page: Page) -> list[str]:
    return page.locator("#grid thead button").all_inner_texts()


def test_columns_are_chosen_moved_and_subtracted_and_the_address_keeps_them(
    built: Built, visit: Visits
) -> None:
    page = visit().open(built, "#view=trials&run=" + quote(built.report.runs[0].info.run_id))
    page.click(".chooser summary")
    page.click("[aria-label='Show Goal']")
    page.click("[aria-label='Show Seed']")
    page.click("[aria-label='Seed: further left']")
    page.select_option("[aria-label='First column']", "steps")
    page.select_option("[aria-label='Second column']", "trial")
    page.click("text=Add difference")

    assert headings(page)[-3:] == ["Seed", "Time", "Steps \N{MINUS SIGN} Trial"]
    assert "Goal" not in headings(page)
    with page.expect_download() as saved:
        page.click("text=Save table as CSV")
    rows = list(csv.DictReader(saved.value.path().read_text("utf-8").splitlines()))
    assert len(rows) == 60
    assert all(
        int(each["Steps \N{MINUS SIGN} Trial"]) == int(each["Steps"]) - int(each["Trial"])
        for each in rows
    )
    assert {each["Seed"] for each in rows} == {str(built.report.runs[0].info.seed)}

    kept = headings(page)
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert headings(page) == kept
    page.click(".chooser summary")
    page.click("text=As at first")
    assert "Goal" in headings(page)


def test_details_of_the_benchmark_are_columns_that_sort_and_subtract(
    scored_run: Runs, scored_result: Results, build: Builds, visit: Visits
) -> None:
    results = [
        scored_result("a", n, 1.0, details={"waited_s": n / 2, "found": n > 2, "by": "x" * n, "same": 1, "deep": {"no": 1}})
        for n in range(1, 4)
    ]  # fmt: skip
    built = build(scored_run({"a": [1, 1, 1]}, results=results))
    page = visit().open(built, "#view=trials")
    page.click(".chooser summary")
    page.click("[aria-label='Show Waited s']")
    page.click("[aria-label='Show Found']")
    page.click("#grid thead button:has-text('Waited s') >> nth=0")
    page.click("#grid thead button:has-text('Waited s') >> nth=0")
    assert page.locator("[aria-label='Show Same'], [aria-label='Show Deep']").count() == 0
    page.reload()
    page.wait_for_selector("#grid thead button:has-text('Waited s')")
    rows = page.locator("#grid tbody tr[data-index]")
    assert [each.locator("td").all_inner_texts()[-2:] for each in rows.all()] == [
        ["1.5", "yes"],
        ["1", "no"],
        ["0.5", "no"],
    ]
    page.click(".chooser summary")
    page.select_option("[aria-label='First column']", "detail.waited_s")
    page.select_option("[aria-label='Second column']", "trial")
    page.click("text=Add difference")
    assert rows.first.locator("td").all_inner_texts()[-1] == "\N{MINUS SIGN}1.5"


def test_an_address_with_columns_that_are_not_there_shows_those_that_are(
    built: Built, visit: Visits
) -> None:
    page = visit().open(built, "#view=trials&cols=steps,nonsense,steps~goal~x,task")

    assert headings(page) == ["Steps", "Task"]


def test_ids_drop_what_all_begin_with_and_are_cut_in_the_middle(
    scored_run: Runs, build: Builds, visit: Visits
) -> None:
    ids = [f"suite/part-{'x' * 30}-{end}" for end in ("one", "two")] + ["suite/short"]
    page = visit().open(build(scored_run({each: [1.0] for each in ids})))

    assert headings(page)[1] == "Task suite/\N{HORIZONTAL ELLIPSIS}"
    assert [each[-3:] for each in column(page, "c-task")] == ["one", "two", "ort"]
    assert {len(each) for each in column(page, "c-task")} == {22, 5}
    assert page.get_attribute("#grid td.c-task .text", "title") == ids[0]


MODELS = ("anthropic/claude-sonnet-4-5-20250929", "openai/computer-use-preview-2025-03-11", "google/gemini-2.5-computer-use-preview-10-2025")  # fmt: skip


def test_names_of_real_models_leave_tables_readable_on_screen_phone_and_paper(
    run: Runs, build: Builds, visit: Visits
) -> None:
    runs = [run(str(n), seed=n, model=model) for n, model in enumerate(MODELS)]
    built = build(*runs, formats=["html"])
    assert [each.label for each in built.report.runs] == list(MODELS)  # one agent: said once
    page = visit().open(built)
    rows = ".plain-table:not(.clusters) tbody tr:not(:has(details))"
    tallest = "rows => Math.max(...rows.map(row => row.getBoundingClientRect().height))"
    cell = "td.run-cell"
    whole = "cells => cells.every(each => each.scrollWidth <= each.clientWidth + 1)"
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 860})
        assert page.eval_on_selector_all(rows, tallest) < 120
        assert page.eval_on_selector_all(cell, whole)
    page.set_viewport_size({"width": 703, "height": 1000})  # A4 within its margins
    page.emulate_media(media="print")
    head = page.locator("#differences .plain-table").first.locator("thead th:visible")
    assert {"p, alone", "95% interval, together", "p, same agent here"} <= set(
        head.all_inner_texts()
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 703
    wide = page.eval_on_selector_all(".scroll", "all => all.filter(each => each.scrollWidth > each.clientWidth + 1).length")  # fmt: skip
    assert wide == 0
