"""The page as text: structure, policy and escaping, without a browser."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_core.records import ErrorInfo, Step
from bench_report.html_page.table_data import embeddable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Builds, Built, Results, Runs


HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'>{{ 'inj' ~ 'ected' }}"
URL_ATTRIBUTES = {"href", "src", "action", "formaction", "srcset", "data", "poster"}


class Outline(HTMLParser):
    """Elements, their attributes and the text outside data elements."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def policy(html: str) -> dict[str, str]:
    content = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert content
    rules = content.group(1).replace("&#39;", "'").split(";")
    return dict(rule.strip().split(" ", 1) for rule in rules)


def digest(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


@pytest.fixture
def hostile(scored_run: Runs, scored_result: Results, build: Builds) -> Built:
    """A report in which every text a run can hold is hostile."""
    who = {"agent": HOSTILE, "model": HOSTILE}
    failed = ErrorInfo(kind=HOSTILE, message=HOSTILE)
    results = [
        scored_result(HOSTILE, 1, 1.0, method=HOSTILE, flags=[HOSTILE], **who),
        scored_result(HOSTILE, 2, 0.0, model_reported=HOSTILE, **who),
        scored_result(HOSTILE, 3, None, error=failed, **who),
    ]
    texts = {"goals": {HOSTILE: HOSTILE}, "templates": {HOSTILE: HOSTILE}}
    folder = scored_run({HOSTILE: [1, 0, None]}, results=results, **texts, **who)
    return build(folder, title=HOSTILE)


def test_the_page_asks_for_nothing_outside_itself(run: Runs, build: Builds) -> None:
    for tag, attributes in Outline(build(run()).html).elements:
        for name in URL_ATTRIBUTES & attributes.keys():
            value = attributes[name] or ""
            assert value.startswith(("#", "data:,")), f"<{tag} {name}={value}>"


def test_only_the_pages_own_script_and_style_are_allowed(run: Runs, build: Builds) -> None:
    html = build(run()).html
    rules = policy(html)
    script = re.search(r"<script>(.*?)</script>", html, re.DOTALL)
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)

    assert script
    assert style
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == digest(script.group(1))
    assert rules["style-src"] == digest(style.group(1))
    assert rules["img-src"] == "'self' file: data:"
    assert rules["base-uri"] == rules["form-action"] == "'none'"


def test_nothing_is_styled_or_handled_inline(run: Runs, build: Builds) -> None:
    for _, attributes in Outline(build(run()).html).elements:
        assert not [name for name in attributes if name == "style" or name.startswith("on")]


def test_hostile_text_adds_no_element(hostile: Built, run: Runs, build: Builds) -> None:
    usual = {tag for tag, _ in Outline(build(run(), name="usual").html).elements}
    outline = Outline(hostile.html)

    assert {tag for tag, _ in outline.elements} <= usual | {"details", "summary", "pre"}
    assert len([each for each in outline.all("script") if "type" not in each]) == 1
    assert not outline.all("img")
    assert "injected" not in re.sub(
        r"<script.*?</script>|<style.*?</style>", "", hostile.html, flags=re.DOTALL
    )


def test_hostile_text_is_kept_word_by_word_in_the_data(hostile: Built) -> None:
    assert hostile.embedded("table-data")["tasks"]["id"] == [HOSTILE]
    assert hostile.embedded("report-data")["title"] == HOSTILE
    assert hostile.embedded("evidence-0")[2]["error"]["message"] == HOSTILE


@given(st.text())
def test_embedded_json_cannot_leave_its_element(text: str) -> None:
    assert not set("<>&\u2028\u2029") & set(embeddable(text))


def test_every_number_of_a_plot_is_inside_it(run: Runs, build: Builds) -> None:
    html = build(run("a", trials=3), run("b", trials=3, seed=1)).html

    for value in re.findall(r' (?:x|x1|x2|cx|width)="(-?[\d.]+)%"', html):
        assert 0 <= float(value) <= 100


