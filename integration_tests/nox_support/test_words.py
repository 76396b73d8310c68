"""Words that the project does without are found wherever a reader would meet them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from nox_support.words import Exemption, main, unwanted_words

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MODULE = "packages/waa-client/src/waa_client/cli.py"
PAGE = "docs/waa.md"


@pytest.fixture
def found_in(tmp_path: Path) -> Callable[..., list[str]]:
    """What is found in a tree of one file, as it is printed."""

    def found_in(path: str, text: str, *exceptions: Exemption) -> list[str]:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return [str(each) for each in unwanted_words(tmp_path, exceptions)]

    return found_in


@pytest.mark.parametrize(
    ("path", "text", "place"),
    [
        pytest.param(MODULE, "class CallPurse: ...\n", f"{MODULE}:1: 'purse'", id="class"),
        pytest.param(MODULE, "def hold_exam(): ...\n", f"{MODULE}:1: 'exam'", id="function"),
        pytest.param(MODULE, "def f(*, brief): ...\n", f"{MODULE}:1: 'brief'", id="argument"),
        pytest.param(MODULE, "def f():\n    brief = 1\n", f"{MODULE}:2: 'brief'", id="variable"),
        pytest.param(MODULE, "self.heard_error = 1\n", f"{MODULE}:1: 'heard'", id="attribute"),
        pytest.param(
            MODULE, "import chromium as keeper\n", f"{MODULE}:1: 'keeper'", id="import under a name"
        ),
        pytest.param(
            MODULE, '"""One.\n\nThe agent heard so."""\n', f"{MODULE}:3: 'heard'", id="docstring"
        ),
        pytest.param(MODULE, "x = 1  # nobody knows\n", f"{MODULE}:1: 'nobody'", id="comment"),
        pytest.param(
            MODULE, 'option("--n", help="Exams.")\n', f"{MODULE}:1: 'exams'", id="help of an option"
        ),
        pytest.param(MODULE, 'option("--brief")\n', f"{MODULE}:1: 'brief'", id="option"),
        pytest.param(
            MODULE, 'raise E(f"{x} sits there")\n', f"{MODULE}:1: 'sits'", id="message with values"
        ),
        pytest.param(
            "packages/llm-judge/src/llm_judge/court/__init__.py",
            "",
            "packages/llm-judge/src/llm_judge/court/__init__.py:0: 'court'",
            id="package",
        ),
        pytest.param(PAGE, "# WAA\n\nTake the exam.\n", f"{PAGE}:3: 'exam'", id="page"),
        pytest.param("README.md", "Agents sit here.\n", "README.md:1: 'sit'", id="readme"),
    ],
)
def test_a_planted_word_is_found(
    found_in: Callable[..., list[str]], path: str, text: str, place: str
) -> None:
    found = found_in(path, text)
    assert [each.split(": write ")[0] for each in found] == [place]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("example = 'site, doorway, marks'\n", id="longer words"),
        pytest.param("'It said so in brief.'\n", id="plain in a sentence"),
        pytest.param("print(library.oracle)\n", id="names of others"),
    ],
)
def test_what_is_plain_is_left_alone(found_in: Callable[..., list[str]], text: str) -> None:
    assert found_in(MODULE, text) == []


def test_a_word_is_right_where_an_exception_says_so(found_in: Callable[..., list[str]]) -> None:
    tennis = Exemption("packages/*/cli.py", "court", "where tennis is played")
    assert found_in(MODULE, "'a court'\n", tennis) == []


def test_an_exception_holds_for_its_words_and_files_only(
    found_in: Callable[..., list[str]],
) -> None:
    tennis = Exemption("packages/*/cli.py", "court", "where tennis is played")
    exams = Exemption("packages/*/run.py", "exam", "the name of a library")
    assert len(found_in(MODULE, "'a court, an exam'\n", tennis, exams)) == 2


def test_an_exception_without_use_is_to_be_removed(found_in: Callable[..., list[str]]) -> None:
    tennis = Exemption("packages/*/cli.py", "court", "where tennis is played")
    assert found_in(MODULE, "'a judge'\n", tennis) == [
        "nox_support/words.py: packages/*/cli.py has no 'court': remove the exception"
    ]


def test_the_check_fails_where_it_finds_a_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "README.md").write_text("Take the exam.\n", encoding="utf-8")
    assert main(tmp_path, ()) == 1
    assert capsys.readouterr().out == "README.md:1: 'exam': write benchmark, run or trial\n"


def test_the_check_passes_where_it_finds_none(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("Run the benchmark.\n", encoding="utf-8")
    assert main(tmp_path, ()) == 0
