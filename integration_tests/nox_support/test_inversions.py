"""What `nox -s inversions` and the campaign of mutants rest on."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from nox_support.inversions import Inversion, InversionError, main, read_lists
from nox_support.mutants import mutants_of
from nox_support.packages import Package, package
from nox_support.source_copies import KILLED, SURVIVED, source_copies

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from nox_support.source_copies import SourceCopy

RULE = """def decide(score):
    if score is None:
        return "unknown"
    return "pass" if score >= 1 else "fail"
"""
TEST = """from toy.rule import decide


def test_full_score_passes():
    assert decide(1) == "pass"


def test_no_score_is_unknown():
    assert decide(None) == "unknown"
"""
ENTRY = """
[[inversion]]
id = "{id}"
file = "bench_core/scheduling/resources.py"
old = "_EXCLUSIVE = -1"
new = "_EXCLUSIVE = -2"
tests = ["tests/test_resources.py::test_items_without_resources_start_in_the_order_they_came"]
why = "nobody would notice"
"""


@pytest.fixture
def toy(tmp_path: Path) -> Iterator[SourceCopy]:
    """A package with one rule, whose tests do not look at what fails."""
    folder = tmp_path / "packages" / "toy"
    for name, text in {
        "src/toy/__init__.py": "",
        "src/toy/rule.py": RULE,
        "tests/test_rule.py": TEST,
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    with source_copies([Package(folder)]) as copies:
        yield copies["toy"]


def changed(toy: SourceCopy, old: str, new: str, *, seconds: float = 600) -> tuple[str, str]:
    assert RULE.count(old) == 1
    outcome = toy.changed("toy/rule.py", RULE.replace(old, new), ["tests/test_rule.py"], seconds)
    return outcome.verdict, outcome.by


def test_every_inversion_can_be_applied_and_names_tests_that_there_are() -> None:
    for each in read_lists():
        folder = package(each.package).folder
        changed_text = each.applied((folder / "src" / each.file).read_text(encoding="utf-8"))
        compile(changed_text, each.file, "exec")
        assert each.tests, each.id
        for test in each.tests:
            file, *names = test.split("::")
            text = (folder / file).read_text(encoding="utf-8")
            missing = [
                name for name in names if f" {name}(" not in text and f"class {name}" not in text
            ]
            assert not missing, f"{each.id}: {file} has no {missing}"


def test_a_changed_decision_is_killed_by_the_test_that_fails(toy: SourceCopy) -> None:
    assert toy.unchanged(["tests/test_rule.py"], 600).verdict == SURVIVED
    verdict, by = changed(toy, "score >= 1", "score > 1")
    assert verdict == KILLED
    assert by.endswith("tests/test_rule.py::test_full_score_passes")
    assert toy.text("toy/rule.py") == RULE
    assert (toy.package.folder / "src/toy/rule.py").read_text(encoding="utf-8") == RULE


def test_a_suite_in_several_processes_kills_and_spares_alike(toy: SourceCopy) -> None:
    file, options = "toy/rule.py", ["-n", "2", "-m", "not slow"]
    outcome = toy.changed(file, RULE.replace("score >= 1", "score > 1"), ["tests"], 600, options)
    assert outcome.verdict == KILLED
    outcome = toy.changed(file, RULE.replace('"fail"', '"lost"'), ["tests"], 600, options)
    assert outcome.verdict == SURVIVED


def test_a_change_that_no_test_looks_at_survives(toy: SourceCopy) -> None:
    assert changed(toy, 'else "fail"', 'else "lost"') == (SURVIVED, "")


def test_a_module_that_cannot_be_imported_kills_nothing(toy: SourceCopy) -> None:
    verdict, by = changed(toy, "def decide", "def decision")
    assert verdict == "not run: pytest ended with 2"
    assert "test_rule.py" in by


def test_a_change_that_never_ends_is_no_kill(toy: SourceCopy) -> None:
    verdict = changed(
        toy,
        "    if score is None:",
        "    while score == 1:\n        pass\n    if score is None:",
        seconds=8,
    )
    assert verdict == ("no end within 8 s", "")


def test_an_old_text_that_is_gone_is_named_with_the_way_out(tmp_path: Path) -> None:
    entry = Inversion("a-rule", "rule.py", "gone", "new", (), "why", "toy", tmp_path / "toy.toml")
    with pytest.raises(
        InversionError, match=r"toy.toml: 'a-rule': its `old` occurs 0 times in rule.py.*copy more"
    ):
        entry.applied(RULE)
    with pytest.raises(InversionError, match="occurs 2 times"):
        entry.applied("gone gone")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("package = ", "Invalid value", id="no TOML"),
        pytest.param("[[inversion]]", "whose decisions", id="no package"),
        pytest.param(
            'package = "bench-core"\n[[inversion]]\nid = "a"\nfolder = ""',
            "missing or unknown: file, folder",
            id="a misspelt field",
        ),
        pytest.param(
            'package = "bench-core"' + ENTRY.format(id="a") * 2, "another id", id="one id twice"
        ),
    ],
)
def test_a_list_that_cannot_be_read_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, problem: str
) -> None:
    (tmp_path / "core.toml").write_text(text, encoding="utf-8")
    assert main([], tmp_path) == 2
    error = capsys.readouterr().err
    assert problem in error
    assert "core.toml" in error


def test_an_unknown_name_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "core.toml").write_text(
        'package = "bench-core"' + ENTRY.format(id="a"), encoding="utf-8"
    )
    assert main(["b"], tmp_path) == 2
    assert "no inversion and no list is named b" in capsys.readouterr().err


def test_a_survivor_is_printed_with_what_users_would_get(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "core.toml").write_text(
        'package = "bench-core"' + ENTRY.format(id="a"), encoding="utf-8"
    )
    assert main(["core", "--workers", "1"], tmp_path) == 1
    printed = capsys.readouterr().out
    assert "SURVIVED" in printed
    assert "nobody would notice" in printed
    assert "1 inversions: 0 killed, 1 not" in printed


def test_mutants_change_one_decision_each_and_nothing_else() -> None:
    text = (
        '"""A text: 1 < 2."""\nif TYPE_CHECKING:\n    import a\n\n\ndef f(é: int = 3) -> bool | None:\n'
        "    if not é or f'{é == 1}':\n        return é in (True,)\n    return None\n"
    )
    assert [(each.line, each.old, each.new) for each in mutants_of(text)] == [
        (6, "3", "4"),
        (7, "not é or f'{é == 1}'", "not é and f'{é == 1}'"),
        (7, "not é", "é"),
        (8, "é in (True,)", "None"),
        (8, "é in (True,)", "é not in (True,)"),
        (8, "True", "False"),
    ]
    assert mutants_of(text)[3].text == text.replace("é in (True,)", "(None)")


def test_a_draw_of_the_campaign_says_what_became_of_the_mutant(root: Path) -> None:
    script = root / "integration_tests" / "campaigns" / "campaign_mutants.py"
    # one whose tests are quick, and alone
    named = ["--module", "bench_core/scheduling/circuit_breakers.py", "--nearest", "0"]
    asked = ["--times", "1", "--seed", "0", *named, "--suite-seconds", "1"]
    done = subprocess.run(
        [sys.executable, script, *asked], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 mutants, seed 0: 1 " in done.stdout
