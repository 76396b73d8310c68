"""The initial state of a simulated VM: a scene file or a snapshot."""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import ntpath
from pathlib import Path
from typing import Any

from pydantic import Field, JsonValue, NonNegativeInt, PositiveInt, ValidationError

from bench_core.errors import InputError
from bench_core.models import parse_yaml
from bench_core.records import Record
from bench_core.records.problems import problems_of
from waa_server_ext.simulate.desktop.composition import Desktop
from waa_server_ext.simulate.desktop.window_manager import SCREEN
from waa_server_ext.simulate.machine.clock import START
from waa_server_ext.simulate.machine.computer import TIME_ZONES, Machine, Timer
from waa_server_ext.simulate.machine.filesystem import HIDDEN, READ_ONLY, FileEntry, normal
from waa_server_ext.simulate.ui.builder import Builder
from waa_server_ext.simulate.ui.geometry import Rect
from waa_server_ext.simulate.ui.windows import Window


class SceneFile(Record):
    """A file: its text or its bytes, and its attributes in Windows.

    Attributes:
        size: Size in bytes, if larger than the contents: large files end in zeros.
        modified: Seconds since 1970; by default the start of the scene.
    """

    text: str | None = None
    b64: str | None = None
    hidden: bool = False
    read_only: bool = False
    size: NonNegativeInt | None = None
    modified: float | None = None
    tags: tuple[str, ...] = ()

    @property
    def data(self) -> bytes:
        """The contents."""
        if self.b64 is None:
            return (self.text or "").encode()
        return base64.b64decode(self.b64, validate=True)


class SceneWindow(Record):
    """An open window: the command that starts it, and the state that a snapshot adds."""

    launch: tuple[str, ...] = ()
    title: str | None = None
    maximized: bool = False
    minimized: bool = False
    rect: tuple[int, int, int, int] | None = None
    state: dict[str, JsonValue] = Field(default_factory=dict)


class SceneTimer(Record):
    """A timer of the Clock app; `started` is its start, in seconds since 1970."""

    hours: NonNegativeInt = 0
    minutes: NonNegativeInt = 0
    seconds: NonNegativeInt = 0
    name: str = "Timer"
    started: float | None = None


class Scene(Record):
    """The initial state of a simulated desktop; every field is optional.

    Attributes:
        files: Windows path to text, or to a `SceneFile`.
        registry: `key|name` to a string, a number, or a list of bytes.
        windows: A program's name, its words, or a `SceneWindow`; the last is in front.
        complete: The files and registry are complete: nothing of a fresh Windows is added.
    """

    now: dt.datetime = START
    screen: tuple[PositiveInt, PositiveInt] = SCREEN
    files: dict[str, str | SceneFile] = Field(default_factory=dict)
    folders: tuple[str, ...] = ()
    registry: dict[str, JsonValue] = Field(default_factory=dict)
    windows: tuple[str | tuple[str, ...] | SceneWindow, ...] = ()
    clipboard: str = ""
    timezone: str | None = None
    users: tuple[str, ...] = ()
    libraries: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    timers: tuple[SceneTimer, ...] | None = None
    world_clocks: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    complete: bool = False

    def build(self, *, seed: int = 0) -> Desktop:
        """Return a desktop in this state.

        Raises:
            InputError: A path, key, time zone or program is invalid.
        """
        now = self.now if self.now.tzinfo else self.now.replace(tzinfo=dt.timezone.utc)
        machine = Machine.fresh(seed=seed, now=now)
        try:
            if self.complete:
                machine.files.remove("C:\\Users", recursive=True)
            for folder in self.folders:
                machine.files.make_folder(normal(folder), parents=True, exist_ok=True)
            for path, file in self.files.items():
                _put(machine, path, file if isinstance(file, SceneFile) else SceneFile(text=file))
            for key, value in self.registry.items():
                path, _, name = key.rpartition("|")
                machine.registry.set(path, name, _data(value))
            machine.clipboard.text = self.clipboard
            machine.users += [user for user in self.users if user not in machine.users]
            machine.libraries |= {name: list(folders) for name, folders in self.libraries.items()}
            machine.world_clocks += [_place(text) for text in self.world_clocks]
            machine.extensions += self.extensions
            if self.timers is not None:
                machine.timers = [
                    Timer(t.hours, t.minutes, t.seconds, t.name, t.started) for t in self.timers
                ]
            if self.timezone is not None:
                machine.zone = _zone(self.timezone)
        except (OSError, ValueError, binascii.Error) as error:
            raise InputError(f"the scene cannot be built: {error}") from error
        desktop = Desktop(machine, self.screen)
        for window in self.windows:
            _open(desktop, window)
        machine.clock.set(now)
        return desktop


def load_scene(path: Path) -> Scene:
    """Read a scene from a YAML or JSON file.

    Raises:
        InputError: Names the file, the place in it and the problem.
    """
    try:
        data = parse_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path} is not YAML: {error}") from error
    try:
        return Scene.model_validate(data or {})
    except ValidationError as error:
        raise InputError(f"{path} is not a scene: {problems_of(error, Scene)}") from error


