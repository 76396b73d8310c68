"""What `nox -s mutants` rests on."""

from __future__ import annotations

import subprocess
from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from nox_support.mutants import Decisions
from nox_support.mutation_testing import EXPLAINED, main, read_explained, read_mutants
from nox_support.packages import Package
from nox_support.source_copies import ENDED, KILLED, SURVIVED, TIMED_OUT, source_copies

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from nox_support.source_copies import SourceCopy

RULE = """class Check:
    score: float | None


def decide(score):
    if score is None:
        return "unknown"
    return "pass" if score >= 1 else "fail"


def is_half(score):
    return score == 0.5
"""
TEST = """from toy.rule import decide


def test_full_score_passes():
    assert decide(1) == "pass"


def test_no_score_is_unknown():
    assert decide(None) == "unknown"
"""
CLASSES = """
class Status(str, Enum):
    COMPLETED = "completed"
    AGENT_ERROR = "agent_error"

class AgentError(Exception): ...
class ScriptError(AgentError): ...
class EvaluationError(Exception): ...

class Check(Record):
    score: float | None

class SiteFault(Record):
    site: str
"""
SURVIVOR = """
[[explained]]
file = "toy/rule.py"
function = "is_half"
old = "score == 0.5"
new = "score != 0.5"
why = "Nobody asks."
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of one package with rules, whose tests look at neither what fails nor what is half done."""
    for name, text in {
        "packages/toy/pyproject.toml": '[project]\nname = "toy"\n',
        "packages/toy/src/toy/__init__.py": "",
        "packages/toy/src/toy/rule.py": RULE,
        "packages/toy/tests/test_rule.py": TEST,
        "integration_tests/explained_mutants.toml": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path / "packages/toy/src")
    return tmp_path


@pytest.fixture
def toy(root: Path) -> Iterator[SourceCopy]:
    """The package's sources in a copy."""
    with source_copies([Package(root / "packages/toy")]) as copies:
        yield copies["toy"]


def changed(toy: SourceCopy, old: str, new: str, *, seconds: float = 600) -> tuple[str, str]:
    assert RULE.count(old) == 1
    outcome = toy.changed("toy/rule.py", RULE.replace(old, new), ["tests/test_rule.py"], seconds)
    return outcome.verdict, outcome.by


def mutants_of(text: str) -> list[tuple[str, str, str]]:
    found = Decisions([CLASSES]).mutants(dedent(text))
    return [(each.function, each.old, each.new) for each in found]


def test_a_changed_decision_is_killed_by_the_test_that_fails(toy: SourceCopy) -> None:
    assert toy.unchanged(["tests/test_rule.py"], 600).verdict == SURVIVED
    verdict, by = changed(toy, "score >= 1", "score > 1")
    assert verdict == KILLED
    assert by.endswith("tests/test_rule.py::test_full_score_passes")
    assert (toy.package.folder / "src/toy/rule.py").read_text(encoding="utf-8") == RULE


def test_a_change_that_no_test_looks_at_survives(toy: SourceCopy) -> None:
    assert changed(toy, 'else "fail"', 'else "lost"') == (SURVIVED, "")


def test_a_module_that_cannot_be_imported_is_killed(toy: SourceCopy) -> None:
    verdict, by = changed(toy, "def decide", "def decision")
    assert verdict == KILLED
    assert "ImportError" in by or "test_rule.py" in by


def test_a_change_that_never_ends_is_timed_out(toy: SourceCopy) -> None:
    never = "    while score == 1:\n        __import__('time').sleep(1)\n    if score is None:"
    assert changed(toy, "    if score is None:", never, seconds=8) == (TIMED_OUT, "")


def test_tests_that_something_kills_tell_nothing(toy: SourceCopy) -> None:
    dies = "    import os\n    os.kill(os.getpid(), 15)\n    if score is None:"
    assert changed(toy, "    if score is None:", dies) == (ENDED, "")


@pytest.mark.parametrize(
    ("line", "old", "new"),
    [
        ("return a < check.score", "a < check.score", "a >= check.score"),
        ("return check not in a", "check not in a", "check in a"),
        ("return None if a == 1 else SiteFault(site=a)", "a == 1", "a != 1"),
        ("return done(a)", None, None),
        ("return 1 if a else 2", "a", "not a"),
        ("return [each for each in a if each.done]", "each.done", "not each.done"),
        ("return not a", "not a", "a"),
        ("return dict(quiet=True)", "True", "False"),
        ("return Status.COMPLETED", "Status.COMPLETED", "Status.AGENT_ERROR"),
        ("return Status.AGENT_ERROR", "Status.AGENT_ERROR", "Status.COMPLETED"),
        ("return Check(score=None)", "None", "0.0"),
        ("return Check(score=0.0)", "0.0", "None"),
        (
            "raise EvaluationError(a)",
            "EvaluationError(a)",
            "__import__('bench_core.errors', fromlist=['']).AgentError(str(EvaluationError(a)))",
        ),
        (
            "raise ScriptError(a)",
            "ScriptError(a)",
            "__import__('bench_core.errors', fromlist=['']).EnvironmentFaultError(str(ScriptError(a)))",
        ),
        ("raise ValueError(a)", None, None),
    ],
)
def test_what_decides_is_turned_around(line: str, old: str | None, new: str | None) -> None:
    found = mutants_of(f"def decide(check: Check, a: int) -> bool:\n    {line}\n")
    assert found == ([] if old is None else [("decide", old, new)])


