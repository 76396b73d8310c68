"""The routes of WAA's VM that read, write and list files."""

from __future__ import annotations

import io
import ntpath
from collections.abc import Callable
from typing import Any

from flask import request, send_file

from waa_server_ext.simulate.api.state import ApiState
from waa_server_ext.simulate.desktop.recorder import png_bytes
from waa_server_ext.simulate.machine.filesystem import HOME, FileEntry, normal
from waa_server_ext.simulate.machine.wallpaper import wallpaper

Answer = Any
_DOWNLOADS = f"{HOME}\\Downloads"


def file_routes(api: ApiState) -> dict[tuple[str, str], Callable[[], Answer]]:
    """Return the handler of each (method, path)."""
    routes = _Files(api)
    return {
        ("POST", "/file"): routes.file,
        ("POST", "/list_directory"): routes.list_directory,
        ("POST", "/desktop_path"): lambda: routes.known_folder("desktop", 404),
        ("POST", "/documents_path"): lambda: routes.known_folder("documents", 400),
        ("POST", "/file_exists"): lambda: routes.exists("file"),
        ("POST", "/folder_exists"): lambda: routes.exists("folder"),
        ("POST", "/wallpaper"): routes.wallpaper,
        ("POST", "/setup/change_wallpaper"): routes.change_wallpaper,
        ("POST", "/setup/upload"): routes.upload,
        ("POST", "/setup/download_file"): routes.download_file,
        ("POST", "/setup/create_folder"): routes.create_folder,
        ("POST", "/setup/create_file"): routes.create_file,
        ("POST", "/setup/recycle"): routes.recycle,
        ("POST", "/setup/clear_task_files"): routes.clear_task_files,
    }


