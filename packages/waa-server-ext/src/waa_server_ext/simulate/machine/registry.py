"""The simulated machine's registry: hives, keys and typed values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RegistryKind = Literal["REG_SZ", "REG_EXPAND_SZ", "REG_DWORD", "REG_QWORD", "REG_BINARY"]

_HIVES = {
    "hkcu": "HKEY_CURRENT_USER",
    "hklm": "HKEY_LOCAL_MACHINE",
    "hkcr": "HKEY_CLASSES_ROOT",
    "hku": "HKEY_USERS",
    "hkcc": "HKEY_CURRENT_CONFIG",
}


@dataclass(frozen=True)
class RegistryValue:
    """One value: a string, a number or bytes (as a tuple of numbers)."""

    kind: RegistryKind
    data: str | int | tuple[int, ...]
    name: str = ""


def split_key(path: str) -> tuple[str, str]:
    r"""Return the full hive name and the key below it, for `HKCU:\X`, `HKCU:X` and `HKCU\X`.

    >>> split_key("HKCU:Control Panel\\Desktop")
    ('HKEY_CURRENT_USER', 'Control Panel\\Desktop')
    """
    path = path.replace("/", "\\").removeprefix("Registry::").removeprefix("Computer\\")
    hive, _, rest = path.partition("\\")
    hive, colon, tail = hive.partition(":")
    if colon and tail:
        rest = f"{tail}\\{rest}" if rest else tail
    hive = _HIVES.get(hive.casefold(), hive.upper())
    if hive not in _HIVES.values():
        raise FileNotFoundError(2, "Cannot find drive or hive", path)
    return hive, rest.strip("\\")


class Registry:
    """Values by key path and name, both case-insensitive."""

    def __init__(self) -> None:
        self._keys: dict[str, tuple[str, dict[str, RegistryValue]]] = {}

    def has_key(self, path: str) -> bool:
        """Return whether a key, or one below it, exists."""
        key = _key(path)
        return any(each == key or each.startswith(key + "\\") for each in self._keys)

    def get(self, path: str, name: str) -> RegistryValue | None:
        """Return a value, or `None`."""
        values = self._keys.get(_key(path), ("", {}))[1]
        return values.get(name.casefold())

    def number(self, path: str, name: str, default: int) -> int:
        """Return a value as a number."""
        found = self.get(path, name)
        try:
            return default if found is None else int(str(found.data), 0)
        except ValueError:
            return default

    def set(
        self,
        path: str,
        name: str,
        data: str | int | tuple[int, ...] | list[int],
        kind: RegistryKind | None = None,
    ) -> None:
        """Write a value and create its key; without a kind, the data's type decides it."""
        value = tuple(data) if isinstance(data, list) else data
        if kind is None:
            if isinstance(value, tuple):
                kind = "REG_BINARY"
            else:
                kind = "REG_DWORD" if isinstance(value, int) else "REG_SZ"
        self.make_key(path)
        self._keys[_key(path)][1][name.casefold()] = RegistryValue(kind, value, name)

    def make_key(self, path: str) -> None:
        """Create a key if it is missing."""
        hive, rest = split_key(path)
        self._keys.setdefault(_key(path), (f"{hive}\\{rest}", {}))

    def delete(self, path: str, name: str | None = None) -> bool:
        """Delete a value, or without a name a key and everything below it; return false if it is absent."""
        key = _key(path)
        if name is not None:
            return self._keys.get(key, ("", {}))[1].pop(name.casefold(), None) is not None
        doomed = [each for each in self._keys if each == key or each.startswith(key + "\\")]
        for each in doomed:
            del self._keys[each]
        return bool(doomed)

    def values(self, path: str) -> list[RegistryValue]:
        """Return the values of a key, in the order they were made."""
        return list(self._keys.get(_key(path), ("", {}))[1].values())

    def everything(self) -> list[tuple[str, RegistryValue]]:
        """Return each value with the displayed path of its key."""
        return [
            (shown, value) for shown, values in self._keys.values() for value in values.values()
        ]


def _key(path: str) -> str:
    hive, rest = split_key(path)
    return f"{hive}\\{rest}".casefold().rstrip("\\")
