"""The official command line and `evaluate` say the same of every trial of a corpus."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from variants import wrong_variants

from webarena_runner.config import default_config
from webarena_runner.evaluation import evaluate
from webarena_runner.reference_solutions.traffic import traffic_for
from webarena_runner.reference_solutions.trials import answer_for, write_trial
from webarena_runner.tasks import load_tasks
from webarena_runner.world.scripts import demo_task_ids

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bench_core.records import Task

COMMAND = """
import sys
from webarena_verified.__main__ import main
for folder in sys.argv[1:]:
    sys.argv = ["webarena-verified", "eval-tasks", "--output-dir", folder]
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise
"""
"""The command `webarena-verified eval-tasks` for each folder, in one process: most of one is imports."""
CONFIG = default_config()
TASKS = {int(task.task_id): task for task in load_tasks()}
BROKEN = (319, 429, 562, 699, 811)


def corpus() -> Iterator[tuple[str, Task, Any, list[dict[str, Any]]]]:
    """Right trials, their wrong variants, tasks that cannot score, and recordings with faults."""
    for number in (*demo_task_ids(), *BROKEN):
        task = TASKS[number]
        answer, traffic = answer_for(task), traffic_for(task, CONFIG)
        yield "right", task, answer, traffic
        for index, variant in enumerate(wrong_variants(task, answer, traffic)):
            yield f"wrong-{index}", task, variant.answer, variant.entries
        yield "empty", task, answer, []
        yield "null-type", task, {**answer, "task_type": None}, traffic


@pytest.mark.slow
def test_scores_and_statuses_are_the_official_ones_on_the_whole_corpus(tmp_path: Path) -> None:
    ours: dict[tuple[str, str], tuple[str, float]] = {}
    for group, task, answer, entries in corpus():
        folder = tmp_path / group / task.task_id
        found = evaluate(task, write_trial(folder, task, CONFIG, answer=answer, entries=entries))
        ours[group, task.task_id] = (found.official_status, found.official_score)
        if found.score is not None:
            assert found.score == found.official_score
    groups = sorted({name for name, _ in ours})
    command = [sys.executable, "-c", COMMAND, *(str(tmp_path / group) for group in groups)]
    subprocess.run(command, capture_output=True, check=True)
    theirs: dict[tuple[str, str], tuple[str, float]] = {}
    for group in groups:
        for path in (tmp_path / group).glob("*/eval_result.json"):
            result = json.loads(path.read_text())
            theirs[group, path.parent.name] = (result["status"], result["score"])
    assert len(ours) > 200
    assert theirs == ours
