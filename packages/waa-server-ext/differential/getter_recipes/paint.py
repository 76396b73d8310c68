"""Pictures, the wallpaper and VLC's settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from getter_recipes.file_builders import HOME, case, compared, each, of, png

if TYPE_CHECKING:
    from collections.abc import Iterator

    from getter_recipes.file_builders import Case

__all__ = ["cases"]

PATH = HOME + r"\Downloads\p.png"
VLCRC = HOME + r"\AppData\Roaming\vlc\vlcrc"


def cases() -> Iterator[Case]:
    """Yield all cases."""
    yield from _pictures()
    yield from _wallpapers()
    yield from _vlc()


def _picture(data: str) -> Case:
    return {"files": {PATH: {"b64": data}}}


def _pictures() -> Iterator[Case]:
    getter, blank = "is_red_circle_present_on_canvas", _picture(png(None))
    states = {
        "red": _picture(png("red")),
        "blank": blank,
        "blue": _picture(png("blue")),
        "absent": {},
        "no-picture": of(PATH, "x"),
    }
    yield from each(getter, {"filepath": PATH}, True, states)  # what is expected
    yield case(getter, "no-path", {"filepath": ""}, expected=False)
    getter, size = (
        "image_dimension_matches_input",
        {"filepath": PATH, "width": "160", "height": "140"},
    )
    yield case(getter, "same", size, expected=True, state=blank)
    yield case(getter, "other", {**size, "width": "161"}, expected=True, state=blank)
    yield case(getter, "absent", size, expected=True)


def _wallpapers() -> Iterator[Case]:
    result = {"type": "vm_wallpaper", "dest": "w.png"}
    expected = {"type": "cloud_file", "path": "${CLOUD_BASE}/gold.png", "dest": "gold.png"}
    for name, ours in (("same", png("red")), ("other", png("red", width=12)), ("none", None)):
        held = {"wallpaper_b64": ours} if ours else {}
        state = {**held, "cloud": {"gold.png": {"b64": png("red")}}}
        yield compared(
            case("vm_wallpaper", name, {}, None, state), "compare_images", result, expected
        )


def _vlc() -> Iterator[Case]:
    rule = {"expected_qt_bgcone": 0}
    states = {
        "off": of(VLCRC, "qt-bgcone=0\n"),
        "on": of(VLCRC, "qt-bgcone=1\n"),
        "commented": of(VLCRC, "#qt-bgcone=0\n"),
        "absent": {},
    }
    yield from each("vlc_config", {"dest": "vlcrc"}, rule, states, metric="check_qt_bgcone")
