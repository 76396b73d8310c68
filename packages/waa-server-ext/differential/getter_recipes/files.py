"""Files of the VM and what its commands print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from getter_recipes.file_builders import HOME, case, each, of, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from getter_recipes.file_builders import Case

__all__ = ["cases"]

REFUSED = {
    "endpoints": {"POST /execute": {"status": 500, "json": {"status": "error", "message": "x"}}}
}


def cases() -> Iterator[Case]:
    """Yield all cases."""
    yield from _contents()
    yield from _existence()
    yield from _commands()


def _contents() -> Iterator[Case]:
    path, dest = HOME + r"\Downloads\a.txt", {"dest": "a.txt"}
    settings = {"path": path, **dest}
    rule = {"expected": {"a": 1}}
    metric = "check_json_settings"
    states = {
        "json-holds": of(path, '{"a": 1}'),
        "json-differs": of(path, '{"a": 2}'),
        "absent": {},
        "locked": of(path, "{}", locked=True),
    }
    yield from each("vm_file", settings, rule, states, metric=metric)
    other = {"path": "c:/users/docker/downloads/A.TXT", **dest}
    yield case("vm_file", "case-and-slashes", other, rule, of(path, '{"a": 1}'), metric=metric)
    yield case("vm_file", "not-json", settings, rule, of(path, "{"), metric=metric)


def _existence() -> Iterator[Case]:
    getter, folder = "vm_file_exists_in_vm_folder", {"folder_name": HOME + r"\Documents"}
    path = HOME + r"\Documents\d.txt"
    yield from table(
        getter,
        {**folder, "file_name": "d.txt"},
        ("there", of(path, "x"), 1.0),
        ("empty", of(path, ""), 0.0),
        ("empty-is-not-there", of(path, ""), 1.0),
        ("other-name", {}, 1.0),
    )
    yield case(getter, "no-name", {**folder, "file_name": ""}, 0.0)


def _commands() -> Iterator[Case]:
    getter = "vm_command_line"
    echo = {"commands": [{"match": "echo hi", "output": "hi\n"}]}
    asked = {"command": ["cmd", "/c", "echo hi"]}
    yield case(getter, "exact", asked, "hi\n", echo)
    yield case(getter, "stripped-differs", asked, "hi", echo)
    yield case(getter, "as-text", {"command": "cmd /c echo hi", "shell": "true"}, "hi\n", echo)
    yield case(getter, "refused", asked, "hi\n", REFUSED)
    contains = {"type": "contain", "expected": "hi"}
    metric = "is_extension_installed"
    yield case(getter, "refused-is-none", asked, contains, REFUSED, metric=metric)
