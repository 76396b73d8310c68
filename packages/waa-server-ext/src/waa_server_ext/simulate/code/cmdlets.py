"""The PowerShell cmdlets that setup steps, getters and agents use."""

from __future__ import annotations

import json
import ntpath
from collections.abc import Callable
from typing import Any

from waa_server_ext.simulate.code.shell import Shell, fits
from waa_server_ext.simulate.machine.computer import TIME_ZONES


class PowerShellError(Exception):
    """An error that PowerShell writes in red."""


def _path_of(named: dict[str, Any], plain: list[Any], key: str = "path") -> str:
    value = named.get(key, named.get("literalpath", plain[0] if plain else None))
    if value is None:
        raise PowerShellError("Cannot bind argument to parameter 'Path' because it is null.")
    return str(value)


def _is_registry(path: str) -> bool:
    return path.casefold().startswith(("hkcu:", "hklm:", "hkcr:", "registry::", "hkey_"))


def _get_value(shell: Shell, named: dict[str, Any], plain: list[Any], *_more: Any) -> list[Any]:
    path = _path_of(named, plain)
    name = str(named.get("name", plain[1] if len(plain) > 1 else ""))
    found = shell.machine.registry.get(path, name)
    if found is None:
        raise PowerShellError(
            f"Get-ItemPropertyValue : Property {name} does not exist at path {path}."
        )
    return list(found.data) if isinstance(found.data, tuple) else [found.data]


def _get_property(shell: Shell, named: dict[str, Any], plain: list[Any], *_more: Any) -> list[Any]:
    path = _path_of(named, plain)
    if not _is_registry(path):
        entry = shell.machine.files.entry(shell.path(path))
        return [{"Name": entry.name, "Length": entry.size, "Attributes": entry.attributes}]
    if not shell.machine.registry.has_key(path):
        raise PowerShellError(
            f"Get-ItemProperty : Cannot find path '{path}' because it does not exist."
        )
    wanted = str(named.get("name", plain[1] if len(plain) > 1 else "")).casefold()
    values = shell.machine.registry.values(path)
    return [
        {
            v.name: list(v.data) if isinstance(v.data, tuple) else v.data
            for v in values
            if not wanted or v.name.casefold() == wanted
        }
    ]


def _set_property(shell: Shell, named: dict[str, Any], plain: list[Any], *_more: Any) -> list[Any]:
    path = _path_of(named, plain)
    name = str(named.get("name", plain[1] if len(plain) > 1 else ""))
    value = named.get("value", plain[2] if len(plain) > 2 else "")  # path, name, value
    if not _is_registry(path):
        raise PowerShellError("setting properties of files is not simulated")
    old = shell.machine.registry.get(path, name)
    kind = str(named.get("type", named.get("propertytype", ""))).casefold()
    number = (
        kind == "dword"
        or (old is not None and isinstance(old.data, int))
        or (not kind and str(value).isdigit() and old is None)
    )
    shell.machine.registry.set(path, name, int(str(value), 0) if number else str(value))
    return []


def _remove_property(
    shell: Shell, named: dict[str, Any], plain: list[Any], *_more: Any
) -> list[Any]:
    shell.machine.registry.delete(_path_of(named, plain), str(named.get("name", "")))
    return []


def _test_path(shell: Shell, named: dict[str, Any], plain: list[Any], *_more: Any) -> list[Any]:
    path = _path_of(named, plain)
    if _is_registry(path):
        return [shell.machine.registry.has_key(path)]
    return [shell.machine.files.exists(shell.path(shell.machine.expand(path)))]


def _new_item(shell: Shell, named: dict[str, Any], plain: list[Any], *_more: Any) -> list[Any]:
    files, path = shell.machine.files, _path_of(named, plain)
    if _is_registry(path):
        shell.machine.registry.make_key(path)
        return []
    if "name" in named:
        path = ntpath.join(path, str(named["name"]))
    path = shell.path(path)
    if str(named.get("itemtype", "File")).casefold() == "directory":
        entry = files.make_folder(path, parents=True, exist_ok="force" in named)
    else:
        if files.exists(path) and "force" not in named:
            raise PowerShellError(f"New-Item : The file '{path}' already exists.")
        files.make_folder(ntpath.dirname(path), parents=True, exist_ok=True)
        entry = files.write(path, str(named.get("value", "")).encode())
    return [f"\n    Directory: {ntpath.dirname(entry.path)}\n\n{entry.name}\n"]


