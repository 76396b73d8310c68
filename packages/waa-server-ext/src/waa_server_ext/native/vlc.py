"""VLC's configuration file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from waa_server_ext.native.context import EvaluationContext
from waa_server_ext.native.profiles import UnsupportedSystemError
from waa_server_ext.native.refusals import MAX_TEXT_BYTES, check_size, or_else
from waa_server_ext.native.registry import getter, metric

__all__: list[str] = []

_WINDOWS = r"C:\Users\Docker\AppData\Roaming\vlc\vlcrc"
_SCRIPTS = {
    "Linux": "import os; print(os.path.expanduser('~/.config/vlc/vlcrc'))",
    "Darwin": "import os; print(os.path.expanduser("
    "'~/Library/Preferences/org.videolan.vlc/vlcrc'))",
}
_DEFAULT_COLOURS = "153;210;153;20;210;20;255;199;15;245;39;29"
_DARK = 100


@getter("vlc.py")
def vlc_config(env: EvaluationContext, config: Mapping[str, Any]) -> str:
    """VLC's configuration file, fetched; its local path.

    Fails as: TypeError for an absent file, which counts as zero.

    Oddities: On Windows, always the path of the user Docker.
    """
    system = env.platform
    return _fetch(env, config, _WINDOWS if system == "Windows" else _ask(env, system))


@vlc_config.differs("fixed", "looks in the profile of the user who is logged on")
def _vlc_config_fixed(env: EvaluationContext, config: Mapping[str, Any]) -> str:
    if env.platform != "Windows":
        return str(vlc_config.function(env, config))
    path = env.python(
        r"import os; print(os.path.join(os.getenv('LOCALAPPDATA'), '..', 'Roaming', 'vlc', 'vlcrc'))"
    ).strip()
    return _fetch(env, config, path.replace(r"Local\..", "").replace("\\\\", "\\"))


@metric("vlc.py")
def is_vlc_recordings_folder(actual_config_path: str, rule: Mapping[str, Any]) -> int:
    """Whether recordings go to the folder.

    Fails as: 0; TypeError for None.

    Oddities: The first line with the setting decides; compared as text, case included.
    """
    lines = _lines(actual_config_path)
    wanted = rule["recording_file_path"]
    live = (line for line in lines if not line.startswith("#") and line.strip())
    found = next((line for line in live if "input-record-path" in line), None)
    return int(found is not None and _value(found) == wanted)


@metric("vlc.py")
def check_qt_bgcone(actual_config_path: str, rule: Mapping[str, Any]) -> int:
    """Whether the cone in the background has the state; on by default.

    Fails as: 0; TypeError for None.

    Oddities: A commented line counts too.
    """
    return _is_set(actual_config_path, "qt-bgcone", "1", rule, "expected_qt_bgcone")


@metric("vlc.py")
def check_qt_max_volume(actual_config_path: str, rule: Mapping[str, Any]) -> int:
    """Whether the volume goes up to a percentage; 125 by default.

    Fails as: 0; TypeError for None.

    Oddities: A commented line counts too.
    """
    return _is_set(actual_config_path, "qt-max-volume", "125", rule, "expected_qt_max_volume")


@metric("vlc.py")
def check_qt_minimal_view(actual_config_path: str, rule: Mapping[str, Any]) -> int:
    """Whether VLC starts without menus; off by default.

    Fails as: 0; TypeError for None.

    Oddities: A commented line counts too.
    """
    return _is_set(actual_config_path, "qt-minimal-view", "0", rule, "expected_qt_minimal_view")


@metric("vlc.py")
def check_qt_video_resize(actual_config_path: str, rule: Mapping[str, Any]) -> int:
    """Whether the window takes the size of the video.

    Fails as: 0; TypeError for None.

    Oddities: Takes 0 for the default, which is 1 in VLC: an untouched file passes.
    """
    return _is_set(actual_config_path, "qt-video-autoresize", "0", rule, "qt-video-autoresize")


@check_qt_video_resize.differs(
    "fixed", "an absent setting is VLC's default, 1; comments do not count"
)
def _video_resize_fixed(actual_config_path: str, rule: Mapping[str, Any]) -> int:
    key = "qt-video-autoresize"
    live = [line for line in _lines(actual_config_path) if not line.startswith("#")]
    found = [_value(line) for line in live if f"{key}=" in line]
    return int((found[-1] if found else "1") == _text(rule[key]))


@metric("vlc.py")
def check_one_instance_when_started_from_file(
    actual_config_path: str, rule: Mapping[str, Any]
) -> int:
    """Whether files open in the VLC that runs already; on by default.

    Fails as: 0; TypeError for None.

    Oddities: A commented line counts too.
    """
    key = "one-instance-when-started-from-file"
    expected = "expected_one_instance_when_started_from_file"
    return _is_set(actual_config_path, key, "1", rule, expected)


@metric("vlc.py")
def check_global_key_play_pause(actual_config_path: str, rule: Mapping[str, Any]) -> int:
    """Whether a global key plays and pauses.

    Fails as: 0; TypeError for None.

    Oddities: Any key at all counts as set; a commented line counts too.
    """
    lines = _lines(actual_config_path)
    wanted = _text(rule["expected_global_key_play_pause"])
    found = [_value(line) for line in lines if "global-key-play-pause=" in line]
    state = "1" if found and found[-1] else "0"
    return int(state == wanted)


@metric("vlc.py")
def check_qt_slider_colours(actual_config_path: str, rule: Mapping[str, Any]) -> int | None:
    """Whether the volume slider has the colors, or dark ones.

    Fails as: 0, also for colors that are not numbers; TypeError for None.

    Oddities: Another rule type than `match` and `blackish` gives None, which counts as zero.
    """
    return or_else(0, _colours_hold, _lines(actual_config_path), rule)


@metric("vlc.py")
def is_vlc_fullscreen(actual_window_size: Any, screen_size: Any) -> int:
    """Whether a window is as large as the screen.

    Fails as: TypeError for None.
    """
    return int(all(actual_window_size[side] == screen_size[side] for side in ("width", "height")))


def _fetch(env: EvaluationContext, config: Mapping[str, Any], source: str) -> str:
    local = env.scratch_path(config["dest"])
    content = env.file(source)
    if content is None:
        raise TypeError("the VM has no such file, or it is locked")
    local.write_bytes(content)
    return str(local)


def _ask(env: EvaluationContext, system: str) -> str:
    if system not in _SCRIPTS:
        raise UnsupportedSystemError(f"Unsupported operating system {system!r}")
    return env.python(_SCRIPTS[system]).strip()


def _lines(path: str) -> list[str]:
    return Path(check_size(path, MAX_TEXT_BYTES)).read_bytes().decode("utf-8").split("\n")


def _value(line: str) -> str:
    return line.rsplit("=", maxsplit=1)[-1].strip()


def _text(expected: Any) -> Any:
    return str(expected) if isinstance(expected, int) else expected


def _is_set(path: str, key: str, default: str, rule: Mapping[str, Any], wanted: str) -> int:
    found = [_value(line) for line in _lines(path) if f"{key}=" in line]
    return int((found[-1] if found else default) == _text(rule[wanted]))


def _colours_hold(lines: list[str], rule: Mapping[str, Any]) -> int | None:
    found = [_value(line) for line in lines if "qt-slider-colours" in line]
    colours = found[-1] if found else _DEFAULT_COLOURS
    if rule["type"] == "match":
        return int(colours == rule["expected_qt_slider_colours"])
    if rule["type"] != "blackish":
        return None
    numbers = [int(number) for number in colours.split(";")]
    whole = numbers[: len(numbers) // 3 * 3]
    return int(all(number < _DARK for number in whole))
