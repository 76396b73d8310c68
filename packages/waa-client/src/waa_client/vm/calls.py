"""Every route of WAA's server as a call, with results that hide its quirks.

Source: `vm/setup/server/main.py` of microsoft/WindowsAgentArena @ 6d39ed8 and of
WindowsAgentArena-V2 @ 2927fe5, which are the same. Example::

    with SyncVmClient("20.20.20.21") as vm:
        picture = vm.send(calls.screenshot())
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, Literal

from waa_client.vm import readers
from waa_client.vm.answers import (
    ActionOutcome,
    CommandOutcome,
    DirectoryEntry,
    ServerInfo,
    SetupOutcome,
    VmPicture,
    WindowView,
)
from waa_client.vm.wire import VmCall

__all__ = [
    "accessibility",
    "activate_window",
    "are_all_images_tagged",
    "are_files_sorted_by_modified_time",
    "change_wallpaper",
    "check_if_timer_started",
    "check_if_world_clock_exists",
    "clear_task_files",
    "close_all",
    "close_window",
    "create_file",
    "create_folder",
    "cursor_position",
    "desktop_path",
    "documents_path",
    "download_file",
    "end_recording",
    "execute",
    "execute_windows",
    "file",
    "file_exists",
    "folder_exists",
    "is_details_view",
    "is_directory_read_only_for_user",
    "launch",
    "library_folders",
    "list_directory",
    "obs_winagent",
    "open_file",
    "platform",
    "probe",
    "recycle",
    "revert_to_snapshot",
    "save_state",
    "screen_size",
    "screenshot",
    "setup_execute",
    "shutdown",
    "simulation",
    "start_recording",
    "terminal",
    "update_computer",
    "upload",
    "wallpaper",
    "window_size",
]

# The server ends a command after 120 s, the file routes read the disk, UIA trees take minutes (vanilla's
# client waits 300 s for one).
_COMMAND_S = 135.0
_CODE_S = 90.0
_FILE_S = 120.0
_TREE_S = 300.0
_QUICK_S = 10.0

Backend = Literal["win32", "uia"]


def probe() -> VmCall[ServerInfo]:
    """Ask whether the server answers, and for its world."""
    return VmCall("GET", "/probe", readers.server_info, repeatable=True, timeout_s=_QUICK_S)


def platform() -> VmCall[str]:
    """Ask for the operating system: `Windows`."""
    return VmCall("GET", "/platform", readers.text, repeatable=True, timeout_s=_QUICK_S)


def screenshot() -> VmCall[VmPicture]:
    """Take a screenshot of the whole screen with the pointer; the server sends it as raw PNG."""
    return VmCall("GET", "/screenshot", readers.picture, repeatable=True)


def screen_size() -> VmCall[tuple[int, int]]:
    """Ask for width and height of the screen in pixels."""
    return VmCall("POST", "/screen_size", readers.size, repeatable=True, timeout_s=_QUICK_S)


def obs_winagent() -> VmCall[WindowView]:
    """Ask for the foreground window; fails while Windows shows its secure desktop."""
    return VmCall("GET", "/obs_winagent", readers.window_view, repeatable=True)


def accessibility(backend: Backend = "win32", *, timeout_s: float = _TREE_S) -> VmCall[str]:
    """Read the accessibility tree as XML; `uia` finds more and takes up to minutes."""
    params = {"backend": backend}
    return VmCall(
        "GET", "/accessibility", readers.tree, params=params, repeatable=True, timeout_s=timeout_s
    )


def update_computer(
    rects: Sequence[Sequence[int]],
    window_rect: Sequence[int],
    png: bytes,
    *,
    scale: tuple[float, float] = (1.0, 1.0),
    clipboard_content: str | None = None,
    swap_ctrl_alt: bool = False,
) -> VmCall[None]:
    """Send the elements' rects for code blocks, as WAA's own agent does before it acts.

    Args:
        rects: Left, top, right, bottom of each element, in pixels of the picture; the index is its id.
        window_rect: Left, top, right, bottom of the rect whose fractions `move_abs` takes.
        png: The picture; the server refuses an empty one.
        scale: Factors from the picture's pixels to the screen's, applied to rects only.
        clipboard_content: The text that code blocks copied last.
        swap_ctrl_alt: Whether copy and paste use alt instead of ctrl.
    """
    body = {
        "rects": [list(rect) for rect in rects],
        "window_rect": list(window_rect),
        "screenshot": base64.b64encode(png).decode("ascii"),
        # without it every later move to an element raises
        "scale": list(scale),
        "clipboard_content": clipboard_content,
        "swap_ctrl_alt": swap_ctrl_alt,
    }
    return VmCall("POST", "/update_computer", readers.nothing, json=body, repeatable=True)


def execute_windows(code: str, *, timeout_s: float = _CODE_S) -> VmCall[ActionOutcome]:
    """Run a code block in the server, which defines `computer`; its output is not returned.

    The server reports a failure when it raises, and also when it prints "error".
    """
    return VmCall(
        "POST", "/execute_windows", readers.action, json={"command": code}, timeout_s=timeout_s
    )


def execute(
    command: Sequence[str] | str, *, shell: bool = False, timeout_s: float = _COMMAND_S
) -> VmCall[CommandOutcome]:
    """Run a command in a new process, for at most 120 s.

    A string without `shell` is split as on POSIX, which drops backslashes: pass a list.
    """
    return _execute("/execute", command, shell=shell, timeout_s=timeout_s)


def setup_execute(
    command: Sequence[str] | str, *, shell: bool | str = False
) -> VmCall[CommandOutcome]:
    """Run a command like `execute`, under the name that setup steps use."""
    return _execute("/setup/execute", command, shell=shell, timeout_s=_COMMAND_S)


def desktop_path() -> VmCall[str | None]:
    """Ask for the user's desktop folder; None if the server does not know it."""
    return VmCall("POST", "/desktop_path", readers.field_or_null("desktop_path"), repeatable=True)


