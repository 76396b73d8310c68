"""VLC's settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recipes.common import Drawn, file, sometimes, value

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

__all__ = ["check_qt_slider_colours", "is_vlc_recordings_folder", "setting"]

_VLCRC = "# qt-bgcone=1\n[qt] # Qt interface\n{lines}\n#key-play-pause=Space\n\n[core]\n"


def setting(key: str, rule: str, values: list[Any]) -> Callable[[Random], Drawn]:
    def call(rng: Random) -> Drawn:
        lasting = rng.choice(values)
        lines = [
            f"{rng.choice(['', '', '#', ' '])}{key}{rng.choice(['=', '=', ' = '])}{one}"
            for one in rng.choices([lasting, lasting, lasting, *values], k=rng.randint(0, 2))
        ]
        ending = rng.choice(["\n", "\r\n"])
        text = _VLCRC.format(lines="\n".join(lines)).replace("\n", ending)
        actual = file("vlcrc", text=text)
        if sometimes(rng, 0.06):
            actual = rng.choice(
                [file("gone"), value(None), file("vlcrc", raw="/+Hi"), file("e", text="")]
            )
        rules = {rule: rng.choice([lasting, lasting, *values])} if sometimes(rng, 0.95) else {}
        return [actual, value(rules)], {}

    return call


_COLOURS = [
    "0;0;0;10;10;10",
    "153;210;153;20;210;20;255;199;15;245;39;29",
    "99;99;99",
    "100;0;0",
    "1;2",
    "x;1;1",
    "",
]


def check_qt_slider_colours(rng: Random) -> Drawn:
    (actual, _), _ = setting("qt-slider-colours", "", _COLOURS)(rng)
    kind = rng.choice(["blackish", "blackish", "match", "other"])
    rules = {"type": kind, "expected_qt_slider_colours": rng.choice(_COLOURS)}
    return [actual, value(rules)], {}


def is_vlc_recordings_folder(rng: Random) -> Drawn:
    folders = ["C:\\Users\\Docker\\Desktop", "C:\\Users\\Docker\\Downloads", "", "C:\\a=b"]
    return setting("input-record-path", "recording_file_path", folders)(rng)
