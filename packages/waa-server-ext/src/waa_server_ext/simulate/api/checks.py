"""The routes of WAA's VM that look at windows: File Explorer's view, timers, world clocks, tags."""

from __future__ import annotations

import ntpath
import re
from collections.abc import Callable
from typing import Any

from flask import request

from waa_server_ext.simulate.api.state import ApiState
from waa_server_ext.simulate.desktop.composition import Desktop
from waa_server_ext.simulate.ui.nodes import Node, walk

Answer = Any
_PICTURES = ("jpg", "jpeg", "tiff")


def check_routes(api: ApiState) -> dict[tuple[str, str], Callable[[], Answer]]:
    """Return the handler of each (method, path); a handler answers 200 for yes and 400 for no."""

    def checked(
        name: str,
        fields: tuple[str, ...],
        check: Callable[[Desktop, dict[str, Any]], bool],
        extra: dict[str, Any] | None = None,
    ) -> Callable[[], Answer]:
        def answer() -> Answer:
            data = request.json
            for field in fields:
                if field not in data:
                    return {"error": f"{field} is required"}, 400
            holds = check(api.desktop, data)
            words = name.replace("_", " ")
            more = dict.fromkeys(extra or {}, holds)
            if holds:
                return {"status": "success", "message": f"yes: {words}", **more}
            return {"status": "error", "message": f"no: {words}", **more}, 400

        return answer

    return {
        ("POST", "/is_details_view"): checked(
            "is_details_view", ("path",), _is_details_view, {"is_details_view": True}
        ),
        ("POST", "/are_files_sorted_by_modified_time"): checked(
            "are_files_sorted_by_modified_time", ("directory",), _are_sorted
        ),
        ("POST", "/is_directory_read_only_for_user"): checked(
            "is_directory_read_only_for_user", ("directory", "user"), _is_read_only
        ),
        ("POST", "/are_all_images_tagged"): checked(
            "are_all_images_tagged", ("directory", "tag"), _are_tagged
        ),
        ("POST", "/check_if_timer_started"): checked(
            "check_if_timer_started", ("hours", "minutes", "seconds"), _timer_runs
        ),
        ("POST", "/check_if_world_clock_exists"): checked(
            "check_if_world_clock_exists", ("city", "country"), _clock_shown
        ),
        ("POST", "/library_folders"): lambda: _library_folders(api),
    }


def _foreground(desktop: Desktop) -> list[Node]:
    tree = desktop.tree_of(desktop.active) if desktop.active is not None else None
    return list(walk(tree)) if tree is not None else []


def _file_panel(desktop: Desktop) -> list[Node]:
    """Return the direct children of the list in the foreground File Explorer, as UI Automation finds them."""
    panel = next((node for node in _foreground(desktop) if node.name == "Shell Folder View"), None)
    items = panel.children[0] if panel is not None and panel.children else None
    return items.children if items is not None else []


def _is_details_view(desktop: Desktop, data: dict[str, Any]) -> bool:
    folder, files = str(data["path"]), desktop.machine.files
    return any(
        node.name == "Header" and not files.exists(ntpath.join(folder, "Header"))
        for node in _file_panel(desktop)
    )


def _are_sorted(desktop: Desktop, data: dict[str, Any]) -> bool:
    folder, files = str(data["directory"]), desktop.machine.files
    shown = [
        node.name for node in _file_panel(desktop) if files.exists(ntpath.join(folder, node.name))
    ]
    known = []
    for name in shown:
        entry = files.entry(ntpath.join(folder, name))
        known.append((name, int(entry.modified), entry.is_folder))
    newest = [name for name, _, _ in sorted(known, key=lambda each: (each[2], -each[1], each[0]))]
    oldest = [name for name, _, _ in sorted(known, key=lambda each: (-each[2], each[1], each[0]))]
    return shown in (newest, oldest)


def _is_read_only(desktop: Desktop, data: dict[str, Any]) -> bool:
    return str(data["user"]) in desktop.machine.files.entry(str(data["directory"])).readers


def _are_tagged(desktop: Desktop, data: dict[str, Any]) -> bool:
    inside = desktop.machine.files.children(str(data["directory"]))
    pictures = [entry for entry in inside if entry.name.lower().endswith(_PICTURES)]
    return all(str(data["tag"]) in entry.tags for entry in pictures)


def _maximized(desktop: Desktop) -> list[Node]:
    """Return the foreground window's elements after WAA's own press on "Maximize Clock"."""
    active = desktop.active
    if active is not None and active.frame_suffix == " Clock" and not active.maximized:
        active.maximized = True
        desktop.touch()
    return _foreground(desktop)


def _timer_runs(desktop: Desktop, data: dict[str, Any]) -> bool:
    try:
        numbers = [
            (int(data[field]), data[field], field[:-1]) for field in ("hours", "minutes", "seconds")
        ]
    except (TypeError, ValueError):
        return False
    wanted = " ".join(
        f"{shown} {word}{'' if number == 1 else 's'}" for number, shown, word in numbers
    )
    # WAA takes the first timer of that length and no other
    timer = next(
        (node for node in _maximized(desktop) if re.match(f".*{re.escape(wanted)}.*", node.name)),
        None,
    )
    return timer is not None and any(node.name == "Timer running, Pause" for node in walk(timer))


def _clock_shown(desktop: Desktop, data: dict[str, Any]) -> bool:
    wanted = f"{data['city']}, {data['country']}"
    return any(wanted in node.name for node in _maximized(desktop))


def _library_folders(api: ApiState) -> Answer:
    data = request.json
    if "library_name" not in data:
        return {"error": "library_name is required"}, 400
    folders = api.desktop.machine.libraries.get(str(data["library_name"]))
    if folders is None:
        return {"error": f"{data['library_name']} does not exist"}, 400
    return {"status": "success", "output": sorted(folders)}