def test_the_schema_of_links_to_evidence_is_relative(
    run: Runs, build: Builds, add_trajectory: Callable[..., Path]
) -> None:
    folder = run(tasks=1)
    step = Step(step=1, screenshot="screenshots/1.png")
    add_trajectory(folder, "0", [step])

    (trial,) = build(folder, screenshots="link").embedded("evidence-0")

    assert trial["files"] == [["log.txt", "../runs/a/trials/1/0/log.txt"]]
    assert trial["steps"][0]["screenshot"] == "../runs/a/trials/1/0/screenshots/1.png"


def test_a_folder_with_odd_characters_is_linked(run: Runs, build: Builds) -> None:
    folder = run("50% #1? a'b")

    (trial, *_) = build(folder).embedded("evidence-0")

    assert trial["files"][0][1].startswith("../runs/50%25%20%231%3F%20a%27b/trials/1/0/")


MODES: dict[str, tuple[Any, int]] = {"auto": ("#", 1), "embed": ("#", 1), "link": ("..", 0)}


@pytest.mark.parametrize(("mode", "expected"), MODES.items(), ids=MODES)
def test_screenshots_are_embedded_once_or_linked(
    mode: Any, expected: tuple[str, int], run: Runs, build: Builds,
    add_trajectory: Callable[..., Path],
) -> None:  # fmt: skip
    folder = run(tasks=1)
    steps = [Step(step=n, screenshot=f"screenshots/{n}.png") for n in (1, 2)]
    add_trajectory(folder, "0", steps)
    built = build(folder, screenshots=mode)

    (trial,) = built.embedded("evidence-0")
    prefix, embedded = expected
    assert all(each["screenshot"].startswith(prefix) for each in trial["steps"])
    assert built.html.count('data-type="image/png"') == embedded


def test_no_screenshots_means_none(
    run: Runs, build: Builds, add_trajectory: Callable[..., Path]
) -> None:
    folder = run(tasks=1)
    add_trajectory(folder, "0", [Step(step=1, screenshot="screenshots/1.png")])
    built = build(folder, screenshots="none")

    assert not built.embedded("evidence-0")[0]["steps"][0]["screenshot"]


def test_a_torn_line_of_a_trajectory_is_reported(
    run: Runs, build: Builds, add_trajectory: Callable[..., Path]
) -> None:
    folder = run(tasks=1)
    kept = add_trajectory(folder, "0", [Step(step=1, thought="first"), Step(step=2)])
    with (kept / "trajectory.jsonl").open("a") as file:
        file.write('{"step": 3, "thou')

    (trial,) = build(folder).embedded("evidence-0")

    assert [each["step"] for each in trial["steps"]] == [1, 2]
    assert trial["note"].startswith("Line 3 of trajectory.jsonl was cut short")


def test_a_trajectory_that_cannot_be_read_says_so(
    run: Runs, build: Builds, add_trajectory: Callable[..., Path]
) -> None:
    folder = run(tasks=1)
    kept = add_trajectory(folder, "0", [])
    (kept / "trajectory.jsonl").write_text('{"step": 1}{"step": 2}\n{"step": 3}\n')

    (trial,) = build(folder).embedded("evidence-0")

    assert [each["step"] for each in trial["steps"]] == [3]
    assert trial["note"].startswith("Line 1 of trajectory.jsonl is damaged")


def test_pictures_are_never_svg_and_never_outside_the_trial(
    run: Runs, build: Builds, add_trajectory: Callable[..., Path]
) -> None:
    folder = run(tasks=1)
    kept = add_trajectory(folder, "0", [Step(step=1, screenshot="a.svg")])
    (kept / "a.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")

    assert build(folder).embedded("evidence-0")[0]["steps"][0]["screenshot"] is None


def test_ten_megabytes_of_text_are_clipped(
    scored_run: Runs, scored_result: Results, build: Builds
) -> None:
    huge = "x" * 10_000_000
    check = {"criterion": huge, "expected": huge, "actual": [huge], "passed": False}
    results = [scored_result("a", 1, 0.0, checks=[check], details={"a": huge})]
    folder = scored_run({"a": [0]}, goals={"a": huge}, results=results)

    assert len(build(folder, formats=["html", "md"]).html) < 300_000
