"""The words that names and texts of the project do without, each with the plain one to use instead.

Benchmark, run, trial, score, judge: one name per idea, the one the field uses. This reads what a user or
a reader meets - names, docstrings, comments, messages, help texts, pages - and says where another word
has crept in. Run as a program it prints what it found, one place per line, and exits with 1 if there is any.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["EXCEPTIONS", "Exemption", "Found", "main", "unwanted_words"]


@dataclass(frozen=True)
class Found:
    """A word that is to be replaced.

    Attributes:
        path: The file, from the root of the repository.
        line: Its line, from 1; 0 for the name of the file itself.
        word: The word, in lower case.
        instead: What to write.
    """

    path: str
    line: int
    word: str
    instead: str

    def __str__(self) -> str:
        """Return it as compilers write errors."""
        return f"{self.path}:{self.line}: {self.word!r}: write {self.instead}"


@dataclass(frozen=True)
class Exemption:
    """A word that is right in some files.

    Attributes:
        files: Pattern of their paths from the root, in which `*` also matches slashes.
        words: The words, separated by spaces.
        reason: Why.
    """

    files: str
    words: str
    reason: str

    def allows(self, found: Found) -> bool:
        """Return whether `found` is right where it is."""
        return found.word in self.words.split() and fnmatch(found.path, self.files)

    def __str__(self) -> str:
        """Return what is to be done about one that is not needed."""
        return f"nox_support/words.py: {self.files} has no {self.words!r}: remove the exception"


def _table(rows: dict[str, str]) -> dict[str, str]:
    return {word: instead for words, instead in rows.items() for word in words.split()}


ANYWHERE = _table(
    {
        "exam exams": "benchmark, run or trial",
        "examine examines examined examining examiner examiners": "evaluate, check or judge",
        "sit sits sat sitting sitter": "run, work or be",
        "hear hears heard hearing": "receive or record",
        "whisper whispers whispered": "report",
        "purse purses": "call budget",
        "court courts": "evidence context or judge",
        "oracle oracles": "reference solution",
        "surroundings": "environment",
        "trouble troubles": "fault",
        "lend lends lent lending borrow borrows borrowed borrowing": "vanilla (evaluators), or use",
        "keeper keepers": "supervisor",
        "straggler stragglers": "abandoned trial",
        "seat seats seated": "placement",
        "pupil pupils lesson lessons": "agent, task",
        "briefing briefings": "instructions",
        "house houses door doors": "what is meant",
        "nobody somebody": "no one, unknown, or who it is",
    }
)
"""Words that are found in names as well as in texts, and what to write."""

IN_NAMES = _table(
    {
        "brief briefs": "prepared case or instructions",
        "sheet sheets": "evidence writer",
        "obituary": "message",
        "marking": "scoring",
    }
)
"""Words that are plain in a sentence and a metaphor as a name."""

_JUDGE = "packages/llm-judge/src/llm_judge"
_WEBARENA = "packages/webarena-runner/src/webarena_runner"
EXCEPTIONS: tuple[Exemption, ...] = (
    Exemption(
        f"{_JUDGE}/language/*.py", "court house houses nobody seats", "words of goals and criteria"
    ),
    Exemption(f"{_JUDGE}/evidence/*.py", "examiner", "words of goals and planted texts"),
    Exemption(
        f"{_JUDGE}/prompts/prompt.py",
        "examine examiner somebody",
        "recorded replies and calibrations belong to the prompt as it is, by its hash",
    ),
    Exemption(
        "packages/multireal-harness/src/multireal_harness/world/assets/*.js",
        "house seat seats",
        "what the built-in apps show: mails, tables, addresses",
    ),
    Exemption(
        "packages/waa-server-ext/src/waa_server_ext/native/*.py",
        "sheet sheets",
        "the parts of a spreadsheet",
    ),
    Exemption(
        "packages/waa-server-ext/src/waa_server_ext/native/rules.py",
        "sat",
        "Saturday, as WAA has it",
    ),
    Exemption(
        "packages/waa-server-ext/src/waa_server_ext/evaluation/*.py",
        "borrowed",
        "what answers and stored verdicts have called vanilla's evaluators since 0.1",
    ),
    Exemption("docs/waa-server.md", "borrowed", "as above"),
)
"""Where such a word is the right one."""

ROOT = Path(__file__).resolve().parent.parent
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_PAGES = (
    "*.md",
    "*.cff",
    "docs/**/*.md",
    "noxfile.py",
    "packages/*/README.md",
    "packages/*/pyproject.toml",
    "packages/*/src/**/*.html",
    "packages/*/src/**/*.js",
)
"""Texts that are read line by line; changelogs name what was, so they may use any word."""
_NAMED_BY: dict[type[ast.AST], str] = {
    ast.ClassDef: "name",
    ast.FunctionDef: "name",
    ast.AsyncFunctionDef: "name",
    ast.ExceptHandler: "name",
    ast.arg: "arg",
    ast.alias: "asname",
    ast.Name: "id",
    ast.Attribute: "attr",
}
"""The kinds of nodes that can give a name, and where each has it."""
_SOURCES = "packages/*/src/**/*.py"


def unwanted_words(
    root: Path, exceptions: Iterable[Exemption] = EXCEPTIONS
) -> Iterator[Found | Exemption]:
    """Yield every word in names and texts below `root` that is to be replaced.

    Last come the exceptions that nothing needs any longer, so that the table stays short.
    """
    unused = list(exceptions)
    for found in _all_words(root):
        allowed = [each for each in exceptions if each.allows(found)]
        unused = [each for each in unused if each not in allowed]
        if not allowed:
            yield found
    yield from unused


def _all_words(root: Path) -> Iterator[Found]:
    for path in sorted(root.glob(_SOURCES)):
        where = path.relative_to(root).as_posix()
        yield from _in_name(where, 0, path.stem if path.stem != "__init__" else path.parent.name)
        yield from _in_source(where, path.read_text(encoding="utf-8"))
    for pattern in _PAGES:
        for path in sorted(root.glob(pattern)):
            where = path.relative_to(root).as_posix()
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                yield from _in_text(where, number, line)


def _in_source(where: str, source: str) -> Iterator[Found]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            words = _in_name if node.value.startswith("--") else _in_text  # an option has a name
            for offset, line in enumerate(node.value.splitlines()):
                yield from words(where, node.lineno + offset, line)
        elif name := _defined(node):
            yield from _in_name(where, getattr(node, "lineno", 0), name)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield from _in_text(where, token.start[0], token.string)


def _defined(node: ast.AST) -> str | None:
    """Return the name that a node gives to something; None where it gives none or only uses one."""
    given = isinstance(getattr(node, "ctx", None), ast.Store | None)
    return getattr(node, _NAMED_BY[type(node)]) if given and type(node) in _NAMED_BY else None


def _in_name(where: str, line: int, name: str) -> Iterator[Found]:
    yield from _find(where, line, name, ANYWHERE | IN_NAMES)


def _in_text(where: str, line: int, text: str) -> Iterator[Found]:
    yield from _find(where, line, text, ANYWHERE)


def _find(where: str, line: int, text: str, words: dict[str, str]) -> Iterator[Found]:
    for word in map(str.lower, _WORD.findall(text)):
        if word in words:
            yield Found(where, line, word, words[word])


def main(root: Path = ROOT, exceptions: Iterable[Exemption] = EXCEPTIONS) -> int:
    """Print what is to be changed below `root`, one place per line; return the exit code."""
    lines = [str(each) for each in unwanted_words(root, exceptions)]
    print(*lines, sep="\n", end="\n" if lines else "")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
