"""What is wrong with a study's file is said in one sentence, with the line, the key and the way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_core.studies import StudyFileError, load_study

_GOOD = """\
name: two
benchmarks:
  webarena:
    world: built-in
    tasks: {limit: 8}
    options: {attempts: 2}
arms:
  careful: {agent: scripted, model: a}
  hasty:
    agent: scripted
    options: {tone: calm}
trials: 3
seed: 0
workers: 2
limits: {max_cost: 5}
executor: {kind: inline}
comparisons:
  - baseline: careful
    arms: [hasty]
    drop: 5pp
    looks: 1
notes: ""
"""
_KEY = "sk-ant-" + "api03-abcdefghijklmnop1234"

_CASES = [
    # (what to replace, by what, line, what the sentence says)
    ("name: two", "nameq: two", 1, "'nameq'; did you mean 'name'?"),
    ("name: two", "name: ''", 1, "name"),
    ("name: two", "name: [two]", 1, "must be text"),
    ("name: two\n", "", 1, "name is missing; `bench-core new study`"),
    ("benchmarks:", "benchmark:", 2, "did you mean 'benchmarks'?"),
    ("arms:\n  careful", "arm:\n  careful", 7, "did you mean 'arms'?"),
    ("trials: 3", "trails: 3", 12, "did you mean 'trials'?"),
    ("trials: 3", "trials: three", 12, "must be a whole number"),
    ("trials: 3", "trials: 0", 12, "must be greater than 0"),
    ("trials: 3", "trials: 2.5", 12, "must be a whole number"),
    ("trials: 3", "trials: [3]", 12, "whole number"),
    ("trials: 3", "trials: 3\ntrials: 4", 13, "is there twice, first in line 12"),
    ("seed: 0", "seed: none", 13, "must be a whole number"),
    ("workers: 2", "workers: -1", 14, "must be greater than 0"),
    ("workers: 2", "worker: 2", 14, "did you mean 'workers'?"),
    ("max_cost: 5", "max_cots: 5", 15, "did you mean 'max_cost'?"),
    ("max_cost: 5", "max_cost: -5", 15, "must be greater than 0"),
    ("max_cost: 5", "max_cost: .inf", 15, "finite number"),
    ("max_cost: 5", "max_cost: .nan", 15, "limits.max_cost"),
    ("max_cost: 5", "max_cost: $5", 15, "must be a number"),
    ("max_cost: 5", "max_tokens: 1.5", 15, "must be a whole number"),
    ("max_cost: 5", "when_an_arm_is_spent: stop", 15, "must be 'others-go-on' or 'all-stop'"),
    ("limits: {max_cost: 5}", "limits: 5", 15, "must be an object"),
    ("kind: inline", "kind: rai", 16, "must be 'inline' or 'ray'"),
    ("kind: inline", "addressq: x", 16, "did you mean 'address'?"),
    ("world: built-in", "world: builtin", 4, "must be 'real', 'built-in' or 'wine'"),
    ("world: built-in", "wrld: built-in", 4, "did you mean 'world'?"),
    ("limit: 8", "limitt: 8", 5, "did you mean 'limit'?"),
    ("limit: 8", "limit: 0", 5, "must be greater than 0"),
    ("limit: 8", "ids: 7", 5, "must be a list"),
    ("attempts: 2", "model: a", 6, "the arms say it"),
    ("attempts: 2", "trials: 2", 6, "the study's own key of that name says it"),
    ("attempts: 2", "max_cost: 2", 6, "the key `limits` says it"),
    ("attempts: 2", "out: here", 6, "the folder of the study says it"),
    ("attempts: 2", "ids: [a]", 6, "the benchmark's key `tasks` says it"),
    ("attempts: 2", "looks: 2", 6, "the key `comparisons` says it"),
    ("attempts: 2", "agent_env: x", 6, "the arms' key `environment` says it"),
    ("attempts: 2", "host: '${NO_SUCH}'", 6, "`export NO_SUCH=...` sets it"),
    ("attempts: 2", "host: '${SHOPP}'", 6, "did you mean SHOP?"),
    ("attempts: 2", "host: '${SHOP'", 6, "write `${NAME}`"),
    ("attempts: 2", "host: '${OPENAI_API_KEY}'", 6, "holds a secret by its name"),
    ("attempts: 2", "'${SHOP}': 1", 6, "keys have none"),
    ("model: a", "model: '${SHOP}'", 8, "the same on every machine"),
    ("model: a", "modeel: a", 8, "did you mean 'model'?"),
    ("model: a", "max_steps: many", 8, "must be a whole number"),
    ("model: a", "limits: {max_hour: 2}", 8, "did you mean 'max_hours'?"),
    ("model: a", "environment: {uvx: a}", 8, "did you mean 'uv'?"),
    ("model: a", f"model: {_KEY}", 8, "looks like it holds a key"),
    ("tone: calm", f"api_key: {_KEY}", 11, "looks like it holds a key"),
    ('notes: ""', f"notes: {_KEY}", 22, "looks like it holds a key"),
    ("    agent: scripted\n", "", 9, "add `agent: NAME`"),
    ("  careful: {", "  care/ful: {", 8, "cannot be the name of a folder"),
    ("  hasty:", "  Careful:", 9, "are one folder on some systems"),
    ("baseline: careful", "baseline: carefuul", 18, "did you mean 'careful'?"),
    ("arms: [hasty]", "arms: [hast]", 19, "did you mean 'hasty'?"),
    ("arms: [hasty]", "arms: [careful]", 19, "compared with itself"),
    ("arms: [hasty]", "arms: [hasty, hasty]", 19, "is there twice"),
    ("arms: [hasty]", "benchmarks: [webarna]", 19, "did you mean 'webarena'?"),
    ("drop: 5pp", "drop: 5", 20, "as `5pp` or 0.05"),
    ("drop: 5pp", "drop: much", 20, "as `5pp` or 0.05"),
    ("looks: 1", "looks: 50", 21, "must be less than or equal to 20"),
    ("looks: 1", "outcome: cost", 21, "must be 'success_rate' or 'score'"),
    ("tone: calm", "tone: calm: x", 11, "as YAML"),
    ("trials: 3", "trials: *three", 12, "undefined alias"),
    ("trials: 3", "\ttrials: 3", 12, "as YAML"),
    ("trials: 3", "trials: \x07", 12, "control characters are not allowed: as YAML"),
    ("seed: 0", "seed: &all [*all]", 13, "the alias *all is inside what it names: write it smaller"),
    ("seed: 0", f"seed: {'[' * 70}{']' * 70}", 13, "nested deeper than 64 levels: write it smaller"),
    ("options: {tone: calm}", "reuse: before", 10, "says its `agent`: leave that out, or `reuse`"),
    ("agent: scripted\n    options: {tone: calm}", "reuse: {webarna: x}", 10, "did you mean 'webarena'?"),
    ("agent: scripted\n    options: {tone: calm}", "reuse: {}", 10, "has no run on 'webarena'"),
    ("agent: scripted\n    options: {tone: calm}", "reuse: ''", 10, "must be a path, or a path for each benchmark"),
    ("agent: scripted\n    options: {tone: calm}", "reuse: {webarena: 7}", 10, "must be a path"),
    ("agent: scripted\n    options: {tone: calm}", "reuse: [x]", 10, "must be a path"),
    ("agent: scripted\n    options: {tone: calm}", "reuse: ${SHOP}", 10, "is the same on every machine"),
    ("{agent: scripted, model: a}\n  hasty:\n    agent: scripted\n    options: {tone: calm}", "{reuse: x}", 7, "nothing is left to run"),
    ("  careful: {agent: scripted, model: a}", "  matrix: [a]", 8, "must hold lists to combine"),
    ("  careful: {agent: scripted, model: a}", "  matrix: {modl: [a]}", 8, "did you mean 'model'?"),
    ("  careful: {agent: scripted, model: a}", "  matrix: {model: []}", 8, "has no values"),
    ("  careful: {agent: scripted, model: a}", "  matrix: {agent: b}", 8, "has no list"),
    ("  careful: {agent: scripted, model: a}", "  matrix: {agent: [b, b]}", 8, "leave out a value"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [pytest.param(*case, id=f"case-{number}") for number, case in enumerate(_CASES, start=1)],
)
def test_wrong_file_is_refused_with_line_key_and_way_out(
    old: str, new: str, line: int, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "study.yaml"
    assert old in _GOOD
    path.write_text(_GOOD.replace(old, new, 1), encoding="utf-8")

    with pytest.raises(StudyFileError) as caught:
        load_study(path, {"SHOP": "http://shop"})

    text = str(caught.value)
    assert text.startswith(f"{path}, line {line}: ")
    assert says in text
    assert "\n" not in text
    assert _KEY not in text


def test_the_file_without_the_mistakes_is_read(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(_GOOD, encoding="utf-8")

    assert load_study(path).name == "two"
