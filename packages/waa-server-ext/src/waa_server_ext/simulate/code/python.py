"""`python -c` and WAA's `exec`: interpreted programs with their output and exit code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from waa_server_ext.python_subset.budget import Budget
from waa_server_ext.python_subset.interpreter import Interpreter
from waa_server_ext.python_subset.values import Callable_, SimObject, StopRunning
from waa_server_ext.simulate.code.automation import (
    Automation,
    picture_object,
    pygetwindow_module,
    pyperclip_module,
)
from waa_server_ext.simulate.code.computer import ComputerUpdate, computer_object, human_object
from waa_server_ext.simulate.code.files import open_file
from waa_server_ext.simulate.code.libraries import library_modules
from waa_server_ext.simulate.code.shell import Shell
from waa_server_ext.simulate.desktop.composition import Desktop

_MAX_OUTPUT = 1_000_000


class _Output:
    """A program's printed output, up to a size limit."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._size = 0

    def write(self, text: str) -> None:
        if self._size < _MAX_OUTPUT:
            self._parts.append(text[: _MAX_OUTPUT - self._size])
            self._size += len(text)

    def print(self, *values: Any, sep: Any = " ", end: Any = "\n", **_: Any) -> None:
        self.write(str(sep or "").join(str(value) for value in values) + str(end or ""))

    @property
    def text(self) -> str:
        return "".join(self._parts)


class ServerProcess:
    """WAA's server process, in which pyautogui's fail-safe switch persists between requests."""

    def __init__(self, shell: Shell, settings: Mapping[str, Any] | None = None) -> None:
        self._shell = shell
        self._desktop = shell.desktop
        self._automation = Automation(shell.desktop, pause=0.0)
        for name, value in (settings or {}).items():
            self._automation.module.set(name, value)

    @property
    def settings(self) -> dict[str, Any]:
        """The attributes that programs have set on `pyautogui`, for the next request."""
        return self._automation.module.plain()

    def execute(self, command: Any, update: ComputerUpdate | None) -> None:
        """Run a block with `computer` and `human`.

        Raises:
            Exception: Raised by the block; or holding its output, if that contains "error".
            SystemExit: The block called `exit()`.
        """
        if not isinstance(command, str):
            raise TypeError(
                f"exec() arg 1 must be a string, bytes or code object, not {type(command).__name__}"
            )
        output = _Output()
        names = {
            "computer": computer_object(self._automation, update, output.print),
            "human": human_object(),
        }
        try:
            with Budget.shared():
                _interpreter(self._shell, self._automation, output, names).run(command)
        except StopRunning as error:
            raise RuntimeError(str(error)) from error
        finally:
            self._desktop.touch()
        # WAA's own test for a failure, whatever the sentence around the word says
        if "error" in output.text.lower():
            raise RuntimeError(output.text)


def run_child(shell: Shell, words: list[str]) -> tuple[int, str, str]:
    """Run `python` with these arguments; return exit code, output and errors."""
    desktop = shell.desktop
    if words[:1] in (["--version"], ["-V"]):
        return 0, "Python 3.10.0\n", ""
    source = _source(desktop, words)
    if source is None:
        return 2, "", "only python -c and python FILE are simulated\n"
    output = _Output()
    automation = Automation(desktop)
    try:
        with Budget.shared() as budget:
            code, error = _run(_interpreter(shell, automation, output, {}), source, budget)
    except StopRunning as stopped:
        code, error = 1, f"RuntimeError: {stopped}\n"
    except (MemoryError, RecursionError) as problem:  # its message is too large to show
        code, error = 1, f"{type(problem).__name__}\n"
    finally:
        desktop.touch()
    return code, output.text, error


def _run(interpreter: Interpreter, source: str, budget: Budget) -> tuple[int, str]:
    """Run a program; return its exit code and its final output to standard error."""
    try:
        interpreter.run(source)
    except SystemExit as error:
        budget.weigh(error.code)
        if error.code is None or isinstance(error.code, int):
            return int(error.code or 0), ""
        return 1, f"{error.code}\n"
    except Exception as error:  # noqa: BLE001  # a program may raise anything
        return 1, _traceback(error, interpreter.line, budget)
    return 0, ""


def _source(desktop: Desktop, words: list[str]) -> str | None:
    if "-c" in words[:-1]:
        return words[words.index("-c") + 1]
    files = [word for word in words if not word.startswith("-")]
    if files and desktop.machine.files.is_file(files[0]):
        return desktop.machine.files.read(files[0]).decode("utf-8", "replace")
    return None


def _traceback(error: Exception, line: int, budget: Budget) -> str:
    budget.weigh(error)  # its arguments may be large, or shared too often to show
    place = f'File "<string>", line {line}, in <module>'
    return f"Traceback (most recent call last):\n  {place}\n{type(error).__name__}: {error}\n"


def _interpreter(
    shell: Shell, automation: Automation, output: _Output, names: dict[str, Any]
) -> Interpreter:
    desktop = shell.desktop
    modules = library_modules(desktop, shell.fresh(), output.write)
    modules |= {
        "pyautogui": automation.module,
        "pyperclip": pyperclip_module(desktop),
        "pygetwindow": pygetwindow_module(desktop),
    }

    def grab(bbox: Any = None, **_: Any) -> SimObject:
        picture = desktop.picture()
        if bbox is None:
            return picture_object(desktop, picture)
        left, top, right, bottom = (min(max(int(each), 0), 10_000) for each in bbox)
        return picture_object(desktop, picture.crop((left, top, right, bottom)))

    grabber = SimObject("PIL.ImageGrab", {"grab": grab})
    image = SimObject("PIL.Image", {"Image": Callable_("Image", lambda *_: None)})
    modules |= {
        "PIL": SimObject("PIL", {"Image": image, "ImageGrab": grabber}),
        "PIL.Image": image,
        "PIL.ImageGrab": grabber,
    }
    leave = modules["sys"].get("exit")

    def opened(
        file: Any,
        mode: str = "r",
        buffering: Any = None,
        encoding: Any = None,
        errors: str = "strict",
        newline: Any = None,
        **_: Any,
    ) -> SimObject:
        del buffering
        return open_file(desktop, file, mode, encoding, newline, errors or "strict")

    own = {"open": Callable_("open", opened), "exit": leave, "quit": leave}
    return Interpreter(modules, {**own, **names}, output.print)