def documents_path() -> VmCall[str | None]:
    """Ask for the user's documents folder; None if the server does not know it."""
    return VmCall(
        "POST", "/documents_path", readers.field_or_null("documents_path"), repeatable=True
    )


def list_directory(path: str) -> VmCall[DirectoryEntry | None]:
    """List a folder and everything below it; None if it is not a folder."""
    return VmCall(
        "POST", "/list_directory", readers.directory, json={"path": path}, repeatable=True,
        timeout_s=_FILE_S,
    )  # fmt: skip


def file(path: str) -> VmCall[bytes | None]:
    """Fetch a file; None if it does not exist. Variables like %APPDATA% and `~` are expanded.

    A locked file or a folder is a 500, hence an error.
    """
    form = {"file_path": path}
    return VmCall("POST", "/file", readers.file, form=form, repeatable=True, timeout_s=_FILE_S)


def file_exists(folder: str, name: str) -> VmCall[bool]:
    """Ask whether a file is in a folder."""
    return _question("/file_exists", path=folder, file_name=name)


def folder_exists(folder: str, name: str) -> VmCall[bool]:
    """Ask whether a folder is in a folder."""
    return _question("/folder_exists", path=folder, folder_name=name)


def is_details_view(path: str) -> VmCall[bool]:
    """Ask whether File Explorer shows a folder in details view."""
    return _question("/is_details_view", path=path)


def are_files_sorted_by_modified_time(folder: str) -> VmCall[bool]:
    """Ask whether File Explorer shows a folder's files sorted by time."""
    return _question("/are_files_sorted_by_modified_time", directory=folder)


def is_directory_read_only_for_user(folder: str, user: str) -> VmCall[bool]:
    """Ask whether a user may only read a folder."""
    return _question("/is_directory_read_only_for_user", directory=folder, user=user)


def are_all_images_tagged(folder: str, tag: str) -> VmCall[bool]:
    """Ask whether all JPEG and TIFF files of a folder have a tag."""
    return _question("/are_all_images_tagged", directory=folder, tag=tag)


def check_if_timer_started(hours: str, minutes: str, seconds: str) -> VmCall[bool]:
    """Ask whether the Clock has a timer of this length."""
    return _question("/check_if_timer_started", hours=hours, minutes=minutes, seconds=seconds)


def check_if_world_clock_exists(city: str, country: str) -> VmCall[bool]:
    """Ask whether the Clock shows this city."""
    return _question("/check_if_world_clock_exists", city=city, country=country)


def library_folders(name: str) -> VmCall[tuple[str, ...] | None]:
    """List the folders of a Windows library; None if it does not exist."""
    body = {"library_name": name}
    return VmCall("POST", "/library_folders", readers.library, json=body, repeatable=True)


def wallpaper() -> VmCall[bytes]:
    """Fetch the wallpaper's file; the server fails if there is none."""
    return VmCall("POST", "/wallpaper", readers.content, repeatable=True, timeout_s=_FILE_S)


def launch(command: Sequence[str] | str, *, shell: bool | str = False) -> VmCall[SetupOutcome]:
    """Start a program in a shell; succeeds even if the program does not exist."""
    # the server runs it in a shell, whatever `shell` is
    return _setup("/setup/launch", command=_listed(command), shell=shell)


def open_file(path: str) -> VmCall[SetupOutcome]:
    """Open a file with its program; takes five seconds."""
    return _setup("/setup/open_file", path=path)


