"""The keyboard: held keys, shortcuts of the system and the app, and typing into the focus."""

from __future__ import annotations

from waa_server_ext.simulate.desktop.window_manager import WindowManager
from waa_server_ext.simulate.ui.nodes import Node, walk
from waa_server_ext.simulate.ui.painter import line_step, text_box
from waa_server_ext.simulate.ui.windows import Window

ALIASES = {
    "return": "enter", "\n": "enter", "\r": "enter", "esc": "escape", "del": "delete",
    "pgup": "pageup", "pgdn": "pagedown", "ctrlleft": "ctrl", "ctrlright": "ctrl",
    "altleft": "alt", "altright": "alt", "shiftleft": "shift", "shiftright": "shift",
    "winleft": "win", "winright": "win", "\t": "tab", "space": " ", "prtsc": "printscreen",
    "prntscrn": "printscreen", "prtscr": "printscreen", "print": "printscreen",
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "decimal": ".",
    **{f"num{digit}": str(digit) for digit in range(10)},
}  # fmt: skip

_NAMED = {
    "enter", "escape", "tab", "backspace", "delete", "insert", "home", "end", "pageup",
    "pagedown", "up", "down", "left", "right", "ctrl", "alt", "shift", "win", "apps",
    "printscreen", "capslock", "numlock", "scrolllock", "pause", "volumeup", "volumedown",
    "volumemute", "browserback", "browserforward", "browserrefresh", "browserhome", "playpause",
    "nexttrack", "prevtrack", "stop", "sleep", "help", "select", "clear",
    *(f"f{number}" for number in range(1, 25)),
}  # fmt: skip

KEYS = frozenset(_NAMED | set(ALIASES) | {chr(code) for code in range(32, 127)})
"""Every key name that pyautogui presses; it silently ignores others."""

_SHIFTED = dict(zip("1234567890-=[]\\;',./`", '!@#$%^&*()_+{}|:"<>?~', strict=True))
_MODIFIERS = frozenset({"ctrl", "alt", "shift", "win"})


