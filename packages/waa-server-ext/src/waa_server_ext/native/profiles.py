"""The places where Chromium browsers keep their state on each system, and reading it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

from waa_server_ext.native.context import EvaluationContext
from waa_server_ext.native.databases import open_read_only, rows_of
from waa_server_ext.native.refusals import check_size, or_else

Location = tuple[str, tuple[str, ...]]
"""An environment variable of the VM, and the path parts below its value."""

FONT_SIZES = {"default_fixed_font_size": 13, "default_font_size": 16}
"""The font sizes of web pages if a profile does not set them."""


class UnsupportedSystemError(Exception):
    """The place of a program's files on the VM's operating system is unknown."""


def locate(env: EvaluationContext, places: Mapping[str, Location]) -> str:
    """Return the path of a file of the VM, joined by the rules of its system.

    Raises:
        UnsupportedSystemError: No place is known on that system.
    """
    system = env.platform
    if system not in places:
        raise UnsupportedSystemError(f"Unsupported operating system {system!r}")
    variable, parts = places[system]
    joined = ", ".join(f"'{part}'" for part in parts)
    return env.python(f"import os; print(os.path.join(os.getenv('{variable}'), {joined}))").strip()


def preferences(env: EvaluationContext, path: str) -> Any:
    """Return a JSON file of a profile; raise if it is absent or not JSON."""
    content = env.file(path)
    if content is None:
        raise TypeError("the VM has no such file, or it is locked")
    return json.loads(content)


def preference(
    env: EvaluationContext, places: Mapping[str, Location], pick: Callable[[Any], Any], default: Any
) -> Any:
    """Return the result of `pick` on the JSON file at `places`; `default` if anything fails."""
    path = locate(env, places)
    return or_else(default, lambda: pick(preferences(env, path)))


def bookmark_roots(env: EvaluationContext, places: Mapping[str, Location]) -> Any:
    """Return the roots of a profile's bookmarks; an empty list without the file."""
    content = env.file(locate(env, places))
    return json.loads(content).get("roots", {}) if content else []


def history_of(on_windows: tuple[str, ...], on_mac: str, on_linux: str) -> dict[str, Location]:
    """Return the places of a browser's history, from the folders of its profiles."""
    return {
        "Windows": ("USERPROFILE", ("AppData", "Local", *on_windows, "Default", "History")),
        "Darwin": (
            "HOME", ("Library", "Application Support", *on_mac.split("/"), "Default", "History"),
        ),
        "Linux": ("HOME", (".config", on_linux, "Default", "History")),
    }  # fmt: skip


def cookie_path(
    env: EvaluationContext, config: Mapping[str, Any], places: Mapping[str, Location]
) -> str:
    """Return the path of the cookie store, in the `user_data_dir` of `config` if it has one.

    Raises:
        AssertionError: As in vanilla: the folder could close the string that it is inserted into.
    """
    if "user_data_dir" not in config:
        return locate(env, places)
    system, folder = env.platform, config["user_data_dir"]
    if "\\" in folder or "'" in folder or not system:
        raise AssertionError("user_data_dir cannot contain backslashes or apostrophes")
    return env.python(
        f"import os; print(os.path.join(os.path.expandvars('{folder}'), 'Default/Network/Cookies'))"
    ).strip()


def visited(env: EvaluationContext, path: str, dest: str) -> list[Any] | None:
    """Return a profile's history (URL, title, microseconds since 1601); None if it cannot be read."""
    return or_else(
        None, _rows, env, path, dest, "urls", "SELECT url, title, last_visit_time FROM urls"
    )


def cookies(env: EvaluationContext, path: str, dest: str) -> list[Any] | None:
    """Return the cookies of a profile; None if they cannot be read."""
    return or_else(None, _rows, env, path, dest, "cookies", "SELECT * FROM cookies")


def _rows(env: EvaluationContext, path: str, dest: str, table: str, query: str) -> list[Any]:
    content = env.file(path)
    local = env.scratch_path(dest)
    if content is None:
        raise TypeError("the VM has no such file, or it is locked")
    local.write_bytes(content)
    check_size(local)
    with closing(open_read_only(local)) as connection:
        return rows_of(connection, query, table)
