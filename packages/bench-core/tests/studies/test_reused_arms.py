"""Arms that are not run, because what ran already stands in for them."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bench_core.run_folder import StoredRun, read_run, stored_run
from bench_core.studies import (
    Study,
    StudyFileError,
    StudyOutcome,
    check_study,
    load_study,
    plan_study,
    run_study,
    verify_study,
)
from bench_core.studies import study_status as status_of

_ARMS = 'a: {agent: scripted, model: "toy:cheap", options: {rate: RATE}}'


@pytest.fixture(autouse=True)
def _toys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "helpers"))


def write(folder: Path, name: str, arms: str, more: str = "trials: 2\n") -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(
        f'name: {name}\nbenchmarks: {{one: {{benchmark: "toy_study:Coins"}}}}\narms:\n  {arms}\n{more}',
        encoding="utf-8",
    )
    return path


def run(folder: Path, name: str, arms: str, more: str = "trials: 2\n") -> StudyOutcome:
    return run_study(load_study(write(folder, name, arms, more)), folder / name)


@pytest.fixture
def before(tmp_path: Path) -> Path:
    """Return the folder of a study that ran before, with the arm `a`."""
    run(tmp_path, "before", _ARMS.replace("RATE", "0.9"))
    return tmp_path / "before"


def _new(reuse: str) -> str:
    return f"{_ARMS.replace('RATE', '0.1').replace('a:', 'b:', 1)}\n  a: {{reuse: {reuse}}}"


def baseline_file(before: Path) -> Path:
    path = before.parent / "baseline.json"
    path.write_text(stored_run(before / "runs/one/a").model_dump_json(), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("kind", "reuse"),
    [
        ("study", "before"),
        ("run", "{one: before/runs/one/a}"),
        ("baseline", "baseline.json"),
    ],
)
def test_what_ran_stands_in_for_an_arm_and_every_reader_is_told(
    before: Path, kind: str, reuse: str
) -> None:
    baseline_file(before)
    outcome = run(before.parent, "after", _new(reuse))

    folder = before.parent / "after"
    found, status = verify_study(folder), {each.arm: each for each in status_of(folder).arms}
    then = {key: each.score for key, each in read_run(before / "runs/one/a").results.items()}
    now = {key: each.score for key, each in read_run(folder / "runs/one/a").results.items()}
    assert now == then
    assert (outcome.outcome, outcome.remaining, sorted(outcome.runs)) == ("finished", 0, ["one/b"])
    assert outcome.spent.cost_usd == status_of(folder).spent.cost_usd == 12  # its own trials alone
    assert (status["a"].state, status["a"].done) == ("reused", 12)
    assert found.problems == ()
    (arm,) = found.sealed.reused
    assert (arm.benchmark, arm.arm) == ("one", "a")
    assert "(drift)" in arm.warning
    assert found.first_trial is not None
    assert found.first_trial > found.sealed.time
    assert kind != "baseline" or {e.flags for e in read_run(folder / "runs/one/a").latest} == {("imported",)}  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes are others there")
def test_what_a_stranger_s_run_links_to_is_not_taken(before: Path) -> None:
    secret = before.parent / "secret.txt"
    secret.write_text("mine", encoding="utf-8")
    theirs = before / "runs/one/a"
    (theirs / "trials" / "1" / "more").mkdir(parents=True)
    (theirs / "trials" / "1" / "more" / "beside.txt").symlink_to(secret)
    (theirs / "trials" / "1" / "more" / "all").symlink_to(before.parent)
    run(before.parent, "after", _new("before"))
    taken = before.parent / "after" / "runs/one/a"
    assert {each.name for each in taken.rglob("*")}.isdisjoint({"beside.txt", "all"})
    assert read_run(taken).results == read_run(theirs).results


def _edit(path: Path, change: Callable[[StoredRun], StoredRun]) -> None:
    found = change(StoredRun.model_validate_json(path.read_bytes()))
    path.write_text(found.model_dump_json(), encoding="utf-8")


def _info(**update: object) -> Callable[[StoredRun], StoredRun]:
    return lambda each: each.model_copy(update={"info": each.info.model_copy(update=update)})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_info(task_set_hash="0" * 64), "its task set is 000000000000, that of the arms beside it"),
        (_info(world="built-in"), "its world is built-in"),
        (_info(profile="v2"), "its profile is v2"),
        (_info(benchmark="dice"), "its benchmark is dice"),
        (_info(seed=9), "its seed is 9"),
        (_info(trials=1), "its trials is 1"),
        (lambda each: each.model_copy(update={"scores": {}}), "6 of its tasks lack trials"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_runs(
    before: Path, change: Callable[[StoredRun], StoredRun], says: str
) -> None:
    _edit(baseline_file(before), change)
    file = write(before.parent, "after", _new("baseline.json"))

    with pytest.raises(StudyFileError, match=says) as caught:
        run_study(load_study(file), before.parent / "after")

    assert str(caught.value).startswith(f"{file}, line 5: one/a cannot be compared")
    assert check_study(load_study(file)).problems == (str(caught.value),)
    assert not (before.parent / "after/sealed.json").exists()


@pytest.mark.parametrize(
    ("then", "now", "says"),
    [
        ("faults: [slow]", "faults: [drop]", '--faults was ["slow"], now ["drop"]'),
        ("faults: [slow]", "", '--faults was ["slow"], now not set'),
        ("", "faults: [drop]", '--faults was not set, now ["drop"]'),
        ("", "site_locks: exclusive", '--site-locks was "rw", now "exclusive"'),
        ("timing: fast", "timing: paced", "its timing is fast, that of the arms beside it paced"),
        ("faults: [slow], timing: fast", "timing: fast, faults: [slow]", None),
    ],
)
def test_any_setting_of_the_benchmark_that_differs_is_refused_and_those_of_arms_may_differ(
    tmp_path: Path, then: str, now: str, says: str | None
) -> None:
    def with_options(name: str, arms: str, options: str) -> Study:
        path = write(tmp_path, name, arms)
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace('Coins"', f'Coins", options: {{{options}}}'), encoding="utf-8")
        return load_study(path)

    arm = f"{_ARMS.replace('RATE', '0.9')[:-1]}, max_steps: 7, time_limit: 9}}"
    run_study(with_options("before", arm, then), tmp_path / "before")
    after = with_options("after", _new("before"), now)

    problems = check_study(after).problems
    assert says is None or [says in each for each in problems] == [True]
    assert says is not None or problems == ()
    if says is None:
        run_study(after, tmp_path / "after")
        assert verify_study(tmp_path / "after").problems == ()


def test_imported_run_says_no_settings_and_every_reader_is_told(before: Path) -> None:
    _edit(baseline_file(before), _info(config={"imported_from": "elsewhere"}))
    run(before.parent, "after", _new("baseline.json"))

    (arm,) = verify_study(before.parent / "after").sealed.reused
    assert "was imported from elsewhere, with settings that no file says" in arm.warning


def _cut(folder: Path) -> None:
    path = folder / "runs/one/a/results.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (_cut, "1 of its trials have no lasting result"),
        (lambda folder: shutil.rmtree(folder / "runs/one/a"), "cannot be taken from"),
        (lambda folder: (folder / "runs/one/a/run.json").write_text("{"), "cannot be taken from"),
        (lambda folder: (folder / "runs/one/a/results.jsonl").write_text("{}\n"), "cannot be"),
    ],
)
def test_run_that_is_not_whole_is_not_taken(
    before: Path, damage: Callable[[Path], object], says: str
) -> None:
    damage(before)

    with pytest.raises(StudyFileError, match=says):
        run(before.parent, "after", _new("before"))


def test_the_same_command_goes_on_wherever_it_was_killed(before: Path) -> None:
    folder = before.parent / "after"
    (folder / ".taken/one/a").mkdir(parents=True)  # killed while it was copied
    run(before.parent, "after", _new("before"))
    sealed = (folder / "sealed.json").read_bytes()

    (folder / "runs/one/a").rename(folder / ".taken/one/a")  # killed when it was declared
    shutil.rmtree(before)  # what was taken is the study's own
    assert run(before.parent, "after", _new("before")).remaining == 0

    assert (folder / "sealed.json").read_bytes() == sealed
    assert verify_study(folder).problems == verify_study(folder).changes == ()


def test_arm_that_is_in_the_study_is_not_exchanged(before: Path) -> None:
    run(before.parent, "after", _new("before"))

    with pytest.raises(StudyFileError, match="already, taken from before, which stays"):
        run(before.parent, "after", _new("{one: before/runs/one/a}"))
    with pytest.raises(StudyFileError, match="already, with trials of its own, which stays"):
        run(before.parent, "before", _new("after"))


def test_later_arm_and_a_change_of_what_was_taken_are_told(before: Path) -> None:
    folder = before.parent / "after"
    run(before.parent, "after", _ARMS.replace("RATE", "0.1").replace("a:", "b:", 1))
    run(before.parent, "after", _new("before"))

    found = verify_study(folder)
    assert [each.arm for each in found.changes[0].reused] == ["a"]
    assert found.problems == ()
    path = folder / "runs/one/a/run.json"
    path.write_text(json.dumps(json.loads(path.read_text()), indent=None), encoding="utf-8")
    assert verify_study(folder).problems == (
        "one/a: its run is not the one that was taken from before",
    )


def test_looks_count_what_was_taken(before: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_TASKS", "60")
    run(before.parent, "wide", _ARMS.replace("RATE", "0.9"))
    comparison = "trials: 2\ncomparisons: [{baseline: a, looks: 3}]\n"
    outcome = run(before.parent, "after", _new("wide"), comparison)

    found = status_of(before.parent / "after")
    assert [each.look.reason for each in found.looks] == ["difference"]
    assert outcome.remaining == found.left == 0
    assert outcome.runs["one/b"].scored < 120
    plan = plan_study(load_study(before.parent / "after.yaml"), before.parent / "new")
    assert [each.arm for each in plan.runs] == ["b"]
