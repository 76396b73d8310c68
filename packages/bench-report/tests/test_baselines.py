"""Baseline files, and the commands that compare with them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from bench_core.errors import InputError
from bench_core.files import add_checksum
from bench_core.run_folder import stored_run
from bench_report.cli import main
from bench_report.comparison.baselines import Baseline, baseline_of, read_side, read_sides
from bench_report.comparison.regression_gate import gate
from bench_report.run_data.sources import read_runs

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Runs


def invoke(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, [str(each) for each in arguments])
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def baseline_file(run: Runs, tmp_path: Path) -> Path:
    """Keep the baseline of a run of 40 tasks and two trials."""
    (source,) = read_runs([run("old", tasks=40, trials=2, seed=4)])
    file = tmp_path / "baseline.json"
    file.write_text(baseline_of(source).model_dump_json(), encoding="utf-8")
    return file


def test_a_baseline_file_stands_in_for_its_run(baseline_file: Path, run: Runs) -> None:
    new = run("new", tasks=40, trials=2, seed=5)
    old = baseline_file.parent / "runs" / "old"

    from_file, from_folder = (
        gate(new, baseline, groups=["site"]) for baseline in (baseline_file, old)
    )

    assert from_file.checks == from_folder.checks


def test_a_run_that_may_stop_early_reads_the_scores_of_the_file(baseline_file: Path) -> None:
    stored = stored_run(baseline_file)
    assert stored.scores == read_side(baseline_file).scores
    assert stored.info == read_side(baseline_file).info


def test_a_baseline_survives_a_round_trip(baseline_file: Path) -> None:
    text = baseline_file.read_text("utf-8")

    assert Baseline.model_validate_json(text).model_dump_json() == text


@pytest.mark.parametrize("content", ["{}", "not JSON", '{"kind": "baseline", "schema_version": 9}'])
def test_a_file_that_is_no_baseline_is_refused_with_the_way_out(
    content: str, tmp_path: Path
) -> None:
    file = tmp_path / "x.json"
    file.write_text(content)

    with pytest.raises(InputError, match="export baseline RUN"):
        read_side(file)


def test_sides_of_one_name_get_unique_labels(run: Runs, baseline_file: Path) -> None:
    labels = [side.label for side in read_sides([baseline_file, run("new", tasks=40)])]

    assert len(set(labels)) == 2


def test_a_gate_calls_a_clear_drop_a_regression(scored_run: Runs) -> None:
    good = scored_run({f"t{n}": [1, 1] for n in range(60)}, "good")
    bad = scored_run({f"t{n}": [n % 2, 0] for n in range(60)}, "bad")

    code, out, _ = invoke("gate", bad, "--against", good)

    assert code == 1
    assert out.startswith(
        "REGRESSION: not the same agent on these tasks, and worse: all \u221275.0"
    )


@pytest.mark.parametrize("damage", ["no tasks", "unplanned"])
def test_a_gate_on_a_damaged_run_is_no_regression(scored_run: Runs, damage: str) -> None:
    good, bad = (scored_run({"t1": [1], "t2": [0]}, name) for name in ("good", "bad"))
    if damage == "no tasks":
        (bad / "tasks.jsonl").unlink()
    else:
        lines = (bad / "results.jsonl").read_bytes().splitlines()
        stray = json.loads(lines[0]) | {"task_id": "stranger", "sequence": 3}
        del stray["checksum"]
        line = add_checksum(json.dumps(stray).encode())
        (bad / "results.jsonl").write_bytes(b"\n".join([*lines, line, b""]))

    code, _, error = invoke("gate", bad, "--against", good)

    assert (code, "Traceback" in error) == (2, False)
    assert ("has no tasks.jsonl" if damage == "no tasks" else "'stranger'") in error


def test_a_gate_is_fine_when_a_drop_is_ruled_out(scored_run: Runs) -> None:
    same = {f"t{n}": [n % 2, n % 2] for n in range(120)}

    code, out, _ = invoke("gate", scored_run(same, "a"), "--against", scored_run(same, "b"))

    assert (code, out.split(":")[0]) == (0, "FINE")


def test_a_gate_without_evidence_ends_with_three_and_prints_its_power(run: Runs) -> None:
    new, old = run("new", tasks=12, seed=1, trials=2), run("old", tasks=12, seed=2, trials=2)

    code, out, _ = invoke("gate", new, "--against", old, "--slices", "site")

    assert code == 3
    assert "a true \u22125.0 pp would be found in" in out
    assert "takes at least 59 pairs of trials without a loss, there are" in out


def test_a_gate_says_of_which_tasks_it_is_fine(scored_run: Runs) -> None:
    same = {f"t{n}": [1, 1] for n in range(40)}
    folders = scored_run(same, "a"), "--against", scored_run(same, "b")

    code, out, _ = invoke("gate", *folders)
    assert code == 0
    assert "on these tasks, run again" in out.splitlines()[0]
    assert (
        "on new tasks of this kind \N{MINUS SIGN}7.2 pp (40 independent tasks or templates)" in out
    )

    code, out, _ = invoke("gate", *folders, "--fine-for", "new-tasks")
    assert code == 3
    assert "at worst \u22127.2 pp on new tasks of this kind" in out


def test_a_broken_task_fails_the_gate_where_asked_for(scored_run: Runs) -> None:
    before = {f"t{n}": [1, 1] for n in range(150)}
    after = before | {"t7": [0, 0]}
    folders = scored_run(after, "new"), "--against", scored_run(before, "old")

    assert invoke("gate", *folders)[0] == 0
    assert invoke("gate", *folders, "--fail-broken")[0] == 1


def test_gate_and_compare_refuse_what_cannot_be_compared(run: Runs) -> None:
    a, b = run("a", tasks=12), run("b", tasks=12, world="built-in")

    for command in (["gate", a, "--against", b], ["compare", a, b]):
        code, _, err = invoke(*command)
        assert code == 2
        assert "world" in err
        assert invoke(*command, "--mix")[0] in {0, 1, 3}


def test_gate_and_compare_take_the_tasks_that_both_runs_have(
    run: Runs, baseline_file: Path
) -> None:
    few = run("few", tasks=12, trials=2)
    _, out, _ = invoke("compare", few, "--against", baseline_file, "--json")
    code, gated, _ = invoke("gate", few, "--against", baseline_file, "--json")

    (found,) = json.loads(out)["differences"]
    assert found["shared_tasks"] == json.loads(gated)["checks"][0]["tasks"]
    assert 0 < found["shared_tasks"] <= 12
    assert found["left_out"] >= 28
    assert code in {0, 1, 3}
    assert (
        f"{found['left_out']} tasks that only one"
        in invoke("compare", few, "--against", baseline_file)[1]
    )


def test_tasks_defined_otherwise_are_no_shared_ones(run: Runs, baseline_file: Path) -> None:
    stored = json.loads(baseline_file.read_text("utf-8"))
    stored["tasks"][0]["definition"] = "0" * 16
    stored["info"]["task_set_hash"] = "0" * 64
    baseline_file.write_text(json.dumps(stored), "utf-8")

    new = run("new", tasks=40, trials=2)
    for command in ("gate", "compare"):
        code, _, err = invoke(command, new, "--against", baseline_file)
        assert (code, "task set" in err) == (2, True)


def test_an_unknown_group_is_named_with_those_there_are(run: Runs) -> None:
    code, _, err = invoke("gate", run("a"), "--against", run("b"), "--slices", "app")

    assert code == 2
    assert "there are site, type" in err


def test_compare_shows_differences_slices_and_tasks(run: Runs, baseline_file: Path) -> None:
    new = run("new", tasks=40, trials=2, seed=9)

    code, out, _ = invoke("compare", new, "--against", baseline_file)
    _, as_json, _ = invoke("compare", new, "--against", baseline_file, "--json")

    assert code == 0
    assert "paired by task" in out
    assert "site gitlab" in out
    (found,) = json.loads(as_json)["differences"]
    assert found["shared_tasks"] <= 40
    assert f"{100 * found['value']:+.1f} pp".replace("-", "\N{MINUS SIGN}") in out


def test_a_run_is_compared_with_the_baseline_stored_beside_it(run: Runs) -> None:
    good, new = run("good", tasks=30, trials=2), run("new", tasks=30, trials=2, seed=9)
    stored = good.parent / "baseline.json"
    assert invoke("export", "baseline", good, "--out", stored)[0] == 0

    code, out, err = invoke("gate", new, "--json")

    assert err == f"compared with {stored.absolute()}\n"
    assert (code, out) == invoke("gate", new, "--against", stored, "--json")[:2]
    assert invoke("compare", new)[1] == invoke("compare", new, "--against", stored)[1]


def test_a_stored_baseline_of_other_tasks_is_refused(run: Runs) -> None:
    good = run("good", tasks=12)
    invoke("export", "baseline", good, "--out", good.parent / "baseline.json")

    code, _, err = invoke("gate", run("new", tasks=12, benchmark="other"))

    assert code == 2
    assert "benchmark: " in err


def test_a_baseline_in_the_working_directory_comes_second(
    run: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    invoke("export", "baseline", run("good", tasks=12), "--out", "baseline.json")

    _, _, err = invoke("gate", run("new", tasks=12, seed=9))

    assert err == f"compared with {here / 'baseline.json'}\n"


def test_without_a_stored_baseline_it_is_said_how_to_make_one(run: Runs) -> None:
    code, _, err = invoke("gate", run("new"))

    assert code == 2
    assert "export baseline" in err


def test_a_single_run_is_nothing_to_compare(run: Runs) -> None:
    assert invoke("compare", run())[0] == 2


def test_plan_shows_what_a_design_can_detect() -> None:
    code, out, _ = invoke("plan", "--tasks", 68, "--trials", 3)

    assert code == 0
    assert "11.2 pp" in out


def test_plan_names_no_difference_of_more_than_all() -> None:
    code, out, _ = invoke("plan", "--tasks", 2, "--trials", 1)

    assert code == 0
    assert out.splitlines()[2].split() == ["2", "2", "1", "4", "none", "50.0", "pp"]


def test_plan_shows_what_a_difference_takes() -> None:
    _, out, _ = invoke("plan", "--difference", "5pp", "--trials", 3, "--json")

    (found,) = json.loads(out)
    assert (found["tasks"], found["runs"]) == (334, 2004)


def test_plan_shows_how_likely_a_difference_is_found(run: Runs) -> None:
    _, out, _ = invoke("plan", "--tasks", 68, "--trials", 3, "--difference", "11.2pp", "--json")
    (found,) = json.loads(out)
    assert found["found"] == pytest.approx(0.8, abs=0.01)

    pilot = run(tasks=40, trials=3)
    _, out, _ = invoke("plan", "--tasks", 68, "--trials", 3, "--pilot", pilot, "--json")
    assert json.loads(out)[0]["detectable"] != pytest.approx(0.112, abs=1e-3)


def test_a_pilot_alone_is_planned_as_it_ran(run: Runs) -> None:
    pilot = run(tasks=40, trials=3)
    alone = invoke("plan", "--pilot", pilot, "--json")[1]
    assert alone == invoke("plan", "--pilot", pilot, "--tasks", 40, "--trials", 3, "--json")[1]
    fewer = json.loads(invoke("plan", "--pilot", pilot, "--trials", 1, "--json")[1])
    assert [(each["tasks"], each["trials"]) for each in fewer] == [(40, 1)]
    code, _, said = invoke("plan")
    assert code == 2
    assert "--pilot RUN for a run's own design" in said


def test_plan_counts_templates(run: Runs) -> None:
    arguments = "plan", "--tasks", 812, "--trials", 3, "--json"
    (alone,) = json.loads(invoke(*arguments)[1])
    (grouped,) = json.loads(invoke(*arguments, "--templates", 190)[1])
    assert (alone["templates"], grouped["templates"]) == (812, 190)
    assert grouped["detectable"] > 1.15 * alone["detectable"]

    (piloted,) = json.loads(invoke(*arguments, "--pilot", run(tasks=40, trials=3))[1])
    assert piloted["templates"] < 812
    assert invoke("plan", "--difference", "5pp", "--templates", 3)[0] == 2


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--tasks", "68", "--power", "20%"],
        ["--difference", "two"],
        ["--difference", "0"],
        ["--rate", "7"],
    ],
)
def test_plan_refuses_what_makes_no_design(arguments: list[str]) -> None:
    code, _, err = invoke("plan", *arguments)

    assert code == 2
    assert "Error" in err