def _remove_item(shell: Shell, named: dict[str, Any], plain: list[Any], *_more: Any) -> list[Any]:
    path = _path_of(named, plain)
    if _is_registry(path):
        shell.machine.registry.delete(path)
    else:
        shell.machine.files.remove(shell.path(path), recursive="recurse" in named)
    return []


def _transfer_item(
    *, move: bool
) -> Callable[[Shell, dict[str, Any], list[Any], list[Any]], list[Any]]:
    def transfer(shell: Shell, named: dict[str, Any], plain: list[Any], *_more: Any) -> list[Any]:
        files, source = shell.machine.files, shell.path(_path_of(named, plain))
        target = shell.path(str(named.get("destination", plain[1] if len(plain) > 1 else ".")))
        if files.is_folder(target):
            target = ntpath.join(target, ntpath.basename(source))
        (files.move if move else files.copy)(source, target)
        return []

    return transfer


def _children(shell: Shell, named: dict[str, Any], plain: list[Any], *_more: Any) -> list[Any]:
    path = shell.path(str(named.get("path", plain[0] if plain else ".")))
    files = shell.machine.files
    entries = list(files.below(path)) if "recurse" in named else files.children(path)
    wanted = str(named.get("filter", "*")).casefold()
    matching = [e for e in entries if fits(e.name.casefold(), wanted)]
    return (
        [e.name for e in matching]
        if "name" in named
        else [{"Name": e.name, "Length": e.size, "FullName": e.path} for e in matching]
    )


def _content(shell: Shell, named: dict[str, Any], plain: list[Any], *_more: Any) -> list[Any]:
    text = shell.machine.files.read(shell.path(_path_of(named, plain))).decode("utf-8", "replace")
    return text.splitlines()


def _write_content(
    *, append: bool
) -> Callable[[Shell, dict[str, Any], list[Any], list[Any]], list[Any]]:
    def write(shell: Shell, named: dict[str, Any], plain: list[Any], given: list[Any]) -> list[Any]:
        path = shell.path(
            _path_of(
                {k: v for k, v in named.items() if k != "value"}
                | ({"path": named["filepath"]} if "filepath" in named else {}),
                plain,
            )
        )
        files = shell.machine.files
        values = [named["value"]] if "value" in named else given or plain[1:]
        text = "".join(f"{each}\r\n" for each in values)
        old = files.read(path) if append and files.is_file(path) else b""
        files.write(path, old + text.encode())
        return []

    return write


def _zone(shell: Shell, *_more: Any) -> list[Any]:
    zone = shell.machine.zone
    return [{"Id": zone.standard, "DisplayName": zone.display, "StandardName": zone.standard}]


def _set_zone(shell: Shell, named: dict[str, Any], plain: list[Any], *_more: Any) -> list[Any]:
    wanted = str(named.get("id", named.get("name", plain[0] if plain else ""))).casefold()
    zones = [
        zone for zone in TIME_ZONES if wanted in {zone.standard.casefold(), zone.display.casefold()}
    ]
    if not zones:
        raise PowerShellError(
            f"Set-TimeZone : The time zone ID '{wanted}' was not found on the local computer."
        )
    shell.machine.zone = zones[0]
    return []


def _packages(shell: Shell, named: dict[str, Any], plain: list[Any], *_more: Any) -> list[Any]:
    wanted = str(named.get("name", plain[0] if plain else "*")).casefold()
    packages = shell.machine.packages
    return [each for each in packages if fits(each.get("Name", "").casefold(), wanted)]


def _select(_shell: Shell, named: dict[str, Any], plain: list[Any], given: list[Any]) -> list[Any]:
    if "expandproperty" in named:
        return [
            each.get(str(named["expandproperty"])) if isinstance(each, dict) else each
            for each in given
        ]
    names = [
        name.strip() for name in str(named.get("property", plain[0] if plain else "*")).split(",")
    ]
    count = int(str(named.get("first", len(given))))
    picked = given[:count]
    if names == ["*"] or names == ["True"]:  # noqa: PLR1714  # lists cannot be in a set
        return picked
    return [{name: _item(each, name) for name in names} for each in picked]


