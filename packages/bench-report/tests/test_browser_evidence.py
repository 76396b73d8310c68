"""Evidence in a real browser: where it is kept, how large it may be, and what is hostile in it."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest

from bench_core.records import ErrorInfo, Step
from bench_report import build_report, read_runs, report_of, write_report

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Builds, Results, Runs, Visits

pytestmark = pytest.mark.browser


def test_evidence_beyond_the_limit_comes_from_side_files(
    run: Runs, tmp_path: Path, visit: Visits
) -> None:
    runs = read_runs([run(tasks=600)])
    out = tmp_path / "report"
    files = write_report(report_of(runs, out=out), runs, out, evidence_limit=1)
    window = visit()

    page = window.page
    page.goto((out / "index.html").as_uri() + "#view=trials")
    page.wait_for_selector("html[data-ready]", state="attached")
    page.click("#grid [data-index='2']")
    page.wait_for_selector("dialog[open] .files")

    assert [each.name for each in files if each.suffix == ".js"] == ["0.js", "1.js", "2.js"]
    assert window.complaints == []


def test_one_file_has_all_evidence_however_much(
    run: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench_report.report_files.EVIDENCE_LIMIT", 1)
    folder = run(tasks=3)

    for name, one_file in (("small", False), ("whole", True)):
        build_report([folder], tmp_path / name, formats=["html"], one_file=one_file)

    assert (tmp_path / "small" / "evidence" / "0.js").is_file()
    assert not (tmp_path / "whole" / "evidence").exists()


def test_a_missing_side_file_is_reported(run: Runs, tmp_path: Path, visit: Visits) -> None:
    runs = read_runs([run()])
    out = tmp_path / "report"
    write_report(report_of(runs, out=out), runs, out, evidence_limit=1)
    (out / "evidence" / "0.js").unlink()

    page = visit().page
    page.goto((out / "index.html").as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    page.click("#grid [data-index='2']")

    assert "0.js is missing beside this page" in page.inner_text("dialog .evidence")


def test_texts_of_ten_megabytes_neither_fill_nor_break_the_page(
    scored_run: Runs, scored_result: Results, build: Builds, visit: Visits,
    add_trajectory: Callable[..., Path],
) -> None:  # fmt: skip
    huge, endless = "W" * 1_000_000, "W" * 10_000_000
    spaced = "long words " * 900_000
    result = scored_result(
        "a", 1, 0.0, method=huge, flags=[huge], details={huge: endless},
        error=ErrorInfo(kind=huge, message=spaced),
        checks=[{"criterion": huge, "expected": huge, "actual": [spaced], "passed": False}],
    )  # fmt: skip
    folder = scored_run({"a": [0]}, results=[result], goals={"a": endless}, templates={"a": huge})
    step = Step(
        step=1, thought=endless, title=huge, url=huge, actions=({"type": huge},), results=(huge,)
    )
    trial = add_trajectory(folder, "a", [step])
    noted = {"type": huge, "payload": endless, "timestamp": 1e12}
    state = {"actionhistory": [noted], "initialfinaldiff": {"added": {huge: endless}}}
    (trial / "finish_state.json").write_text(json.dumps({huge: state}))
    view = {"step": 1, "tabs": [huge, huge], "text": huge, "elements": [{"id": huge, "name": huge}]}
    (trial / "observations.jsonl").write_text(json.dumps(view) + "\n")
    window = visit()

    built = build(folder, title=huge, formats=["html"])
    page = window.open(built)
    page.click("#grid [data-index='0'] td.c-task")
    page.wait_for_selector("dialog[open] .evidence section")

    assert len(built.html) < 1_000_000
    assert "more characters" in page.inner_text("dialog")
    assert window.overflow() == 0
    assert window.complaints == []


ATTACKS = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "javascript:alert(1)",
    "'\"><b onmouseover=alert(1)>",
    "{{constructor.constructor('alert(1)')()}}",
    "\u202egnp.exe\u2066",
    "\x1b[2J\x1b[31mred",
    "a\u0301" * 400,
    "W" * 5_000,
    "<!--",
    "]]>",
    "__proto__",
    "\u2028\u2029\ufeff",
    "👩‍👩‍👧‍👦" * 50,
    "1" * 400,
)  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("width", [1280, 390])
def test_hostile_content_never_runs_nor_breaks_the_layout(
    seed: int, width: int, scored_run: Runs, scored_result: Results, build: Builds,
    visit: Visits, add_trajectory: Callable[..., Path],
) -> None:  # fmt: skip
    random_ = random.Random(seed)  # noqa: S311  # reproducible, not secret

    def attack() -> str:
        return "".join(random_.choices(ATTACKS, k=random_.randint(1, 3)))

    who = {"agent": attack(), "model": attack()}
    results = [
        scored_result(task, 1, score, method=attack(),
                    model_reported=attack(), flags=[attack()],
                    details={attack(): attack()},
                    error=ErrorInfo(kind=attack(), message=attack(), phase=attack()),
                    checks=[{"criterion": attack(), "expected": {attack(): attack()},
                             "actual": attack(), "passed": score == 1, "reason": attack()}],
                    **who)
        for task, score in (("a", 1.0), ("b", 0.0), ("c", None))
    ]  # fmt: skip
    texts = {name: {task: attack() for task in "abc"} for name in ("goals", "templates")}
    folder = scored_run({task: [1] for task in "abc"}, results=results, **texts, **who)
    step = Step(step=1, url=attack(), title=attack(), thought=attack(), error=attack(),
                actions=({attack(): attack()},), results=(attack(),), screenshot="1.png")  # fmt: skip
    (add_trajectory(folder, "a", [step]) / "1.png").write_bytes(b"not a picture")
    entries = [{"request": {"method": attack(), "url": attack()}, "response": {"status": 0}}] * 3
    (folder / "trials/1/a/network.har").write_text(json.dumps({"log": {"entries": entries}}))
    window = visit(width=width)

    page = window.open(build(folder, title=attack()))
    for index in range(3):
        page.click(f"#grid [data-index='{index}'] td.c-task")
        page.wait_for_selector("dialog[open] .evidence")
        wide = page.evaluate(
            "(d => d.scrollWidth - d.clientWidth)(document.querySelector('dialog'))"
        )
        assert wide == 0
        page.keyboard.press("Escape")
        page.wait_for_selector("dialog", state="hidden")
    page.hover("#grid [data-index='1']")

    assert window.dialogs == []
    assert window.complaints == []
    assert window.overflow() == 0
    assert all(url.startswith(("file:", "data:")) for url in window.requests)
