"""The programs of the simulated computer, how they start, and which opens which file."""

from __future__ import annotations

import ntpath
from collections.abc import Callable, Sequence

from waa_server_ext.simulate.apps.catalogue import CATALOGUE, Program
from waa_server_ext.simulate.apps.settings import pages
from waa_server_ext.simulate.machine.filesystem import normal
from waa_server_ext.simulate.ui.folder_views import FolderView
from waa_server_ext.simulate.ui.windows import Desktop, Window

_PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tiff")
_OFFICE = (".docx", ".xlsx", ".pptx", ".odt", ".ods", ".pdf", ".doc", ".xls")
_HIDDEN_COMMANDS = {"socat", "caddy", "stop-process"}


class Programs:
    """Starts programs for command lines, files and protocol links."""

    def __init__(self, desktop: Desktop) -> None:
        self._desktop = desktop
        self.catalogue = CATALOGUE
        self.folder_views: dict[str, FolderView] = {}

    def find(self, name: str) -> Program | None:
        """Return the program that a word on a command line starts, or `None`."""
        word = ntpath.basename(name.strip('"').replace("/", "\\")).casefold()
        if ":" in name and not ntpath.splitdrive(name)[0]:
            word = name.split(":", maxsplit=1)[0].casefold() + ":"
        for program in self.catalogue:
            if word in {program.exe.casefold(), program.exe[:-4].casefold(), *program.aliases}:
                return program
        return None

    def can_start(self, name: str) -> bool:
        """Return whether `name` starts a program."""
        is_link = "://" in name or name.casefold().startswith(("ms-", "http"))
        return self.find(name) is not None or (is_link and self._scheme(name) is not None)

    def aliases_of(self, title: str) -> tuple[str, ...]:
        """Return the other names of a program."""
        return next((p.aliases for p in self.catalogue if p.title == title), ())

    def launcher(self, program: Program) -> Callable[[], object]:
        """Return a function that starts a program without arguments."""
        return lambda: self._start(program, [])

    def settings_found(self, wanted: str) -> list[tuple[str, str, Callable[[], object]]]:
        """Return the pages of Settings whose name contains `wanted`."""

        def opener(page: str) -> Callable[[], object]:
            return lambda: self.launch([f"ms-settings:{page}"])

        return [
            (title, "app:#5a6b7b:S", opener(page))
            for page, title in pages() if wanted in title.casefold()
        ]  # fmt: skip

    def launch(self, words: Sequence[str]) -> bool:
        """Run a command line; return false if Windows would not find its program."""
        words = [word for word in words if word]
        if not words:
            return False
        if words[0].casefold() in {"start", "start.exe"}:
            rest = list(words[1:])
            while rest and (rest[0].startswith("/") or rest[0] in {'""', '" "'}):
                rest.pop(0)
            if not rest:
                return True
            return self.launch(rest) or self.open_path(rest[0])
        program = self.find(words[0]) or self._scheme(words[0])
        if program is not None:
            is_link = ":" in words[0] and not ntpath.splitdrive(words[0])[0]
            self._start(program, words if is_link else words[1:])
            return True
        path = normal(words[0])
        if self._desktop.machine.files.is_file(path) and not path.casefold().endswith(".exe"):
            self.open_path(path)
            return True
        return words[0].casefold() in _HIDDEN_COMMANDS

    def open_path(self, path: str) -> bool:
        """Open a file with its program, or a folder in File Explorer; return false if neither exists."""
        files = self._desktop.machine.files
        if path.casefold().startswith("shell:") or files.is_folder(path):
            return self.launch(["explorer", path])
        path = normal(path)
        if not files.is_file(path):
            return False
        extension = ntpath.splitext(path)[1].casefold()
        if extension == ".exe":
            return self.launch([ntpath.basename(path)])
        if extension == ".lnk":
            target = files.read(path).decode("utf-8", "replace").removeprefix("shortcut to ")
            return target != path and self.open_path(target)
        return self.launch([self._opener(extension), path])

    def running(self, name: str) -> list[Window]:
        """Return the windows of a process, by its exe name with or without `.exe`."""
        wanted = name.casefold().removesuffix(".exe")
        return [w for w in self._desktop.windows if w.exe.casefold().removesuffix(".exe") == wanted]

    def kill(self, name: str) -> int:
        """End a process without asking; return the number of windows it had."""
        windows = self.running(name)
        for window in windows:
            self._desktop.close(window)
        return len(windows)

    def _opener(self, extension: str) -> str:
        if extension in _PICTURES:
            return "mspaint"
        if extension in _OFFICE:
            return "soffice"
        if extension in {".html", ".htm", ".url"}:
            return "msedge"
        return (
            "vlc" if extension in {".mp4", ".mp3", ".avi", ".mkv", ".wav", ".flac"} else "notepad"
        )

    def _start(self, program: Program, arguments: Sequence[str]) -> None:
        window = program.make(self._desktop, list(arguments))
        if window is not None and window not in self._desktop.windows:
            self._desktop.open(window)
        self._desktop.touch()

    def _scheme(self, word: str) -> Program | None:
        if word.casefold().startswith(("http://", "https://", "www.")):
            return self.find("msedge")
        return None