def _item(value: Any, name: str) -> Any:
    if not isinstance(value, dict):
        return None
    return next((item for key, item in value.items() if key.casefold() == name.casefold()), None)


def _to_json(
    _shell: Shell, _named: dict[str, Any], _plain: list[Any], given: list[Any]
) -> list[Any]:
    return [json.dumps(given[0] if len(given) == 1 else given, indent=4)] if given else []


def _stop(shell: Shell, named: dict[str, Any], plain: list[Any], *_more: Any) -> list[Any]:
    name = str(named.get("name", plain[0] if plain else ""))
    if not shell.desktop.programs.kill(name):
        raise PowerShellError(f'Stop-Process : Cannot find a process with the name "{name}".')
    return []


def _start_process(shell: Shell, named: dict[str, Any], plain: list[Any], *_more: Any) -> list[Any]:
    name = str(named.get("filepath", plain[0] if plain else ""))
    rest = str(named.get("argumentlist", " ".join(map(str, plain[1:]))))
    if not shell.desktop.programs.launch(["start", name, *rest.split()]):
        raise PowerShellError("Start-Process : The system cannot find the file specified.")
    return []


def _processes(shell: Shell, named: dict[str, Any], plain: list[Any], *_more: Any) -> list[Any]:
    wanted = str(named.get("name", plain[0] if plain else "*")).casefold()
    running = {w.exe.removesuffix(".exe"): w.pid for w in shell.desktop.windows}
    return [
        {"ProcessName": name, "Id": pid}
        for name, pid in running.items()
        if fits(name.casefold(), wanted)
    ]


def _write(_shell: Shell, _named: dict[str, Any], plain: list[Any], given: list[Any]) -> list[Any]:
    return [*given, *plain]


def _clipboard(
    shell: Shell, named: dict[str, Any], plain: list[Any], given: list[Any]
) -> list[Any]:
    text = named.get("value", plain[0] if plain else "\n".join(map(str, given)))
    shell.machine.clipboard.copy_text(str(text))
    return []


def _start_sleep(shell: Shell, named: dict[str, Any], plain: list[Any], *_more: Any) -> list[Any]:
    value = str(named.get("seconds", named.get("s", plain[0] if plain else 0)))
    shell.machine.clock.advance(float(value) if value.replace(".", "", 1).isdigit() else 0)
    return []


ALIASES = {
    "gci": "get-childitem", "ls": "get-childitem", "cat": "get-content", "gc": "get-content", "rm": "remove-item",
    "cp": "copy-item", "mv": "move-item", "echo": "write-output", "select": "select-object", "ni": "new-item",
    "kill": "stop-process", "saps": "start-process", "gps": "get-process", "sleep": "start-sleep",
    "write-host": "write-output", "out-string": "write-output", "gp": "get-itemproperty", "out-file": "set-content",
    "new-itemproperty": "set-itemproperty",
}  # fmt: skip
CMDLETS: dict[str, Callable[[Shell, dict[str, Any], list[Any], list[Any]], list[Any]]] = {
    "get-itempropertyvalue": _get_value, "get-itemproperty": _get_property, "set-itemproperty": _set_property,
    "remove-itemproperty": _remove_property, "test-path": _test_path, "new-item": _new_item,
    "remove-item": _remove_item, "copy-item": _transfer_item(move=False), "move-item": _transfer_item(move=True),
    "get-childitem": _children, "get-content": _content, "set-content": _write_content(append=False),
    "add-content": _write_content(append=True), "get-timezone": _zone, "set-timezone": _set_zone,
    "get-appxpackage": _packages, "select-object": _select, "convertto-json": _to_json, "stop-process": _stop,
    "start-process": _start_process, "get-process": _processes, "write-output": _write, "set-clipboard": _clipboard,
    "get-clipboard": lambda shell, *_: [shell.machine.clipboard.text], "start-sleep": _start_sleep, "out-null": lambda *_: [],
}  # fmt: skip
