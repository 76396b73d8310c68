"""The file of a study: what it may hold, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bench_core.studies import Study, load_study

Write = Callable[[str], Study]

_TWO = """\
name: two
benchmarks:
  webarena: {world: built-in, tasks: {limit: 8}, options: {host: "${SHOP}"}}
arms:
  careful: {agent: scripted, max_steps: 9}
  hasty: {agent: scripted, options: {seed: 1}, environment: {uv: my-agent==1}}
"""


@pytest.fixture
def read(tmp_path: Path) -> Write:
    def write(text: str) -> Study:
        path = tmp_path / "study.yaml"
        path.write_text(text, encoding="utf-8")
        return load_study(path, {"SHOP": "http://shop"})

    return write


def test_arm_on_benchmark_is_an_ordinary_run(read: Write) -> None:
    study = read(_TWO)

    assert study.run_options(study.benchmark("webarena"), study.arm("hasty"), Path("out")) == {
        "host": "http://shop",
        "limit": 8,
        "world": "built-in",
        "agent_env": "uv:my-agent==1",
        "agent": "scripted",
        "agent_options": {"seed": 1},
        "trials": 1,
        "seed": 0,
        "workers": 1,
        "executor": "inline",
        "bind": [],
        "out": "out",
    }


def test_matrix_stands_for_the_arms_of_all_combinations(read: Write) -> None:
    study = read("""\
name: sweep
benchmarks: {webarena: {}}
arms:
  matrix:
    agent: scripted
    model: [openai:gpt-5.2, other]
    few_shot: [0, 3]
    options: {tone: calm}
""")

    assert [each.name for each in study.arms] == [
        "openai-gpt-5.2-few_shot-0",
        "openai-gpt-5.2-few_shot-3",
        "other-few_shot-0",
        "other-few_shot-3",
    ]
    assert study.arms[1].model == "openai:gpt-5.2"
    assert study.arms[1].options == {"tone": "calm", "few_shot": 3}


def test_comparison_names_all_others_where_it_names_none(read: Write) -> None:
    study = read(_TWO + "comparisons: [{baseline: careful, drop: 5pp}]\n")

    assert study.comparisons[0].arms == ("hasty",)
    assert study.comparisons[0].benchmarks == ("webarena",)
    assert study.comparisons[0].drop == 0.05


def test_aliases_repeat_what_stands_at_the_top(read: Write) -> None:
    study = read("x-slow: &slow {max_steps: 50}\n" + _TWO.replace("max_steps: 9", "<<: *slow"))

    assert study.arm("careful").max_steps == 50
