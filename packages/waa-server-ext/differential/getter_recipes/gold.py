"""The getters of `expected`: cloud_file, rule_relativeTime, rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from getter_recipes.file_builders import HOME, case, compared, of, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from getter_recipes.file_builders import Case

__all__ = ["cases"]

DATE = "{Year}-{Month0D}-{Day0D}"


def cases() -> Iterator[Case]:
    """Yield all cases."""
    yield from _cloud_files()
    yield from _relative_times()
    yield case("rule", "same", {"rules": [1, {"a": None}]}, [1, {"a": None}])
    yield case("rule", "differs", {"rules": "x"}, "X")
    yield case("rule", "true-is-one", {"rules": True}, 1.0)


def _cloud_files() -> Iterator[Case]:
    path = HOME + r"\Downloads\a.txt"
    result = {"type": "vm_file", "path": path, "dest": "a.txt"}
    expected = {"type": "cloud_file", "path": "${CLOUD_BASE}/gold.txt", "dest": "gold.txt"}
    for name, ours, gold in (
        ("same", "x\r\n", text("x\n")),
        ("differs", "x", text("y")),
        ("gold-absent", "x", {"status": 404}),
        ("gold-fails", "x", {"status": 500}),
    ):
        state = {**of(path, ours), "cloud": {"gold.txt": gold}}
        made = case("cloud_file", name, {}, None, state)
        yield compared(made, "compare_text_file", result, expected)


def _relative_times() -> Iterator[Case]:
    for name, words in (
        ("next-Monday", "next Monday"),
        ("tomorrow", "tomorrow"),
        ("unknown", "next year"),
        ("weekend", "next Friday"),
    ):
        yield _relative(
            name, {"time": "1999-01-01", "to": "BOM"}, words, {"to": "BOM", "time": DATE}
        )
    yield _relative("no-date-in-the-pattern", {"time": "soon"}, "next Monday", {"time": "soon"})


def _relative(name: str, found: Any, words: str, expected: Any) -> Case:
    rules = {"relativeTime": {"from": words}, "expected": expected}
    return compared(
        case("rule_relativeTime", name, {}, None),
        "check_direct_json_object",
        {"type": "rule", "rules": found},
        {"type": "rule_relativeTime", "rules": rules},
    )
