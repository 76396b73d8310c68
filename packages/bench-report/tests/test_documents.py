"""Documents from templates: ours and the user's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from bench_core.errors import InputError
from bench_report.exports import export
from bench_report.formats.documents import DOCUMENTS
from bench_report.text.phrases import DIFFERENCES_NOTE, SAME_TASKS_NOTE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conftest import Runs


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("runs", [1, 3])
def test_our_documents_hold_the_rates_of_all_runs(
    name: str, runs: int, run: Runs, tmp_path: Path
) -> None:
    folders = [run(f"r{n}", tasks=20, trials=2, seed=n, agent=f"agent{n}") for n in range(runs)]

    (document, *_) = export(name, folders, tmp_path / "x.md")
    export("json", folders, tmp_path / "json")

    report = json.loads((tmp_path / "json" / "report.json").read_text())
    text = document.read_text("utf-8")
    for each in report["runs"]:
        assert f"{each['summary']['success']['estimate']:.1%}" in text
        assert f"agent{report['runs'].index(each)}" in text or name == "webarena"
    assert "\n\n\n\n" not in text
    # what a column keeps and what an end means is said wherever they stand
    assert ("p, together" in text) == (DIFFERENCES_NOTE in text)
    assert ("(95% at each end)" in text) == (SAME_TASKS_NOTE in text)
    assert (runs == 3) == (DIFFERENCES_NOTE in text or SAME_TASKS_NOTE in text)


def test_the_comparison_comes_as_json_with_what_was_left_out(
    judged_run: Callable[..., Path], tmp_path: Path
) -> None:
    export("comparison", [judged_run(known=30)], tmp_path / "c.md")

    document = json.loads((tmp_path / "c.json").read_text())
    (model,) = document["models"]
    assert model["passed"] + model["failed"] + model["not_scored"] == model["trials"] == 68
    assert sum(model["by_eval_method"].values()) == 68
    assert sum(model["by_confidence"].values()) == model["passed"]
    assert model["interval"][0] < model["success_rate"] < model["interval"][1]
    assert model["corrected_rate"] < model["success_rate"]
    assert document["metadata"]["ground_truth_coverage"] == pytest.approx(30 / 68)


def test_a_baseline_document_says_when_a_match_is_undecided(run: Runs, tmp_path: Path) -> None:
    folders = [run("vanilla", tasks=5), run("ours", tasks=5, agent="ours", seed=2)]

    (document,) = export("waa-baseline", folders, tmp_path / "w.md")

    assert "cannot be decided from so few tasks" in document.read_text("utf-8")


def test_a_baseline_document_says_when_rates_match(scored_run: Runs, tmp_path: Path) -> None:
    same = {f"t{n}": [n % 2] for n in range(154)}

    (document,) = export(
        "waa-baseline", [scored_run(same, "a"), scored_run(same, "b", agent="b")], tmp_path / "w.md"
    )

    assert "**Conclusion**: the success rates match" in document.read_text("utf-8")


def test_users_bring_their_own_template(run: Runs, tmp_path: Path) -> None:
    template = tmp_path / "mine.txt.j2"
    template.write_text(
        "{% for r in report.runs %}{{ r.label }}: {{ r.summary.success.estimate | percent }}{% endfor %}"
    )

    (document,) = export("template", [run()], tmp_path / "out.txt", template=template)

    assert document.read_text().startswith("scripted · openai:gpt-5.2: ")


@pytest.mark.parametrize("text", ["{{ report.nothing }}", "{% for %}", "{{ 1 | nofilter }}"])
def test_a_template_that_cannot_be_filled_is_named(text: str, run: Runs, tmp_path: Path) -> None:
    template = tmp_path / "bad.j2"
    template.write_text(text)

    with pytest.raises(InputError, match=r"bad\.j2"):
        export("template", [run()], tmp_path / "out.txt", template=template)
    assert not (tmp_path / "out.txt").exists()


def test_a_missing_template_is_asked_for(run: Runs, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--template FILE"):
        export("template", [run()], tmp_path / "out.txt")


def test_forms_of_one_run_refuse_several(run: Runs, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="one by one"):
        export("baseline", [run("a"), run("b")], tmp_path / "x.json")
