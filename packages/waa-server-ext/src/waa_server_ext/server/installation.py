"""Installing `/evaluate` in WAA's own server: a block between two comments in its `main.py`, and back.

The file is handled as bytes: `uninstall` restores it exactly, line endings included.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench_core.errors import InputError
from bench_core.files import write_atomic
from bench_core.records import Record

_BEGIN = b"# >>> waa-server-ext >>> added by `waa-server-ext install`; `uninstall` removes it"
_END = b"# <<< waa-server-ext <<<"
_BLOCK = re.compile(re.escape(_BEGIN) + rb".*?" + re.escape(_END) + rb"\r?\n", re.DOTALL)
_MAIN = re.compile(rb"^if\s+__name__\s*==\s*['\"]__main__['\"]\s*:", re.MULTILINE)
_ROUTES = ("/execute", "/file", "/probe", "/setup/upload")
_BACKUP = ".before-waa-server-ext"


class InstallError(InputError):
    """The file cannot be installed into, or is not in the state that the command expects."""


class InstallReport(Record):
    """The outcome of installing or uninstalling.

    Attributes:
        changed: False if the file was in the wanted state already.
        backup: The path of the original file's copy.
    """

    server: str
    changed: bool
    backup: str | None = None


def install(server: Path, options: Mapping[str, Any]) -> InstallReport:
    """Add the block to `server`; `options` are the keywords of `waa_server_ext.server.mount.mount`.

    An existing block is replaced. A copy of the original file is kept next to it.

    Raises:
        InstallError: It is not WAA's server, or one that would answer one request at a time.
    """
    before = _read(server)
    plain = _without_block(server, before)
    reloads = _check_server(server, plain)
    after = _with_block(plain, {**options, "reloader": reloads})
    if after == before:
        return InstallReport(server=str(server), changed=False)
    backup = server.with_name(server.name + _BACKUP)
    if not backup.exists():
        write_atomic(backup, plain)
    write_atomic(server, after)
    return InstallReport(server=str(server), changed=True, backup=str(backup))


def uninstall(server: Path) -> InstallReport:
    """Remove the block from `server` and the backup next to it.

    Raises:
        InstallError: The markers do not pair up.
    """
    before = _read(server)
    plain = _without_block(server, before)
    backup = server.with_name(server.name + _BACKUP)
    if plain != before:
        write_atomic(server, plain)
    if backup.exists() and backup.read_bytes() == plain:
        backup.unlink()
    kept = str(backup) if backup.exists() else None
    return InstallReport(server=str(server), changed=plain != before, backup=kept)


def is_installed(server: Path) -> bool:
    """Return whether the block is in `server`."""
    return _BLOCK.search(_read(server)) is not None


def _read(server: Path) -> bytes:
    try:
        return server.read_bytes()
    except OSError as error:
        raise InstallError(f"cannot read {server}: {error.strerror or error}") from error


def _without_block(server: Path, content: bytes) -> bytes:
    plain = _BLOCK.sub(b"", content)
    if _BEGIN in plain or _END in plain:
        raise InstallError(
            f"the markers of waa-server-ext in {server} do not pair up: restore the file from "
            f"{server.name}{_BACKUP} or your checkout"
        )
    return plain


def _with_block(plain: bytes, options: Mapping[str, Any]) -> bytes:
    # those of the file, as a checkout on Windows may have them
    newline = b"\r\n" if b"\r\n" in plain else b"\n"
    arguments = ", ".join(f"{name}={value!r}" for name, value in options.items())
    lines = (
        _BEGIN,
        b"from waa_server_ext.server.mount import mount as _mount_waa_server_ext",
        f"_mount_waa_server_ext(app, {arguments})".encode(),
        _END,
    )
    block = b"".join(line + newline for line in lines)
    # before the last `if __name__` block, which starts the server and does not return
    match = list(_MAIN.finditer(plain))[-1]
    return plain[: match.start()] + block + plain[match.start() :]


def _check_server(server: Path, plain: bytes) -> bool:
    """Return whether the server restarts itself on changes (`debug=True`)."""
    try:
        tree = ast.parse(plain)
    except (SyntaxError, ValueError) as error:
        raise InstallError(f"{server} is not Python: {error}") from error
    missing = [route for route in _ROUTES if repr(route) not in _routes(tree)]
    if missing or not _MAIN.search(plain) or not _makes_app(tree):
        what = f"it has no route {missing[0]}" if missing else "it makes no Flask app"
        raise InstallError(
            f"{server} is not the server of Windows Agent Arena ({what}): give the main.py in "
            f"src/win-arena-container/vm/setup/server, unchanged"
        )
    run = _run_call(tree)
    if run is None:
        raise InstallError(
            f"{server} does not call app.run(): started by another server with one thread it would "
            f"wait for itself for ever; run `waa-server-ext serve` beside it instead"
        )
    options = {each.arg: each.value for each in run.keywords}
    if _is(options.get("threaded"), value=False) or "processes" in options:
        raise InstallError(
            f"{server} answers one request at a time (line {run.lineno}), and evaluators ask the "
            f"server they run in: it would wait for itself for ever; remove threaded=False, or run "
            f"`waa-server-ext serve` beside it instead"
        )
    reload = options.get("use_reloader", options.get("debug"))
    return _is(reload, value=True)


def _routes(tree: ast.Module) -> set[str]:
    calls = (
        decorator
        for function in tree.body
        if isinstance(function, ast.FunctionDef)
        for decorator in function.decorator_list
        if isinstance(decorator, ast.Call)
    )
    return {
        repr(call.args[0].value)
        for call in calls
        if call.args and isinstance(call.args[0], ast.Constant)
    }


def _makes_app(tree: ast.Module) -> bool:
    return any(
        isinstance(each, ast.Assign)
        and isinstance(each.targets[0], ast.Name)
        and each.targets[0].id == "app"
        and isinstance(each.value, ast.Call)
        and isinstance(each.value.func, ast.Name)
        and each.value.func.id == "Flask"
        for each in tree.body
    )


def _run_call(tree: ast.Module) -> ast.Call | None:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "run"
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "app"
        ):
            return node
    return None


def _is(node: ast.expr | None, *, value: bool) -> bool:
    return isinstance(node, ast.Constant) and node.value is value
