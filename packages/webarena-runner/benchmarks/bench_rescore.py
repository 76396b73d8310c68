"""Score 812 stored trials again: our `rescore`, and webarena-verified's own command line.

The corpus is written from the tasks' definitions: a third of the trials are right, a third lack
the traffic, a third have no usable answer; each recording has 60 further requests, as real ones
do. Statuses and scores must be the same on every trial. Promised: at least the official speed::

    python packages/webarena-runner/benchmarks/bench_rescore.py
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench_core.cli import render_table

BIN = Path(sys.executable).parent
PADDING = 60


def main() -> int:
    """Print the table; exit code 1 if a promise is missed."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        write_corpus(run)
        official_s = cpu_of(
            [BIN / "webarena-verified", "eval-tasks", "--output-dir", run / "trials/1"]
        )
        ours_s = cpu_of([BIN / "webarena-runner", "rescore", run, "--name", "bench", "--json"])
        differ = differences(run)
    ratio = ours_s / official_s
    rows = [
        ("webarena-verified eval-tasks", f"{official_s:.1f}", "1.00", "", ""),
        (
            "webarena-runner rescore",
            f"{ours_s:.1f}",
            f"{ratio:.2f}",
            "<= 1.00",
            f"{len(differ)} differ",
        ),
    ]
    headers = ("what scores 812 trials", "CPU seconds", "ratio", "promised", "scores and statuses")
    print(render_table(headers, rows))
    print("\n".join(differ[:10]))
    return 0 if ratio <= 1.0 and not differ else 1


def write_corpus(run: Path) -> None:
    """Write a finished run of all tasks without running any."""
    from bench_core.run_spec import RunSpec  # a second, all of this
    from bench_core.runs import run_benchmark_sync

    run_benchmark_sync(_Written(), RunSpec(agent="do-nothing", world="built-in"), run)


class _Written:
    """A benchmark whose trials are written from the tasks' definitions, right and wrong ones."""

    name = "webarena"

    def tasks(self) -> Any:
        """Return all tasks."""
        from webarena_runner.tasks import load_tasks

        return load_tasks()

    async def run_trial(self, task: Any, context: Any) -> Any:
        """Write a trial and a result that is yet to be scored."""
        from bench_core.records import Status, TrialResult
        from webarena_runner.config import default_config
        from webarena_runner.reference_solutions.traffic import traffic_for
        from webarena_runner.reference_solutions.trials import write_trial

        kind, config = int(task.task_id) % 3, default_config()
        traffic = traffic_for(task, config)
        first = traffic[0]
        noise = [_noise(first, number) for number in range(PADDING)]
        entries = [*noise, *(traffic[:1] if kind == 1 else traffic)]
        answer = '{"task_type": null}' if kind == 2 else None
        write_trial(context.folder, task, config, answer=answer, entries=entries)
        return TrialResult(
            benchmark="webarena", task_id=task.task_id, trial=1, agent="do-nothing",
            world="built-in", status=Status.COMPLETED, score=0.0,
        )  # fmt: skip

    async def rescore(self, task: Any, result: Any, folder: Path) -> Any:
        """Nobody asks this one."""
        raise NotImplementedError


def _noise(first: dict[str, Any], number: int) -> dict[str, Any]:
    """Return a background request with a body of some kilobytes."""
    entry = json.loads(json.dumps(first))
    entry["request"] |= {
        "url": f"{first['request']['url'].rstrip('/')}/asset/{number}",
        "headers": [],
    }
    entry["response"]["content"] = {"size": 4000, "mimeType": "text/html", "text": "x" * 4000}
    return dict(entry)


def cpu_of(command: list[Any]) -> float:
    """Return the processor seconds, user and system, that a command and its children took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(each) for each in command], check=False, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def differences(run: Path) -> list[str]:
    """Return the trials whose official status or score is not the command line's."""
    lines = (run / "rescores/bench/results.jsonl").read_text().splitlines()
    ours = {each["task_id"]: each for each in map(json.loads, lines)}
    found = []
    for path in (run / "trials/1").glob("*/eval_result.json"):
        theirs, own = json.loads(path.read_text()), ours[path.parent.name]
        official = own["details"]["official"]
        if (official["status"], official["score"]) != (theirs["status"], theirs["score"]):
            found.append(f"task {path.parent.name}: {official} instead of {theirs['status']}")
        if own.get("score") is not None and own["score"] != theirs["score"]:
            found.append(f"task {path.parent.name}: score {own['score']}, not {theirs['score']}")
    if len(ours) != 812 or len(list((run / "trials/1").glob("*/eval_result.json"))) != 812:
        found.append("not all 812 trials were scored")
    return found


if __name__ == "__main__":
    sys.exit(main())