class Keyboard:
    """The held keys, and the routing of the other keys."""

    def __init__(self, desktop: WindowManager) -> None:
        self._desktop = desktop
        self._held = desktop.keys.names
        self._win_alone = False

    def press(self, key: str) -> None:
        """Press and release a key."""
        self.key_down(key)
        self.key_up(key)

    def hotkey(self, *keys: str) -> None:
        """Press keys in order and release them in reverse."""
        for key in keys:
            self.key_down(key)
        for key in reversed(keys):
            self.key_up(key)

    def write(self, text: str) -> None:
        """Type text: ASCII only, as in pyautogui; a line break is Enter, a tab is Tab."""
        run = ""
        for char in text:
            if char in "\n\r\t":
                self._type(run)
                run = ""
                self.press(char)
            elif char in KEYS:
                run += char
        self._type(run)

    def key_down(self, key: str) -> None:
        """Press a key; an unknown one does nothing."""
        known = _known(key)
        if known is not None:
            if known in _MODIFIERS:
                self._held.add(known)
                self._win_alone = known == "win"
            else:
                self._win_alone = False
                mods = frozenset(self._held)
                if len(known) == 1 and not mods - {"shift"} and known != " ":
                    self._type(_SHIFTED.get(known, known.upper()) if "shift" in mods else known)
                else:
                    self._key(known.lower() if len(known) == 1 else known, mods)
                self._desktop.touch()

    def key_up(self, key: str) -> None:
        """Release a key; the Windows key alone opens Start."""
        name = _known(key)
        if name is None:
            return
        self._held.discard(name)
        if name == "win" and self._win_alone:
            self._win_alone = False
            self._desktop.toggle_start()

    def _type(self, text: str) -> None:
        if not text:
            return
        desktop = self._desktop
        if desktop.popups:
            self._type_in_menu(text)
            return
        if self._held - {"shift"}:
            for char in text:
                self._key(char.lower(), frozenset(self._held))
            return
        window, node = desktop.focused_node()
        if node is not None and node.text is not None and node.enabled:
            node.text.insert(text)
            _follow(node)
        elif " " in text and node is not None and node.click is not None and text.strip() == "":
            desktop.after(node.click)
        else:
            window.typed(text)
        desktop.touch()

    def _type_in_menu(self, text: str) -> None:
        popup = self._desktop.popups[-1]
        for number, item in enumerate(popup.menu.items):
            if item.usable and item.name[:1].casefold() == text[0].casefold():
                if popup.role == "item":
                    popup.menu.at = number
                    popup.show(number)
                else:
                    self._desktop.choose(popup, number)
                return

    def _key(self, key: str, mods: frozenset[str]) -> None:
        desktop = self._desktop
        if self._system(key, mods):
            return
        if desktop.popups:
            self._menu_key(key)
            return
        if key == " " and not mods:
            window, node = desktop.focused_node()
            if node is None or node.text is not None or node.click is None:
                self._type(" ")
                return
        window, node = desktop.focused_node()
        if window.shortcut(key, mods):
            return
        if node is not None and node.text is not None and self._in_field(node, key, mods):
            return
        if key == "tab" and mods <= {"shift"}:
            self._next_focus(window, -1 if "shift" in mods else 1)
        elif node is not None and _uses(node, key) and not mods:
            if node.click is not None:
                desktop.after(node.double if key == "enter" and node.double else node.click)
        else:
            window.fallback(key, mods)

    def _in_field(self, node: Node, key: str, mods: frozenset[str]) -> bool:
        field, clipboard = node.text, self._desktop.machine.clipboard
        if field is None:
            return False
        if mods == {"ctrl"} and key in {"c", "x"}:
            if field.selected:
                clipboard.copy_text(field.selected)
                if key == "x":
                    field.insert("")
        elif mods == {"ctrl"} and key == "v":
            field.insert(clipboard.text)
        elif key == "enter" and field.multiline and not mods - {"shift"}:
            field.insert("\n")
        elif key == "tab" and field.multiline and not mods:
            field.insert("\t")
        elif not field.press(key, mods):
            return False
        _follow(node)
        return True

    def _menu_key(self, key: str) -> None:
        desktop = self._desktop
        popup = desktop.popups[-1]
        if key == "escape" or (key == "left" and len(desktop.popups) > 1):
            desktop.popups.pop()
        elif key in {"down", "up"}:
            popup.menu.step(1 if key == "down" else -1)
            popup.show(popup.menu.at or 0)
        elif key in {"enter", "right", " "} and popup.menu.at is not None:  # noqa: SIM102  # two questions
            if key != "right" or popup.menu.items[popup.menu.at].items:
                desktop.choose(popup, popup.menu.at)

    def _next_focus(self, window: Window, step: int) -> None:
        tree = self._desktop.tree_of(window)
        stops = [n for n in walk(tree) if n.focusable and not n.shown.empty] if tree else []
        if not stops:
            return
        keys = [node.key for node in stops]
        at = keys.index(window.focus) if window.focus in keys else (-1 if step > 0 else 0)
        chosen = stops[(at + step) % len(stops)]
        self._desktop.keys.cues = True
        window.focus = chosen.key
        if chosen.text is not None:
            chosen.text.select_all()

    def _system(self, key: str, mods: frozenset[str]) -> bool:
        desktop = self._desktop
        if mods == {"alt"} and key == "f4":
            if desktop.active is not None:
                desktop.active.request_close()
        elif mods == {"alt"} and key == "tab":
            shown = desktop.windows
            if len(shown) > 1:
                desktop.activate(shown[-2])
            elif shown:
                desktop.activate(shown[-1])
        elif mods == {"ctrl"} and key == "escape":
            desktop.toggle_start()
        elif mods == {"win"}:
            _win_shortcut(desktop, key)
        elif key == "printscreen":
            desktop.machine.clipboard.copy_picture(desktop.picture().copy())
        elif key == "escape" and desktop.start_open:
            desktop.start_open = False
        else:
            return False
        desktop.touch()
        return True


def _win_shortcut(desktop: WindowManager, key: str) -> None:
    programs, active = desktop.programs, desktop.active
    if key == "d":
        desktop.minimize_all()
    elif key == "e":
        programs.launch(["explorer"])
    elif key == "i":
        programs.launch(["ms-settings:"])
    elif key == "r":
        desktop.run_dialog()
    elif key == "s":
        desktop.toggle_start()
    elif key == "up" and active is not None and active.resizable:
        active.maximized = True
    elif key == "down" and active is not None:
        if active.maximized:
            active.maximized = False
        else:
            desktop.minimize(active)


def _follow(node: Node) -> None:
    if node.text is not None and node.text.multiline:
        node.text.follow_caret(max(text_box(node).height // line_step(node.style.size), 1))


def _known(key: str) -> str | None:
    if len(key) > 1:
        key = key.lower()
    key = ALIASES.get(key, key)
    return key if key in KEYS else None


def _uses(node: Node, key: str) -> bool:
    """Whether a key presses the focused element: Enter goes to the window instead if that is a check box or switch."""
    ticked = node.role in {"checkbox", "radio", "toggle"}
    return node.text is None and (key == " " or (key == "enter" and not ticked))
