"""Readers of the answers of WAA's server: one function per shape, with the server's quirks."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any

from bench_core.records import World
from waa_client.errors import TreeUnreadableError, VmAnswerError
from waa_client.vm.answers import (
    ActionOutcome,
    CommandOutcome,
    DirectoryEntry,
    ServerInfo,
    SetupOutcome,
    VmPicture,
    WindowView,
    png_size,
)
from waa_client.vm.wire import VmAnswer, refusal

_BAD_REQUEST = 400
_NOT_FOUND = 404
_FAILED = 500
_SNAPSHOTS_MISSING = 501
# pywinauto's and Python's messages if the VM lacks the packages that read trees
_NO_BACKEND = re.compile(r"Backend .* is not registered|No module named")


def _failed_itself(answer: VmAnswer) -> bool:
    """Return whether WAA's own server reports a failure, rather than something between it and us."""
    return answer.status == _FAILED and answer.object().get("status") == "error"


def text(answer: VmAnswer) -> str:
    """Read text."""
    return answer.demand().text


def content(answer: VmAnswer) -> bytes:
    """Read raw bytes."""
    return answer.demand().content


def nothing(answer: VmAnswer) -> None:
    """Demand success and read nothing."""
    answer.demand()


def message(answer: VmAnswer) -> str:
    """Read the `message` of a JSON object."""
    return str(answer.demand().object().get("message", ""))


def server_info(answer: VmAnswer) -> ServerInfo:
    """Read a server's report of itself."""
    body = answer.demand().object()
    world: World = "built-in" if body.get("world") == "built-in" else "real"
    return ServerInfo(message=str(body.get("message", "")), world=world)


def field(name: str) -> Callable[[VmAnswer], str]:
    """Return a reader of the text `name` of a JSON object."""

    def read(answer: VmAnswer) -> str:
        value = answer.demand().object().get(name)
        if not isinstance(value, str):
            raise VmAnswerError(answer.url, f"no {name} in {answer.shown()}")
        return value

    return read


def field_or_null(name: str) -> Callable[[VmAnswer], str | None]:
    """Return a reader of the text `name`; 400 and 404 mean that it does not exist."""

    def read(answer: VmAnswer) -> str | None:
        return None if answer.status in {_BAD_REQUEST, _NOT_FOUND} else field(name)(answer)

    return read


def picture(answer: VmAnswer) -> VmPicture:
    """Read a raw PNG and check that it is complete."""
    data = answer.demand().content
    try:
        # an incomplete picture would be a wrong observation, without any sign of it for the agent
        return VmPicture(data=data, size=png_size(data))
    except ValueError as error:
        raise VmAnswerError(answer.url, str(error)) from error


def size(answer: VmAnswer) -> tuple[int, int]:
    """Read width and height."""
    body = answer.demand().object()
    width, height = body.get("width"), body.get("height")
    if not (isinstance(width, int) and isinstance(height, int) and width > 0 and height > 0):
        raise VmAnswerError(answer.url, f"no width and height in {answer.shown()}")
    return width, height


def pair(answer: VmAnswer) -> tuple[int, int]:
    """Read two numbers."""
    value = answer.demand().json()
    if not (isinstance(value, list) and [type(each) for each in value] == [int, int]):
        raise VmAnswerError(answer.url, f"no two numbers: {answer.shown()}")
    return value[0], value[1]


def window_view(answer: VmAnswer) -> WindowView:
    """Read the foreground window."""
    body = answer.demand().object()
    try:
        left, top, right, bottom = (int(each) for each in body["rect"])
        image = base64.b64decode(body.get("image") or "", validate=True)
        if image:
            png_size(image)
        return WindowView(
            title=str(body["window_title"]),
            rect=(left, top, right, bottom),
            # the server joins the titles with line breaks
            windows=tuple(filter(None, str(body.get("window_names_str") or "").split("\n"))),
            clipboard=_text_or_null(body.get("computer_clipboard")),
            human_input=_text_or_null(body.get("human_input")),
            image=image,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise VmAnswerError(answer.url, f"no view of a window: {answer.shown()}") from error


def _text_or_null(value: object) -> str | None:
    return value if isinstance(value, str) else None


def tree(answer: VmAnswer) -> str:
    """Read the XML, which the server wraps in JSON.

    Raises:
        TreeUnreadableError: Its 500 is about the current screen, not about the means of reading it.
    """
    if _failed_itself(answer) and not _NO_BACKEND.search(refusal(answer)):
        raise TreeUnreadableError(answer.url, f"HTTP {answer.status}: {refusal(answer)}")
    return field("AT")(answer)


def action(answer: VmAnswer) -> ActionOutcome:
    """Read a block's outcome: a 500 in the server's own form is the code's failure, not the VM's."""
    if _failed_itself(answer):
        return ActionOutcome(ok=False, error=refusal(answer))
    answer.demand()
    return ActionOutcome()


def command(answer: VmAnswer) -> CommandOutcome:
    """Read a command's outcome: a 200 if it ended, whatever its return code; a 500 if it did not end."""
    if _failed_itself(answer):
        return CommandOutcome(started=False, error=refusal(answer))
    body = answer.demand().object()
    code = body.get("returncode")
    if not isinstance(code, int):
        raise VmAnswerError(answer.url, f"no returncode in {answer.shown()}")
    output, error = str(body.get("output") or ""), str(body.get("error") or "")
    return CommandOutcome(output=output, error=error, returncode=code)


def yes_or_no(answer: VmAnswer) -> bool:
    """Read yes or no; no is a 400, as for missing fields, which calls never have."""
    if answer.status == _BAD_REQUEST and answer.object().get("status") == "error":
        return False
    answer.demand()
    return True


def library(answer: VmAnswer) -> tuple[str, ...] | None:
    """Read the folders of a library; 400 means that it does not exist."""
    if answer.status == _BAD_REQUEST:
        return None
    folders = answer.demand().object().get("output")
    if not isinstance(folders, list):
        raise VmAnswerError(answer.url, f"no folders in {answer.shown()}")
    return tuple(map(str, folders))


def file(answer: VmAnswer) -> bytes | None:
    """Read a file; 404 means that it does not exist."""
    return None if answer.status == _NOT_FOUND else answer.demand().content


def directory(answer: VmAnswer) -> DirectoryEntry | None:
    """Read a folder with everything below it; 400 means that it is not a folder."""
    if answer.status == _BAD_REQUEST:
        return None
    return _entry(answer, answer.demand().object().get("directory_tree"))


def _entry(answer: VmAnswer, node: Any) -> DirectoryEntry:
    if not isinstance(node, dict):
        raise VmAnswerError(answer.url, f"no folder tree: {answer.shown()}")
    # an unreadable folder is an `error` among its siblings, not a failure of the call
    if "error" in node:
        return DirectoryEntry(folder=True, error=str(node["error"]))
    children = tuple(_entry(answer, each) for each in node.get("children") or ())
    folder = node.get("type") == "directory"
    return DirectoryEntry(name=str(node.get("name", "")), folder=folder, children=children)


def setup_outcome(answer: VmAnswer) -> SetupOutcome:
    """Read whether a setup route succeeded; no answer of it is an error, because vanilla ignores failures."""
    shown = answer.text.strip() if answer.ok else refusal(answer)
    return SetupOutcome(ok=answer.ok, status=answer.status, message=shown)


def reverted(answer: VmAnswer) -> bool:
    """Read whether there are snapshots."""
    if answer.status == _SNAPSHOTS_MISSING:
        return False
    answer.demand()
    return True
