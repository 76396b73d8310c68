"""Where Chromium browsers keep their state on each system, and how it is read."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from waa_server_ext.native.refusals import check_size, or_else

if TYPE_CHECKING:
    from collections.abc import Mapping

    from waa_server_ext.native.environment import Environment

__all__ = ["Location", "UnsupportedSystemError", "cookies", "locate", "preferences", "visited"]

Location = tuple[str, tuple[str, ...]]
"""An environment variable of the VM, and what is joined to its value."""

_MAX_ROWS = 500_000


class UnsupportedSystemError(Exception):
    """It is not known where a program keeps its files on the VM's operating system."""


def locate(env: Environment, places: Mapping[str, Location]) -> str:
    """Return the path of a file of the VM; by system, as `os.path.join` makes it there.

    Raises:
        UnsupportedSystemError: It is kept nowhere on that system.
    """
    system = env.platform
    if system not in places:
        raise UnsupportedSystemError(f"Unsupported operating system {system!r}")
    variable, parts = places[system]
    joined = ", ".join(f"'{part}'" for part in parts)
    return env.python(f"import os; print(os.path.join(os.getenv('{variable}'), {joined}))").strip()


def preferences(env: Environment, path: str) -> Any:
    """Return a JSON file of a profile; raises where it is absent or no JSON."""
    content = env.file(path)
    if content is None:
        raise TypeError("the VM has no such file, or it is locked")
    return json.loads(content)


def visited(env: Environment, path: str, dest: str) -> list[Any] | None:
    """Return the history (URL, title, time) of a profile; None where it cannot be read."""
    return or_else(None, _rows, env, path, dest, "SELECT url, title, last_visit_time FROM urls")


def cookies(env: Environment, path: str, dest: str) -> list[Any] | None:
    """Return the cookies of a profile; None where they cannot be read."""
    return or_else(None, _rows, env, path, dest, "SELECT * FROM cookies")


def _rows(env: Environment, path: str, dest: str, query: str) -> list[Any]:
    content = env.file(path)
    local = env.scratch_path(dest)
    if content is None:
        raise TypeError("the VM has no such file, or it is locked")
    local.write_bytes(content)
    check_size(local)
    with closing(sqlite3.connect(local)) as connection:
        return connection.execute(query).fetchmany(_MAX_ROWS)