def test_an_error_that_is_caught_is_let_through() -> None:
    found = mutants_of(
        """
        class Reader:
            def read(self):
                try:
                    return self.text
                except (ScriptError, OSError):
                    return ""
        """
    )
    assert found == [("Reader.read", "(ScriptError, OSError)", "()")]


def test_a_part_of_a_condition_is_shown_with_the_whole_of_it_and_the_second_is_numbered() -> None:
    assert mutants_of("def decide(a: Check):\n    f(a.b and not a.c)\n    g(a.b and not a.c)") == [
        ("decide", f"a.b and (not a.c){again}", new)
        for again in ("", " #2")
        for new in ("a.b or not a.c", "a.b and a.c")
    ]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("def decide(a):\n    return a == 1", id="no verdict, status or fault"),
        pytest.param("if TYPE_CHECKING:\n    from a import Check", id="imports"),
        pytest.param("def f(a: Check):\n    return f'{a == 1}'", id="texts"),
        pytest.param("if __name__ == '__main__':\n    Check(score=1)", id="a script's last line"),
    ],
)
def test_what_decides_nothing_has_no_mutants(text: str) -> None:
    assert mutants_of(text) == []


def test_a_module_that_names_nothing_decides_where_that_is_said() -> None:
    text = "def is_near(left, right):\n    return left == right"
    decisions = Decisions([text])
    assert decisions.mutants(text) == []
    assert [each.new for each in decisions.mutants(text, decides=True)] == ["left != right"]


def test_every_explained_mutant_is_there_and_has_a_reason() -> None:
    explained = read_explained()
    known = read_mutants()
    assert explained.keys() <= {each.place for each in known}
    assert "llm_judge/evidence/quotations.py" in {each.file for each in known}
    assert all(explained.values())


def explain(root: Path, text: str) -> None:
    (root / EXPLAINED).write_text(text, encoding="utf-8")


def test_a_survivor_without_a_reason_is_told_and_fails(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--workers", "1"], root) == 1
    told = capsys.readouterr().out
    assert "survived: toy/rule.py | is_half | score == 0.5 | score != 0.5" in told
    assert "3 mutants of 1 modules, seed 0: 2 killed, 1 survived" in told


def test_a_survivor_with_a_reason_is_let_be(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    explain(root, SURVIVOR)
    assert main(["toy", "--workers", "1"], root) == 0
    told = capsys.readouterr().out
    assert "Nobody asks." in told
    assert "2 killed, 1 explained" in told


def test_a_reason_for_what_is_killed_or_gone_fails(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    killed = SURVIVOR.replace("is_half", "decide").replace("!=", "is not").replace("==", "is")
    explain(root, killed.replace("0.5", "None") + SURVIVOR.replace("is_half", "is_third"))
    assert main(["toy/rule.py", "--workers", "1"], root) == 1
    told = capsys.readouterr().out
    assert "no such mutant: toy/rule.py | is_third | score == 0.5 | score != 0.5" in told
    assert "explained, but killed: toy/rule.py | decide | score is None | score is not None" in told


def test_tests_that_fail_without_a_mutant_say_nothing(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (root / "packages/toy/tests/test_rule.py").open("a", encoding="utf-8") as file:
        file.write("\n\ndef test_a_half_passes():\n    assert decide(0.5) == 'pass'\n")
    assert main(["--limit", "2", "--seed", "1", "--workers", "1"], root) == 1
    told = capsys.readouterr().out
    assert "test_a_half_passes" in told
    assert "2 mutants of 1 modules, seed 1: 2 not tested" in told


def test_only_modules_that_have_changed_are_asked_for(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "a"],
    ):
        subprocess.run(["git", *words], cwd=root, check=True)
    assert main(["--since", "HEAD"], root) == 2
    assert "decides anything" in capsys.readouterr().err
    module = root / "packages/toy/src/toy/rule.py"
    module.write_text(RULE + "\n", encoding="utf-8")
    assert main(["--since", "HEAD", "--limit", "1", "--workers", "1"], root) in {0, 1}
    assert "1 mutants of 1 modules" in capsys.readouterr().out
