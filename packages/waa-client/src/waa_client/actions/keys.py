"""Names of keys: converts spellings of users and models to PyAutoGUI's names, or refuses them.

PyAutoGUI ignores an unknown name without an error, so unknown names must be refused here.
Source of the known names: `keyboardMapping` of PyAutoGUI 0.9.54 on Windows.
"""

from __future__ import annotations

import difflib
import re


class UnknownKeyError(ValueError):
    """A key of this name does not exist."""

    def __init__(self, name: str) -> None:
        self.name = name
        near = difflib.get_close_matches(name.lower(), sorted({*KEYS, *_ALIASES}), n=3)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        super().__init__(f"there is no key {name!r}{hint}")


KEYS = frozenset(
    """
    accept add alt altleft altright apps backspace browserback browserfavorites browserforward
    browserhome browserrefresh browsersearch browserstop capslock clear convert ctrl ctrlleft
    ctrlright decimal del delete divide down end enter esc escape execute f1 f2 f3 f4 f5 f6 f7 f8 f9
    f10 f11 f12 f13 f14 f15 f16 f17 f18 f19 f20 f21 f22 f23 f24 final hangul hanja help home insert
    junja kana kanji launchapp1 launchapp2 launchmail launchmediaselect left modechange multiply
    nexttrack nonconvert num0 num1 num2 num3 num4 num5 num6 num7 num8 num9 numlock pagedown pageup
    pause pgdn pgup playpause prevtrack print printscreen return right scrolllock select separator
    shift shiftleft shiftright sleep space stop subtract super tab up volumedown volumemute volumeup
    win winleft winright
    """.split()  # noqa: SIM905  # a hundred quoted names are harder to read
)
"""The keys that PyAutoGUI presses on Windows, besides single ASCII characters."""

# PyAutoGUI ignores many of these without an error, such as cmd, control, option, ArrowUp and Page_Down.
_ALIASES = {
    # KeyboardEvent.key and .code
    "arrowup": "up", "arrowdown": "down", "arrowleft": "left", "arrowright": "right",
    "control": "ctrl", "controlleft": "ctrlleft", "controlright": "ctrlright",
    "meta": "win", "metaleft": "winleft", "metaright": "winright", "os": "win",
    "contextmenu": "apps", "audiovolumeup": "volumeup", "audiovolumedown": "volumedown",
    "audiovolumemute": "volumemute", "mediaplaypause": "playpause", "mediatracknext": "nexttrack",
    "mediatrackprevious": "prevtrack", "mediastop": "stop", "altgraph": "altright",
    "browserfavourites": "browserfavorites", "launchmediaplayer": "launchmediaselect",
    "numpadenter": "enter", "numpadadd": "add", "numpadsubtract": "subtract",
    "numpadmultiply": "multiply", "numpaddivide": "divide", "numpaddecimal": "decimal",
    "backquote": "`", "bracketleft": "[", "bracketright": "]", "intlbackslash": "\\", "quote": "'",
    # xdotool and X11
    "prior": "pageup", "next": "pagedown", "kpenter": "enter", "superl": "winleft",
    "superr": "winright", "controll": "ctrlleft", "controlr": "ctrlright", "altl": "altleft",
    "altr": "altright", "shiftl": "shiftleft", "shiftr": "shiftright", "metal": "winleft",
    "metar": "winright", "isoleftttab": "tab", "iso3level3shift": "altright", "kpadd": "add",
    "kpsubtract": "subtract", "kpmultiply": "multiply", "kpdivide": "divide",
    "kpdecimal": "decimal", "plus": "+", "minus": "-", "equal": "=", "equals": "=", "comma": ",",
    "period": ".", "dot": ".", "slash": "/", "backslash": "\\", "semicolon": ";", "colon": ":",
    "apostrophe": "'", "quotedbl": '"', "grave": "`", "backtick": "`", "asciitilde": "~",
    "tilde": "~", "underscore": "_", "exclam": "!", "at": "@", "numbersign": "#", "hash": "#",
    "dollar": "$", "percent": "%", "asciicircum": "^", "ampersand": "&", "asterisk": "*",
    "parenleft": "(", "parenright": ")", "braceleft": "{", "braceright": "}", "bar": "|",
    "less": "<", "greater": ">", "question": "?", "spacebar": "space",
    # macOS and usual spellings
    "cmd": "win", "command": "win", "windows": "win", "windowskey": "win", "winkey": "win",
    "start": "win", "lwin": "winleft", "rwin": "winright", "option": "alt", "opt": "alt",
    "ctl": "ctrl", "lctrl": "ctrlleft", "rctrl": "ctrlright", "lshift": "shiftleft",
    "rshift": "shiftright", "lalt": "altleft", "ralt": "altright", "altgr": "altright",
    "menu": "apps", "application": "apps", "ins": "insert", "bksp": "backspace", "bs": "backspace",
    "caps": "capslock", "prtsc": "printscreen", "prtscr": "printscreen", "prtscn": "printscreen",
    "prntscrn": "printscreen", "printscrn": "printscreen", "snapshot": "printscreen",
    "print_screen": "printscreen", "sysrq": "printscreen", "pgdown": "pagedown", "pgup": "pageup",
    "pgdn": "pagedown", "break": "pause", "cr": "enter", "carriagereturn": "enter", "mute": "volumemute",
    "hanguel": "hangul", "numlk": "numlock", "scrlk": "scrolllock",
}  # fmt: skip
_CONTROL_CHARACTERS = {"\n": "enter", "\r": "enter", "\t": "tab", " ": "space", "\b": "backspace", "\x1b": "esc"}  # fmt: skip
_CODES = re.compile(r"(?:key(?P<letter>[a-z])|(?:digit|kp)(?P<digit>[0-9]))")
_NUMPAD = re.compile(r"numpad(?P<digit>[0-9])")
_SEPARATORS = re.compile(r"[\s_-]+")
_FIRST_PRINTABLE, _LAST_PRINTABLE = " ", "~"


def key_name(name: str) -> str:
    r"""Return PyAutoGUI's name of a key: a name of `KEYS`, or one ASCII character.

    Raises:
        UnknownKeyError: The key does not exist.

    >>> [key_name(each) for each in ("Return", "Page_Up", "ArrowLeft", "cmd", "KeyA", "+", "\n")]
    ['enter', 'pageup', 'left', 'win', 'a', '+', 'enter']
    """
    if name in _CONTROL_CHARACTERS:
        return _CONTROL_CHARACTERS[name]
    if len(name) == 1 and _FIRST_PRINTABLE <= name <= _LAST_PRINTABLE:
        return name
    plain = _SEPARATORS.sub("", name.strip()).casefold()
    plain = _ALIASES.get(plain, plain)
    if plain == "return":
        return "enter"
    if plain in KEYS or (len(plain) == 1 and plain.isascii() and plain.isprintable()):
        return plain
    code = _CODES.fullmatch(plain)
    if code:
        return code["letter"] or code["digit"]
    numpad = _NUMPAD.fullmatch(plain)
    if numpad:
        return f"num{numpad['digit']}"
    raise UnknownKeyError(name)


def key_names(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of keys pressed together.

    A letter is the key, not the capital: `("Ctrl", "S")` is ctrl+s. A single key is unchanged.

    Raises:
        UnknownKeyError: One of them does not exist.
    """
    names = tuple(key_name(key) for key in keys)
    return names if len(names) == 1 else tuple(n.lower() if len(n) == 1 else n for n in names)
