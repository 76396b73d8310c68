"""Whether `rescore --each-step` says of WebArena what scoring truncated recordings one by one says, and what it costs.

The scripted agent plays the built-in world's tasks right (`--run` takes a run that it has played). Each trial, and wrong
ones made from it as drawn by seed, is scored after each step both ways. The cost is CPU time beside that of the
evaluations themselves, in the same process and with the evaluator already imported.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/helpers"))

from variants import wrong_variants  # needs the path above

from bench_core.errors import EvaluationError
from bench_core.records import Step, Task
from bench_core.run_folder import read_lines, read_run
from bench_core.runs import score_each_step
from bench_core.seeded import seeded
from webarena_runner.benchmark import WebArenaBenchmark
from webarena_runner.each_step import passed_after
from webarena_runner.evaluation import ANSWER_EVALUATOR, HAR_FILE, evaluate
from webarena_runner.evaluators import InstalledEvaluator
from webarena_runner.tasks import load_tasks

MOST = 1.5
_Passed = list[bool | None]


class _Timed(InstalledEvaluator):
    spent_s, asked = 0.0, 0

    def result(self, *given: Any) -> dict[str, Any]:
        began = time.process_time()
        try:
            return super().result(*given)
        finally:
            self.spent_s += time.process_time() - began
            self.asked += 1


def main() -> int:
    """Run the campaign and return 1 where the two differ or the cost is above what is promised."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", type=Path, help="Of the built-in world, by the agent `scripted`.")
    parser.add_argument("--wrong", type=int, default=100)
    parser.add_argument("--seed", type=int, default=60)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        run = asked.run or _played(place / "played")
        right, wrong = _trials(run, place)
        drawn = seeded(asked.seed).sample(wrong, min(asked.wrong, len(wrong)))
        failed = _compared("solutions", right, place) + _compared("wrong recordings", drawn, place)
        ratio = _cost(run, place)
    return 1 if failed or ratio > MOST else 0


def _played(out: Path) -> Path:
    command = ["webarena-runner", "run", "--world", "built-in", "--agent", "scripted", "--out"]
    subprocess.run([*command, str(out)], check=True, stdout=subprocess.DEVNULL)
    return out


_Trial = tuple[str, Task, Path, list[Step]]


def _trials(run: Path, place: Path) -> tuple[list[_Trial], list[_Trial]]:
    """Return the trials as they were played, and wrong ones in folders below `place`."""
    view, tasks = read_run(run), {each.task_id: each for each in load_tasks()}
    right: list[_Trial] = []
    wrong: list[_Trial] = []
    for key in view.results:
        task, folder = tasks[key.task_id], view.trial_folder(key)
        steps = list(read_lines(folder / "trajectory.jsonl", Step).records)
        right.append((f"{key.task_id} right", task, folder, steps))
        document = json.loads((folder / HAR_FILE).read_text())
        answer = json.loads((folder / "agent_response.json").read_text())
        entries = document["log"]["entries"]
        if all(each["evaluator"] == ANSWER_EVALUATOR for each in task.config["eval"]):
            continue
        last = max(each["startedDateTime"] for each in entries)
        for number, each in enumerate(wrong_variants(task, answer, entries)):
            made = place / "wrong" / f"{key.task_id}-{number}"
            made.mkdir(parents=True)
            shutil.copy(folder / "run_config.json", made)
            (made / "agent_response.json").write_text(json.dumps(each.answer))
            # requests that were made up have a date of their own: they follow what was played
            played = {entry["startedDateTime"] for entry in entries}
            moved = [
                entry if entry["startedDateTime"] in played else {**entry, "startedDateTime": last}
                for entry in each.entries
            ]
            if number % 2:  # first solved, then what is wrong
                moved = [*entries, *(entry for entry in moved if entry not in entries)]
            (made / HAR_FILE).write_text(json.dumps({"log": {**document["log"], "entries": moved}}))
            wrong.append((f"{key.task_id} {each.name}", task, made, steps))
    return right, wrong


def _compared(what: str, trials: list[_Trial], place: Path) -> int:
    """Print how many trials both ways agree on, and return on how many they do not."""
    agreed = alone = undone = differ = 0
    for name, task, folder, steps in trials:
        try:
            found = passed_after(task, folder, steps, InstalledEvaluator())
        except EvaluationError:
            alone += 1
            continue
        expected = _one_by_one(task, folder, steps, place / "cut")
        agreed += found == expected
        undone += True in found and found[-1] is False
        if found != expected:
            differ += 1
            print(f"  {name}: {found} instead of {expected}")
    print(
        f"{what}: {agreed} of {agreed + differ} agree with truncation, {undone} destroyed again; "
        f"{alone} have no such states",
        flush=True,
    )
    return differ


def _one_by_one(task: Task, folder: Path, steps: list[Step], cut: Path) -> _Passed:
    found: _Passed = []
    document = json.loads((folder / HAR_FILE).read_text())
    entries = document["log"]["entries"]
    for after in [*steps[1:], None]:
        shutil.rmtree(cut, ignore_errors=True)
        shutil.copytree(folder, cut)
        end = None if after is None else after.started
        document["log"]["entries"] = [
            each
            for each in entries
            if end is None or datetime.fromisoformat(each["startedDateTime"]) < end
        ]
        (cut / HAR_FILE).write_text(json.dumps(document))
        checks = [each.passed for each in evaluate(task, cut).checks if each.criterion != "answer"]
        found.append(None if None in checks or not checks else all(checks))
    return found


def _cost(run: Path, place: Path) -> float:
    copy = shutil.copytree(run, place / "cost")
    (copy / "step_scores.jsonl").unlink(missing_ok=True)
    judge = _Timed()
    began = time.process_time()
    score_each_step(WebArenaBenchmark(evaluator=judge), copy)
    spent_s, asked = time.process_time() - began, judge.asked
    ratio = spent_s / judge.spent_s
    score_each_step(WebArenaBenchmark(evaluator=judge), copy)
    print(
        f"cost: {spent_s:.3f} s of CPU time, {judge.spent_s:.3f} s of them in {asked} evaluations: "
        f"{ratio:.2f} x ({MOST} allowed); asked again: {judge.asked - asked} evaluations"
    )
    return ratio if judge.asked == asked else MOST + 1


if __name__ == "__main__":
    sys.exit(main())