def activate_window(
    name: str, *, strict: bool = False, by_class: bool = False
) -> VmCall[SetupOutcome]:
    """Bring the first window whose title contains `name` to the front; without `strict` it does nothing."""
    return _setup("/setup/activate_window", window_name=name, strict=strict, by_class=by_class)


def close_window(
    name: str, *, strict: bool = False, by_class: bool = False
) -> VmCall[SetupOutcome]:
    """Close the first window whose title contains `name`; with `strict` it never finds one."""
    return _setup("/setup/close_window", window_name=name, strict=strict, by_class=by_class)


def close_all() -> VmCall[SetupOutcome]:
    """Close all windows; the server often fails half-way, which WAA ignores."""
    return _setup("/setup/close_all")


def clear_task_files() -> VmCall[SetupOutcome]:
    """Delete the files, not the folders, in the user's downloads."""
    return _setup("/setup/clear_task_files")


def upload(path: str, data: bytes) -> VmCall[SetupOutcome]:
    """Write a file; its folder must exist."""
    name = path.replace("\\", "/").rsplit("/", 1)[-1]
    return VmCall(
        "POST", "/setup/upload", readers.setup_outcome, form={"file_path": path}, file=(name, data),
        timeout_s=_FILE_S,
    )  # fmt: skip


def download_file(url: str, path: str) -> VmCall[SetupOutcome]:
    """Have the VM download a URL into a file; three tries."""
    return _setup("/setup/download_file", url=url, path=path)


def create_folder(path: str) -> VmCall[SetupOutcome]:
    """Make a folder; one that exists is fine."""
    return _setup("/setup/create_folder", path=path)


def create_file(path: str, content: str = "") -> VmCall[SetupOutcome]:
    """Write a text file."""
    return _setup("/setup/create_file", path=path, content=content)


def recycle(path: str) -> VmCall[SetupOutcome]:
    """Move a file to the recycle bin."""
    return _setup("/setup/recycle", path=path)


def change_wallpaper(path: str) -> VmCall[SetupOutcome]:
    """Show a picture as wallpaper."""
    return _setup("/setup/change_wallpaper", path=path)


def start_recording() -> VmCall[SetupOutcome]:
    """Start recording the screen to a file on the VM."""
    return _setup("/start_recording")


def end_recording() -> VmCall[SetupOutcome]:
    """Stop recording; the message names the file on the VM, the video is not returned."""
    return _setup("/end_recording")


def revert_to_snapshot() -> VmCall[bool]:
    """Ask for a reset; WAA's server has none and answers 501, for which this returns False."""
    return VmCall("POST", "/revert_to_snapshot", readers.reverted)


def simulation(act: Literal["reset", "keep", "restore"]) -> VmCall[None]:
    """Reset a simulated desktop to its initial state, or keep its state and restore it; real VMs lack these routes."""
    return VmCall("POST", f"/simulation/{act}", readers.nothing, json={}, repeatable=True)


def save_state(name: str) -> VmCall[SetupOutcome]:
    """Ask for a snapshot; WAA's server has a bug there and always fails."""
    form = {"snapshot_name": name}
    return VmCall("POST", "/save_state", readers.setup_outcome, form=form, timeout_s=_COMMAND_S)


def shutdown() -> VmCall[str]:
    """Turn the VM off, two seconds from now."""
    return VmCall("POST", "/shutdown", readers.message)


def terminal() -> VmCall[str]:
    """Read the terminal's text; on Windows the server always fails."""
    return VmCall("GET", "/terminal", readers.field("output"), repeatable=True)


def cursor_position() -> VmCall[tuple[int, int]]:
    """Ask where the pointer is; WAA's server has a bug there and always fails."""
    return VmCall("GET", "/cursor_position", readers.pair, repeatable=True)


def window_size(app_class_name: str) -> VmCall[tuple[int, int]]:
    """Ask for a window's size by its X11 class; on Windows the server always fails."""
    form = {"app_class_name": app_class_name}
    return VmCall("POST", "/window_size", readers.size, form=form, repeatable=True)


def _execute(
    path: str, command: Sequence[str] | str, *, shell: bool | str, timeout_s: float
) -> VmCall[CommandOutcome]:
    # some tasks send "true" for `shell`, which the server takes as true
    body = {"command": _listed(command), "shell": shell}
    return VmCall("POST", path, readers.command, json=body, timeout_s=timeout_s)


def _question(route: str, /, **body: str) -> VmCall[bool]:
    return VmCall("POST", route, readers.yes_or_no, json=body, repeatable=True, timeout_s=_FILE_S)


def _setup(route: str, /, **body: Any) -> VmCall[SetupOutcome]:
    return VmCall("POST", route, readers.setup_outcome, json=body, timeout_s=_COMMAND_S)


def _listed(command: Sequence[str] | str) -> str | list[str]:
    return command if isinstance(command, str) else list(command)
