"""Windows' settings, as the registry holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from getter_recipes.file_builders import case, each, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from getter_recipes.file_builders import Case

__all__ = ["cases"]

NOTIFICATIONS = r"HKCU:Software\Microsoft\Windows\CurrentVersion\PushNotifications|ToastEnabled"
NIGHT_LIGHT = (
    r"HKCU:\Software\Microsoft\Windows\CurrentVersion\CloudStore\Store\DefaultAccount\Current\default"
    r"$windows.data.bluelightreduction.settings\windows.data.bluelightreduction.settings|Data"
)
STORAGE = r"HKCU:\Software\Microsoft\Windows\CurrentVersion\StorageSense\Parameters\StoragePolicy|"
WALLPAPER = r"HKCU:Control Panel\Desktop|WallPaper"


def cases() -> Iterator[Case]:
    """Yield all cases."""
    yield from table(
        "system_notifications",
        {},
        ("off", _registry(NOTIFICATIONS, "0"), "True"),
        ("on", _registry(NOTIFICATIONS, "1"), "True"),
        ("on-is-none", _registry(NOTIFICATIONS, "1"), None),
        ("absent", {}, "False"),
    )
    yield from _night_light()
    yield from _time_zone()
    states = {"plain": _registry(WALLPAPER, ""), "picture": _registry(WALLPAPER, r"C:\a.jpg")}
    yield from each("desktop_background", {}, "True", states)
    yield from _storage_sense()


def _registry(name: str, value: Any) -> Case:
    return {"registry": {name: value}}


def _night_light() -> Iterator[Case]:
    def data(changes: Mapping[int, int]) -> Case:
        return _registry(NIGHT_LIGHT, [changes.get(index, 0) for index in range(45)])

    evening = {24: 1, 28: 19, 33: 7}
    halves = {24: 1, 28: 19, 29: 46, 30: 30, 35: 7, 36: 46, 37: 15}
    yield from table(
        "night_light_state",
        {},
        ("schedule", data(evening), [True, "07:00 PM", "07:00 AM"]),
        ("minutes", data(halves), [True, "07:30 PM", "07:15 AM"]),
        ("noon", data({24: 1, 28: 12, 33: 0}), [True, "00:00 PM", "00:00 AM"]),
        ("sunset", data({24: 1, 28: 202}), [True]),
        ("off", data({}), [True]),
        ("off-is-false", data({}), False),
        ("absent", {}, False),
    )


def _time_zone() -> Iterator[Case]:
    zone = {"DisplayName": "(UTC+01:00) Berlin", "StandardName": "W. Europe Standard Time"}
    nameless = {"timezone": {**zone, "StandardName": ""}}
    yield case("system_timezone", "same", {}, zone["DisplayName"], {"timezone": zone})
    yield case("system_timezone", "other", {}, "(UTC-08:00)", {"timezone": zone})
    yield case("system_timezone", "no-name", {}, "Unable to get time zone", nameless)


def _storage_sense() -> Iterator[Case]:
    for name, values in (
        ("monthly", {"01": "1", "2048": "30"}),
        ("daily", {"01": "1", "2048": "1"}),
        ("off", {"01": "0", "2048": "30"}),
        ("absent", {}),
    ):
        registry = {STORAGE + key: value for key, value in values.items()}
        yield case("storage_sense_run_frequency", name, {}, "30", {"registry": registry})
