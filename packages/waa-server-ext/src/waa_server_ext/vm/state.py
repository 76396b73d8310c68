"""The state of a VM as the evaluation cases describe it: one loader for fixture and desktop."""

from __future__ import annotations

import base64
import functools
from typing import Any

from pydantic import Field, JsonValue, PositiveInt, ValidationError

from bench_core.errors import InputError
from bench_core.records import Record


class VmFile(Record):
    """A file on the VM's disk.

    Attributes:
        encoding: Of `text`.
        hidden: Has the hidden attribute.
        locked: A program holds it open, so it cannot be read.
        mtime: Seconds since the epoch.
    """

    text: str | None = None
    b64: str | None = None
    encoding: str = "utf-8"
    hidden: bool = False
    locked: bool = False
    mtime: float | None = None

    @functools.cached_property
    def data(self) -> bytes:
        """The content."""
        return _content(self.text, self.b64, self.encoding)


class CloudFile(Record):
    """A file on the web that a task refers to; with a `status`, the answer instead of a file."""

    text: str | None = None
    b64: str | None = None
    status: int = 200

    @functools.cached_property
    def data(self) -> bytes:
        """The content."""
        return _content(self.text, self.b64, "utf-8")


class CommandRule(Record):
    """The answer to commands; the first rule whose `match` occurs in the joined command applies."""

    match: str
    output: str = ""
    error: str = ""
    returncode: int = 0
    http_status: int = 200
    body: JsonValue = None


class CannedAnswer(Record):
    """An endpoint's fixed answer to every request."""

    status: int = 200
    json_: JsonValue = Field(default=None, alias="json")
    text: str | None = None
    b64: str | None = None


class ScreenSize(Record):
    """The screen's size in pixels."""

    width: PositiveInt = 1440
    height: PositiveInt = 900


class VmState(Record):
    """Everything that getters and setup steps can ask of a VM; every field is optional.

    Attributes:
        files: Windows path to file; either slash, any case.
        dirs: Folders, besides those that files imply and those a fresh user has.
        registry: `path|name` to value.
        appx: Installed packages, as `Get-AppxPackage` lists them.
        windows: Titles of open windows.
        accessibility: Backend (`uia`, `win32`) to XML.
        endpoints: `POST /x` to an answer that overrides everything else.
        checks: Endpoints that answer yes or no: true, or the list of arguments for which the answer is yes.
        cloud: Name to file; tasks refer to it as `${CLOUD_BASE}/name`.
    """

    files: dict[str, VmFile] = Field(default_factory=dict)
    dirs: tuple[str, ...] = ()
    registry: dict[str, JsonValue] = Field(default_factory=dict)
    commands: tuple[CommandRule, ...] = ()
    platform: str = "Windows"
    timezone: dict[str, JsonValue] | None = None
    appx: tuple[dict[str, JsonValue], ...] = ()
    active_window_title: str | None = None
    windows: tuple[str, ...] = ()
    accessibility: dict[str, str] = Field(default_factory=dict)
    endpoints: dict[str, CannedAnswer] = Field(default_factory=dict)
    library_folders: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    checks: dict[str, JsonValue] = Field(default_factory=dict)
    wallpaper_b64: str | None = None
    screenshot_b64: str | None = None
    screen_size: ScreenSize = ScreenSize()
    cloud: dict[str, CloudFile] = Field(default_factory=dict)

    @classmethod
    def load(cls, value: Any) -> VmState:
        """Return the state that the JSON object `value` describes.

        Raises:
            InputError: Names the field that does not fit.
        """
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"])) or "vm_state"
            raise InputError(f"the vm_state does not fit: {where}: {first['msg']}") from error


def _content(text: str | None, b64: str | None, encoding: str) -> bytes:
    if b64 is not None:
        return base64.b64decode(b64)
    return (text or "").encode(encoding)
