"""The pointer: clicks, double clicks by time and place, drags, drops and the wheel."""

from __future__ import annotations

from waa_server_ext.simulate.desktop.window_manager import WindowManager
from waa_server_ext.simulate.ui.nodes import Node, hit
from waa_server_ext.simulate.ui.painter import column_at, line_step, text_box
from waa_server_ext.simulate.ui.windows import Window

_DOUBLE_S = 0.5  # Windows' default double-click time
_SLOP = 5
NOTCH = 120  # wheel units per notch in Windows


class Mouse:
    """The pointer's position, the buttons held, and their effect on the desktop."""

    def __init__(self, desktop: WindowManager) -> None:
        self._desktop = desktop
        self.x, self.y = desktop.size[0] // 2, desktop.size[1] // 2
        self.down: set[str] = set()
        self._pressed: tuple[Window | None, Node] | None = None
        self._pressed_at = (0, 0)
        self._last = (-10.0, -100, -100)
        self._clicks = 0
        self._dragging = False

    def move(self, x: float, y: float) -> None:
        """Move the pointer; it stops at the edges of the screen."""
        width, height = self._desktop.size
        self.x, self.y = min(max(int(x), 0), width - 1), min(max(int(y), 0), height - 1)
        if "left" in self.down and self._pressed is not None:
            self._drag("move")

    def press(self, button: str = "left") -> None:
        """Press a button."""
        self.down.add(button)
        self._desktop.keys.cues = False
        desktop = self._desktop
        found = desktop.hit(self.x, self.y)
        if found is not None and found[0] is not None and desktop.popups:
            desktop.hide_popups()
        if found is not None and desktop.start_open and found[0] not in {desktop.start_menu, None}:
            on_start = found[0] is desktop.taskbar and found[1].name == "Start"
            desktop.start_open = on_start
        if found is None:
            return
        window, node = found
        if window is None or not self._waits(window):
            self._pressed, self._pressed_at, self._dragging = found, (self.x, self.y), False
            if button == "left":
                desktop = self._desktop
                if window is not None and window not in {desktop.taskbar, desktop.start_menu}:
                    desktop.activate(window)
                if window is not None and node.focusable:
                    window.focus = node.key
                if node.text is not None:
                    _place_caret(node, self.x, self.y, select=False)
                if node.pointer is not None:
                    node.pointer("down", self.x, self.y)
        self._desktop.touch()

    def release(self, button: str = "left") -> None:
        """Release a button; a click, if it was pressed on the same element."""
        self.down.discard(button)
        pressed, self._pressed = self._pressed, None
        if pressed is None:
            return
        window, node = pressed
        if button == "left":
            self._left_up(node)
        elif button == "right" and (window is None or not self._waits(window)):
            self._right(window, node)
        self._desktop.touch()

    def click(self, button: str = "left", count: int = 1) -> None:
        """Press and release `count` times at the same place."""
        for _ in range(min(count, 3)):
            self.press(button)
            self.release(button)

    def scroll(self, clicks: int) -> None:
        """Turn the wheel; positive is up, 120 is one notch."""
        for _, tree in self._desktop.front_surfaces():
            if not tree.shown.holds(self.x, self.y):
                continue
            path = _path(tree, self.x, self.y)
            wheel = next((node.wheel for node in reversed(path) if node.wheel), None)
            field = next(
                (node for node in reversed(path) if node.text and node.text.multiline), None
            )
            lines = -round(clicks / NOTCH * 3) or (clicks < 0) - (clicks > 0)
            if wheel is not None:
                wheel(lines)
            elif field is not None and field.text is not None:
                last = max(len(field.text.starts) - 1, 0)
                field.text.scroll_line = min(max(field.text.scroll_line + lines, 0), last)
            self._desktop.touch()
            return

    def _waits(self, window: Window) -> bool:
        modal = self._desktop.modal_above(window)
        if modal is not None:
            self._desktop.activate(modal)
        return modal is not None

    def _left_up(self, node: Node) -> None:
        if self._dragging:
            self._drag("up")
            if node.payload is not None:
                found = self._desktop.hit(self.x, self.y)
                if not (found is None or found[0] is None):
                    tree = self._desktop.tree_of(found[0])
                    path = _path(tree, self.x, self.y) if tree is not None else []
                    taker = next((each for each in reversed(path) if each.drop is not None), None)
                    if taker is not None and taker.drop is not None and taker.key != node.key:
                        taker.drop(node.payload, "ctrl" in self._desktop.keys.names)
            return
        if node.pointer is not None:
            node.pointer("up", self.x, self.y)
        now = self._desktop.machine.clock.timestamp()
        at, x, y = self._last
        near = abs(self.x - x) <= _SLOP and abs(self.y - y) <= _SLOP
        again = now - at <= _DOUBLE_S and near
        self._clicks = self._clicks + 1 if again else 1
        self._last = (now, self.x, self.y)
        if again and node.text is not None:
            if self._clicks == 2:  # a double click
                node.text.select_word()
            else:
                node.text.select_line()
            return
        if again and node.double is not None:
            self._last = (-10.0, -100, -100)
            node.double()
            return
        if node.click is not None and node.enabled:
            node.click()

    def _right(self, window: Window | None, node: Node) -> None:
        if window is None:
            return
        if window is not self._desktop.taskbar:
            self._desktop.activate(window)
        if node.right is not None:
            node.right(self.x, self.y)

    def _drag(self, phase: str) -> None:
        if self._pressed is None:
            return
        _, node = self._pressed
        far = max(abs(self.x - self._pressed_at[0]), abs(self.y - self._pressed_at[1])) > _SLOP
        self._dragging = self._dragging or far
        if node.pointer is not None:
            node.pointer(phase, self.x, self.y)
        elif node.text is not None:
            _place_caret(node, self.x, self.y, select=True)
        self._desktop.touch()


def _path(tree: Node, x: int, y: int) -> list[Node]:
    path = [tree]
    while True:
        below = [each for each in path[-1].children if hit(each, x, y) is not None]
        if not below:
            return path
        path.append(below[-1])


def _place_caret(node: Node, x: int, y: int, *, select: bool) -> None:
    field = node.text
    if field is None:
        return
    box, size = text_box(node), node.style.size
    line = 0
    if field.multiline:
        line = field.scroll_line + (y - box.top) // line_step(size)
        line = min(max(line, 0), len(field.starts) - 1)
    column = column_at(field.line(line).replace("\t", " "), size, x - box.left)
    field.move(field.index(line, column), select=select)