class _Files:
    def __init__(self, api: ApiState) -> None:
        self._api = api

    @property
    def _machine(self) -> Any:
        return self._api.desktop.machine

    def file(self) -> Answer:
        if "file_path" not in request.form:
            return {"error": "file_path is required"}, 400
        path = self._machine.expand(request.form["file_path"])
        found = self._machine.files.find(path)
        if found is None:
            return {"error": "File not found"}, 404
        if found.is_folder:
            raise PermissionError(13, "Permission denied", path)
        data = self._machine.files.read(path)
        return send_file(io.BytesIO(data), as_attachment=True, download_name=found.name)

    def list_directory(self) -> Answer:
        data = request.get_json()
        if "path" not in data:
            return {"error": "Missing 'path' parameter"}, 400
        if not data["path"] or not self._machine.files.is_folder(str(data["path"])):
            return {"error": "The provided path is not a directory"}, 400
        tree = self._tree(self._machine.files.entry(str(data["path"])))
        # the real server takes the name from the path as it was sent
        tree["name"] = ntpath.basename(str(data["path"]))
        return {"directory_tree": tree}

    def _tree(self, folder: FileEntry) -> dict[str, Any]:
        children = [
            self._tree(each) if each.is_folder else {"type": "file", "name": each.name}
            for each in self._machine.files.children(folder.path)
        ]
        return {"type": "directory", "name": folder.name, "children": children}

    def known_folder(self, kind: str, missing: int) -> Answer:
        path = f"{HOME}\\{kind.title()}"
        if self._machine.files.is_folder(path):
            return {f"{kind}_path": path}
        return {"error": f"Unsupported operating system or {kind} path not found"}, missing

    def exists(self, kind: str) -> Answer:
        data = request.json
        for field in (f"{kind}_name", "path"):
            if field not in data:
                return {"error": f"{field} required"}, 400
        name, folder = data[f"{kind}_name"], data["path"]
        path, files = ntpath.join(folder, name), self._machine.files
        word = kind.title()
        if files.is_file(path) if kind == "file" else files.is_folder(path):
            return {"status": "success", "message": f"{word} {name} exists in {folder}."}
        return {"status": "error", "message": f"{word} {name} does not exist in {folder}."}, 400

    def wallpaper(self) -> Answer:
        machine = self._machine
        if not machine.wallpaper:
            raise FileNotFoundError("404 Not Found: Wallpaper file not found")
        if machine.files.is_file(machine.wallpaper):
            return send_file(
                io.BytesIO(machine.files.read(machine.wallpaper)), mimetype="image/png"
            )
        return send_file(
            io.BytesIO(png_bytes(wallpaper(machine, self._api.desktop.size))), mimetype="image/png"
        )

    def change_wallpaper(self) -> Answer:
        path = request.json.get("path", None)
        if not path:
            return "Path not supplied!", 400
        path = self._machine.expand(str(path))
        if not self._machine.files.exists(path):
            return f"File not found: {path}", 404
        self._machine.registry.set("HKCU\\Control Panel\\Desktop", "WallPaper", normal(path))
        return "Wallpaper changed successfully"

    def upload(self) -> Answer:
        if "file_path" not in request.form or "file_data" not in request.files:
            return {"error": "file_path and file_data are required"}, 400
        path = self._machine.expand(request.form["file_path"])
        self._machine.files.write(path, request.files["file_data"].read())
        return "File Uploaded"

    def download_file(self) -> Answer:
        data = request.json
        url, path = data.get("url", None), data.get("path", None)
        if not url or not path:
            return "Path or URL not supplied!", 400
        path = self._machine.expand(str(path))
        self._machine.files.make_folder(ntpath.dirname(normal(path)), parents=True, exist_ok=True)
        content = self._api.download(str(url))
        if content is None:
            return (
                f"Failed to download {url}. No retries left. Error: the simulated VM has no network",
                500,
            )
        self._machine.files.write(path, content)
        return "File downloaded successfully"

    def create_folder(self) -> Answer:
        data = request.json
        if "path" not in data:
            return {"error": "path required"}, 400
        path = data["path"]
        try:
            self._machine.files.make_folder(str(path), parents=True)
        except FileExistsError:
            return {"status": "success", "message": f"{path} already exists."}
        except OSError:
            return {"status": "error", "message": f"Failed to create {path}."}, 400
        return {"status": "success", "message": f"{path} created."}

    def create_file(self) -> Answer:
        data = request.json
        if "path" not in data:
            return {"error": "path required"}, 400
        path = normal(str(data["path"]))
        files = self._machine.files
        if files.is_folder(path):
            return {"status": "error", "message": "path is not a file"}, 400
        try:
            files.make_folder(ntpath.dirname(path), parents=True, exist_ok=True)
            # Windows' text mode writes CRLF
            files.write(path, str(data.get("content", "")).replace("\n", "\r\n").encode("cp1252"))
        except UnicodeEncodeError:
            files.write(path, b"")  # opening it has truncated it before the encoding fails
            return {"status": "error", "message": f"Failed to create {path}."}, 400
        except OSError:
            return {"status": "error", "message": f"Failed to create {path}."}, 400
        return {"status": "success", "message": f"{path} created."}

    def recycle(self) -> Answer:
        data = request.json
        if "path" not in data:
            return {"error": "Missing 'path' parameter"}, 400
        try:
            self._machine.files.recycle(str(data["path"]))
        except OSError:
            return {"status": "error", "message": f"Failed to recycle {data['path']}"}, 400
        return {"status": "success", "message": f"{data['path']} recycled"}

    def clear_task_files(self) -> Answer:
        files = self._machine.files
        shown = repr(_DOWNLOADS)
        entries = files.children(_DOWNLOADS)
        removed = [entry.path for entry in entries if not entry.is_folder]
        failed = [entry.path for entry in entries if entry.is_folder]
        for path in removed:
            files.remove(path)
        if failed and removed:
            return f"Failed to remove ({failed}) but sucessfully cleared ({removed}) from {shown}."
        if failed:
            return f"Failed to remove ({failed}) from {shown}."
        return (
            f"All task files ({removed}) cleared successfully from {shown}."
            if removed
            else f"No task files to clear from {shown}."
        )
