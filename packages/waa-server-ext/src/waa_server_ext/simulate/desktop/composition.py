"""The simulated desktop: its windows, and the mouse and the keyboard that act on them."""

from __future__ import annotations

from waa_server_ext.simulate.desktop.keyboard import Keyboard
from waa_server_ext.simulate.desktop.mouse import Mouse
from waa_server_ext.simulate.desktop.window_manager import SCREEN, WindowManager
from waa_server_ext.simulate.machine.computer import Machine


class Desktop(WindowManager):
    """A screen with windows, the mouse, keyboard and programs that act on them, and the machine.

    Example:
        >>> from waa_server_ext.simulate.machine.computer import Machine
        >>> desktop = Desktop(Machine.fresh())
        >>> _ = desktop.programs.launch(["notepad"])
        >>> desktop.keyboard.write("hello")
        >>> [window.title for window in desktop.windows]
        ['*Untitled - Notepad']
    """

    def __init__(self, machine: Machine, size: tuple[int, int] = SCREEN) -> None:
        super().__init__(machine, size)
        self.mouse = Mouse(self)
        self.keyboard = Keyboard(self)