def snapshot(desktop: Desktop) -> Scene:
    """Return the scene that rebuilds this desktop; unsaved drawings are not part of it."""
    machine = desktop.machine
    entries = machine.files.entries()
    return Scene(
        now=machine.clock.now(),
        screen=desktop.size,
        files={e.path: _scene_file(e) for e in entries if not e.is_folder},
        folders=tuple(e.path for e in entries if e.is_folder and e.path != "C:\\"),
        registry={
            f"{key}|{v.name}": list(v.data) if isinstance(v.data, tuple) else v.data
            for key, v in machine.registry.everything()
        },
        windows=tuple(_scene_window(w) for w in desktop.windows if w.owner is None),
        clipboard=machine.clipboard.text,
        timezone=machine.zone.standard,
        users=tuple(machine.users),
        libraries={name: tuple(folders) for name, folders in machine.libraries.items()},
        timers=tuple(
            SceneTimer(
                hours=t.hours, minutes=t.minutes, seconds=t.seconds, name=t.name, started=t.started
            )
            for t in machine.timers
        ),
        world_clocks=tuple(", ".join(place) for place in machine.world_clocks),
        extensions=tuple(machine.extensions),
        complete=True,
    )


class _Titled(Window):
    """A window of which a scene gives only the title."""

    exe = "unknown.exe"
    cls = "Window"
    size = (640, 400)

    def __init__(self, desktop: Desktop, title: str) -> None:
        super().__init__(desktop)
        self.caption = title

    def build(self, ui: Builder) -> None:
        """Say that the window has no contents."""
        ui.label(
            self.frame.inset(20, 60),
            "This window is part of the scene and has no contents.",
            wrap=True,
        )


def _open(desktop: Desktop, given: str | tuple[str, ...] | SceneWindow) -> None:
    if isinstance(given, SceneWindow) and not given.launch:
        window: Window = desktop.open(_Titled(desktop, given.title or "Window"))
    else:
        words = (
            given.launch
            if isinstance(given, SceneWindow)
            else ((given,) if isinstance(given, str) else given)
        )
        before = set(desktop.windows)
        if not desktop.programs.launch(list(words)):
            raise InputError(
                f"the scene opens {' '.join(words)!r}, which no program of the simulation is"
            )
        if desktop.active is None or (
            not set(desktop.windows) - before and desktop.active not in before
        ):
            return
        window = desktop.active
    if isinstance(given, SceneWindow):
        window.restore_state(dict(given.state))
        window.maximized, window.minimized = given.maximized, given.minimized
        if given.rect is not None:
            window.rect = Rect(*given.rect)


def _put(machine: Machine, path: str, file: SceneFile) -> None:
    data = file.data
    now = machine.clock.timestamp() if file.modified is None else file.modified
    attributes = HIDDEN * file.hidden | READ_ONLY * file.read_only
    size = len(data) if file.size is None else max(file.size, len(data))
    machine.files.make_folder(ntpath.dirname(normal(path)), parents=True, exist_ok=True)
    machine.files.write(path, data)
    machine.files.restore_entry(
        FileEntry(normal(path), data, now, now, attributes, size, file.tags)
    )


def _scene_file(entry: FileEntry) -> SceneFile:
    return SceneFile(
        b64=base64.b64encode(entry.data or b"").decode(), hidden=bool(entry.attributes & HIDDEN),
        read_only=bool(entry.attributes & READ_ONLY), size=entry.size, modified=entry.modified, tags=entry.tags,
    )  # fmt: skip


def _scene_window(window: Window) -> SceneWindow:
    more = {
        "maximized": window.maximized,
        "minimized": window.minimized,
        "rect": tuple(window.rect),
    }
    if isinstance(window, _Titled):
        return SceneWindow.model_validate({"title": window.title, **more})
    state = window.saved_state()
    path = state.get("path")
    launch = (window.exe, path) if isinstance(path, str) else (window.exe,)
    return SceneWindow.model_validate({"launch": launch, "state": state, **more})


def _data(value: JsonValue) -> str | int | tuple[int, ...]:
    if isinstance(value, list):
        numbers = [each for each in value if isinstance(each, int)]
        return tuple(numbers)
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise ValueError(  # noqa: TRY004  # wrong input of a user
            f"a registry value is a string, a number or a list of bytes, not {value!r}"
        )
    return value


def _place(text: str) -> tuple[str, str]:
    city, _, country = text.partition(",")
    return city.strip(), country.strip()


def _zone(name: str) -> Any:
    for zone in TIME_ZONES:
        if name.casefold() in {zone.standard.casefold(), zone.display.casefold()}:
            return zone
    known = ", ".join(zone.standard for zone in TIME_ZONES)
    raise ValueError(f"there is no time zone {name!r}; known are {known}")
