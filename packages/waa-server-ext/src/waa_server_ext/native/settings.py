"""Windows settings, read from the registry."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from waa_server_ext.native.context import EvaluationContext
from waa_server_ext.native.refusals import or_else
from waa_server_ext.native.registry import getter

__all__: list[str] = []

_NIGHT_LIGHT = (
    r"HKCU:\Software\Microsoft\Windows\CurrentVersion\CloudStore\Store\DefaultAccount\Current"
    r"\default$windows.data.bluelightreduction.settings\windows.data.bluelightreduction.settings"
)
_STORAGE = r"HKCU:\Software\Microsoft\Windows\CurrentVersion\StorageSense\Parameters\StoragePolicy"
_ACTIVE_HOURS = r"HKLM:\SOFTWARE\Microsoft\WindowsUpdate\UX\Settings"
_HTTP_CHOICE = r"HKCU:Software\Microsoft\Windows\Shell\Associations\UrlAssociations\http\UserChoice"
_TIME_ZONE = (
    'powershell -Command "Get-TimeZone | Select-Object -Property DisplayName, StandardName '
    '| ConvertTo-Json"'
)
_ENABLED_AT, _START_AT, _END_AT = 24, 28, 33
_NO_SCHEDULE = 202
"""The byte in place of the start hour if the night light follows the sun."""


@getter("settings.py")
def night_light_state(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """Whether the night light is on: False, `[True]`, or `[True, from, to]` with a schedule.

    Fails as: raises if the value is absent, which counts as zero.
    """
    data = env.registry(_NIGHT_LIGHT, "Data")["output"].split("\n")
    if data[_ENABLED_AT] != "1":
        return False
    start = int(data[_START_AT])
    if start == _NO_SCHEDULE:
        return [True]
    minute = _minute(data, _START_AT)
    # a start with minutes takes two bytes more: a marker and the minutes
    end_at = _END_AT if minute == 0 else _END_AT + 2
    end = int(data[end_at])
    return [True, _clock(start, minute), _clock(end, _minute(data, end_at))]


@getter("settings.py")
def storage_sense_run_frequency(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """How often Storage Sense runs, in days, as a string.

    Fails as: None if Storage Sense is off.
    """
    enabled = env.registry(_STORAGE, "01")
    if enabled["status"] != "success" or enabled["output"] != "1\n":
        return None
    frequency = env.registry(_STORAGE, "2048")
    return frequency["output"].split("\n")[0] if frequency["status"] == "success" else None


@getter("settings.py")
def system_timezone(env: EvaluationContext, config: Mapping[str, Any]) -> str:
    """The display name of the time zone.

    Fails as: 'Error getting the timezone'.
    """
    return str(or_else("Error getting the timezone", _time_zone, env))


@getter("settings.py")
def desktop_background(env: EvaluationContext, config: Mapping[str, Any]) -> str:
    """Whether the desktop has a plain color: the strings 'True' and 'False'.

    Fails as: raises if the VM fails, which counts as zero.
    """
    path = env.registry(r"HKCU:Control Panel\Desktop", "WallPaper")["output"].replace("\n", "")
    return str(path == "")


@getter("settings.py")
def system_notifications(env: EvaluationContext, config: Mapping[str, Any]) -> str | None:
    """Whether notifications are off: 'True' and 'False', None for a value that is neither.

    Fails as: 'False' if the value is absent.
    """
    key = r"HKCU:Software\Microsoft\Windows\CurrentVersion\PushNotifications"
    answer = env.registry(key, "ToastEnabled")
    failed = "Uanble to get the notifications settings state"  # upstream's own spelling
    return or_else(failed, _notifications_off, answer)


@getter("settings.py")
def default_browser(env: EvaluationContext, config: Mapping[str, Any]) -> str:
    """The ProgId of the default browser.

    Fails as: 'Error'.
    """
    answer = env.registry(_HTTP_CHOICE, "ProgId")
    return str(or_else("Error", lambda: answer["output"].split("\n")[0]))


@getter("settings.py")
def active_hours_of_user_to_not_interrupt_for_windows_updates(
    env: EvaluationContext, config: Mapping[str, Any]
) -> Any:
    """The hours in which updates do not restart Windows, from and to.

    Fails as: raises if a value is absent, which counts as zero.
    """
    answers = [env.registry(_ACTIVE_HOURS, f"ActiveHours{edge}") for edge in ("Start", "End")]
    hours = [_clock(int(answer["output"].split("\n")[0]), 0) for answer in answers]
    return hours if all(answer["status"] == "success" for answer in answers) else None


def _clock(hour: int, minute: int) -> str:
    """Write a time as upstream does: noon is `00:00 PM`."""
    return f"{hour % 12 if hour < 24 else hour - 12:02d}:{minute:02d} {'AM' if hour < 12 else 'PM'}"  # hours


def _minute(data: Sequence[str], hour_at: int) -> int:
    return int(data[hour_at + 2]) if data[hour_at + 1] != "0" else 0


def _time_zone(env: EvaluationContext) -> str:
    data = json.loads(env.shell(_TIME_ZONE)["output"])
    named = data.get("DisplayName") and data.get("StandardName")
    return data["DisplayName"] if named else "Unable to get time zone"


def _notifications_off(answer: Any) -> str | None:
    if answer is None or not answer["output"]:
        return "False"
    # a value of 1, or any other, falls off the end of upstream's function
    return "True" if answer["output"].replace("\n", "") == "0" else None
