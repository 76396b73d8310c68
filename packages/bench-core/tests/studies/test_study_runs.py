"""Studies that run: turns, shared limits, looks, and what is told of changes."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bench_core.cli.main import main
from bench_core.errors import InputError
from bench_core.run_folder.view import read_run
from bench_core.studies import (
    RunName,
    StudyOutcome,
    load_study,
    run_folder,
    run_study,
    verify_study,
)
from bench_core.studies import study_status as status_of

_FILE = """\
name: coins
benchmarks: {one: {benchmark: "toy_study:Coins"OPTIONS}}
arms:
  a: {agent: scripted, model: "toy:cheap", options: {rate: 0.9}}
  b: {agent: scripted, model: "toy:cheap", options: {rate: 0.1}LIMITS}
  c: {agent: scripted, model: "toy:cheap", options: {rate: 0.5}}
trials: 2
"""


@pytest.fixture(autouse=True)
def _toys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "helpers"))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1] / "helpers"))


def run(tmp_path: Path, more: str = "", *, limits: str = "", options: str = "") -> StudyOutcome:
    file = tmp_path / "study.yaml"
    text = _FILE.replace("LIMITS", limits).replace("OPTIONS", options)
    file.write_text(text + more, encoding="utf-8")
    return run_study(load_study(file), tmp_path / "out")


def trials(folder: Path) -> list[tuple[str, str, int]]:
    """Return arm, task and number of all trials in the order of their starts."""
    found = [
        (each.started, path.name, each.task_id, each.trial)
        for path in sorted((folder / "runs").glob("*/*"))
        for each in read_run(path).results.values()
    ]
    return [(arm, task, trial) for _, arm, task, trial in sorted(found, key=lambda e: str(e[0]))]


def test_all_arms_take_their_turn_at_a_task_before_the_next_one(tmp_path: Path) -> None:
    outcome = run(tmp_path)

    ran = trials(tmp_path / "out")
    assert outcome.outcome == "finished"
    assert len(ran) == 36
    blocks = [ran[n : n + 3] for n in range(0, 36, 3)]
    assert [len({(task, trial) for _, task, trial in each}) for each in blocks] == [1] * 12
    assert all(sorted(arm for arm, _, _ in each) == ["a", "b", "c"] for each in blocks)
    assert len({tuple(arm for arm, _, _ in each) for each in blocks}) > 2  # drawn anew for each


def test_arms_that_cannot_run_side_by_side_have_their_parts_in_turn(tmp_path: Path) -> None:
    outcome = run(tmp_path, options=', options: {vms: ["one"]}')

    ran = trials(tmp_path / "out")
    parts = [(arm, len(list(own))) for arm, own in groupby(ran, key=lambda each: each[0])]
    assert outcome.outcome == "finished"
    assert Counter(arm for arm, _, _ in ran) == {"a": 12, "b": 12, "c": 12}
    assert len(parts) > 12
    assert verify_study(tmp_path / "out").sealed.benchmarks[0].order == "balanced"


def test_each_arm_is_an_ordinary_run(tmp_path: Path) -> None:
    outcome = run(tmp_path)

    folder = run_folder(tmp_path / "out", RunName("one", "a"))
    assert outcome.runs["one/a"].scored == 12
    assert read_run(folder).info.sessions[-1].outcome == "finished"
    assert read_run(folder).info.task_set_hash == verify_study(tmp_path / "out").sealed.benchmarks[0].task_set_hash  # fmt: skip


def test_study_spends_no_more_than_its_limit_and_goes_on_with_a_higher_one(tmp_path: Path) -> None:
    outcome = run(tmp_path, "workers: 3\nlimits: {max_cost: 10}\n")

    assert outcome.outcome == "budget_exceeded"
    assert 10 <= outcome.spent.cost_usd < 10 + 3
    again = run(tmp_path, "workers: 3\nlimits: {max_cost: 100}\n")
    assert again.outcome == "finished"
    assert again.remaining == 0
    assert {each.scored for each in again.runs.values()} == {12}
    assert "max_cost: 10}" in verify_study(tmp_path / "out").changes[0].text


@pytest.mark.parametrize(("word", "scored"), [("others-go-on", 12), ("all-stop", None)])
def test_arm_out_of_money_stops_the_others_only_if_the_file_says_so(
    tmp_path: Path, word: str, scored: int | None
) -> None:
    outcome = run(
        tmp_path, f"limits: {{when_an_arm_is_spent: {word}}}\n", limits=", limits: {max_cost: 3}"
    )

    assert outcome.outcome == "budget_exceeded"
    assert outcome.runs["one/b"].spent.cost_usd == 3
    if scored is None:
        assert outcome.runs["one/a"].scored < 6
    else:
        assert outcome.runs["one/a"].scored == outcome.runs["one/c"].scored == scored


def test_declared_look_ends_what_is_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOY_TASKS", "60")
    monkeypatch.setenv("TOY_SECONDS", "0.001")  # so that trials are in flight at the look

    outcome = run(tmp_path, "workers: 3\ncomparisons: [{baseline: a, arms: [b], looks: 3}]\n")

    status = {each.arm: each for each in status_of(tmp_path / "out").arms}
    assert outcome.decided == ("one/a", "one/b")
    assert outcome.outcome == "finished"
    assert outcome.remaining == 0
    assert status["a"].done < 120
    assert status["b"].state == "decided"
    assert status["c"].done == 120  # no declared comparison decides it
    assert [each.look.reason for each in status_of(tmp_path / "out").looks] == ["difference"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_ctrl_c_ends_all_runs_in_order_and_the_same_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path, "limits: {max_cost: 3}\nworkers: 2\n")
    monkeypatch.setenv("TOY_SECONDS", "1")
    text = _FILE.replace("LIMITS", "").replace("OPTIONS", "") + "workers: 2\n"
    (tmp_path / "study.yaml").write_text(text, encoding="utf-8")
    with started(tmp_path) as process:
        assert process.stdout is not None
        ended = [line for line, _ in zip(_finished(process.stdout), range(2), strict=False)]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)

    assert len(ended) == 2
    assert process.returncode == 130
    states = {each.state for each in status_of(tmp_path / "out").arms}
    assert states == {"interrupted"}
    monkeypatch.setenv("TOY_SECONDS", "0")
    assert run(tmp_path, "workers: 2\n").remaining == 0


def started(tmp_path: Path) -> subprocess.Popen[str]:
    program = "from bench_core.cli.main import main; main()"
    words = [sys.executable, "-c", program, "study", "run", "study.yaml", "--out", "out", "--json"]
    return subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True)


def test_status_tells_a_study_that_was_killed_from_one_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOY_SECONDS", "0.5")
    text = _FILE.replace("LIMITS", "").replace("OPTIONS", "")
    (tmp_path / "study.yaml").write_text(text, encoding="utf-8")
    with started(tmp_path) as process:
        assert process.stdout is not None
        next(_finished(process.stdout))
        running = status_of(tmp_path / "out")
        process.kill()
        process.communicate(timeout=60)
    killed = status_of(tmp_path / "out")

    assert (running.running, {each.state for each in running.arms}) == (True, {"running"})
    assert (killed.running, {each.state for each in killed.arms}) == (False, {"killed"})
    shown = CliRunner().invoke(main, ["study", "status", str(tmp_path / "out"), "--every", "1"])
    assert "No process works on it: `bench-core study run FILE` goes on." in " ".join(
        shown.output.split()
    )


def _finished(lines: Iterable[str]) -> Iterator[str]:
    return (line for line in lines if json.loads(line)["event"] == "trial_finished")


def test_sealed_file_stays_and_later_arms_are_told(tmp_path: Path) -> None:
    run(tmp_path)
    sealed = (tmp_path / "out/sealed.json").read_bytes()
    file = (tmp_path / "out/study.yaml").read_bytes()

    run(tmp_path, "x-later: &arm {agent: scripted, options: {rate: 0.2}}\n", limits="")
    more = (
        _FILE.replace("LIMITS", "")
        .replace("OPTIONS", "")
        .replace(
            "trials: 2",
            '  late: {agent: scripted, model: "toy:cheap", options: {rate: 0.3}}\ntrials: 2',
        )
    )
    (tmp_path / "study.yaml").write_text(more, encoding="utf-8")
    run_study(load_study(tmp_path / "study.yaml"), tmp_path / "out")

    found = verify_study(tmp_path / "out")
    assert (tmp_path / "out/sealed.json").read_bytes() == sealed
    assert (tmp_path / "out/study.yaml").read_bytes() == file
    assert found.sealed.sha256 == hashlib.sha256(file).hexdigest()
    assert len(found.changes) == 2
    assert "late: {agent: scripted" in found.changes[1].text
    assert found.problems == ()
    assert [each.arm for each in status_of(tmp_path / "out").arms if each.added] == ["late"]


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda out: (out / "study.yaml").write_text("name: x\n"), "is not the file that was sealed"),
        (lambda out: _drop_first_line(out / "changes.jsonl"), "was altered or taken out"),
        (lambda out: _edit(out / "runs/one/a/run.json", "seed", 7), "its seed are not those"),
        (lambda out: _edit(out / "sealed.json", "time", "2199-01-01T00:00:00Z"), "before the study was sealed"),
    ],
)  # fmt: skip
def test_verify_names_what_no_change_tells(tmp_path: Path, damage: Any, problem: str) -> None:
    run(tmp_path)
    run(tmp_path, "notes: one\n")
    run(tmp_path, "notes: two\n")

    damage(tmp_path / "out")

    assert any(problem in each for each in verify_study(tmp_path / "out").problems)


def test_folder_of_another_study_is_refused(tmp_path: Path) -> None:
    run(tmp_path)
    other = _FILE.replace("LIMITS", "").replace("OPTIONS", "").replace("name: coins", "name: dice")
    (tmp_path / "study.yaml").write_text(other, encoding="utf-8")

    with pytest.raises(InputError, match="is the folder of the study 'coins'"):
        run_study(load_study(tmp_path / "study.yaml"), tmp_path / "out")


def test_nothing_is_sealed_where_a_run_would_be_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "_FILE", _FILE.replace("toy:cheap", "toy:dear"))

    with pytest.raises(InputError, match="price of 'toy:dear' is unknown"):
        run(tmp_path, "limits: {max_cost: 5}\n")

    assert not (tmp_path / "out/sealed.json").exists()


def _drop_first_line(path: Path) -> None:
    path.write_text(path.read_text().partition("\n")[2])


def _edit(path: Path, name: str, value: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), name: value}))


@pytest.mark.skipif(sys.platform == "win32", reason="processes end in another way there")
def test_trials_that_were_running_when_the_study_was_killed_run_beside_none_of_any_arm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, out = tmp_path / "study.yaml", tmp_path / "out"
    text = _FILE.replace("LIMITS", "").replace("OPTIONS", "")
    file.write_text(f"{text}workers: 3\n", encoding="utf-8")
    monkeypatch.setenv("TOY_SECONDS", "600")
    program = "from bench_core.cli.main import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", program, "study", "run", str(file), "--out", str(out)],
        stdout=subprocess.DEVNULL,
    ) as process:
        while len(_attempts(out)) < 3:
            assert process.poll() is None
            time.sleep(0.05)
        process.kill()
    monkeypatch.setenv("TOY_SECONDS", "0.005")
    before = set(_attempts(out))

    assert run_study(load_study(file), out).remaining == 0

    running = set[tuple[str, ...]]()
    for kind, trial, data in _attempts(out)[3:]:
        if kind == "attempt_finished":
            running.remove(trial)
            continue
        assert data == (("alone", trial in {each[1] for each in before}),)
        assert not running or data == (("alone", False),)
        running.add(trial)
        alone = [each for each in running if each in {known[1] for known in before}]
        assert not alone or len(running) == 1
    assert not running


def _attempts(out: Path) -> list[tuple[str, tuple[str, ...], tuple[tuple[str, object], ...]]]:
    """Return kind, trial and whether it was alone of all events of attempts, in their order."""
    found = [
        (json.loads(line), path.parent.name)
        for path in (out / "runs").glob("*/*/events.jsonl")
        for line in path.read_text(encoding="utf-8").splitlines(keepends=True)
        if line.endswith("\n")
    ]
    return [
        (
            each["kind"],
            (arm, each["task_id"], str(each["trial"])),
            tuple((name, value) for name, value in each["data"].items() if name == "alone"),
        )
        for each, arm in sorted(found, key=lambda pair: str(pair[0]["time"]))
        if each["kind"] in {"attempt_started", "attempt_finished"}
    ]
