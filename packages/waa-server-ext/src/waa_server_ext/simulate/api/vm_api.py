"""The HTTP API of WAA's VM over a simulated desktop, with the answers and the quirks of the real one."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from flask import Flask, Response, request
from PIL import Image
from werkzeug.test import create_environ, run_wsgi_app

from waa_server_ext.python_subset.budget import Budget
from waa_server_ext.python_subset.values import StopRunning
from waa_server_ext.simulate.api import checks as vm_checks
from waa_server_ext.simulate.api.control import control_routes
from waa_server_ext.simulate.api.files import file_routes
from waa_server_ext.simulate.api.programs import execute, launch
from waa_server_ext.simulate.api.state import ApiState
from waa_server_ext.simulate.code.cmd import CmdShell
from waa_server_ext.simulate.code.computer import ComputerUpdate, open_titles
from waa_server_ext.simulate.code.python import ServerProcess
from waa_server_ext.simulate.desktop.accessibility import accessibility_xml
from waa_server_ext.simulate.desktop.composition import Desktop
from waa_server_ext.simulate.desktop.recorder import png_bytes, screen_png
from waa_server_ext.simulate.scene import Scene
from waa_server_ext.vm.probe import PROBE

_REQUEST_S = 1.0
"""Simulated seconds per request, so that files written by two requests differ in their timestamps."""
_MAX_BODY = 128 * 2**20
_EXECUTE = ("/execute", "/setup/execute")
_OPEN_FILE_S = 5.0  # the real server sleeps that long
_ENDED = "the program took too much time or memory and was ended"
Answer = Any


NO_ANSWER = "999 NO ANSWER"
"""The status that stands for no answer: WAA's server catches only `Exception`, so `SystemExit` gives none."""


class VmApi(ApiState):
    """One desktop behind one Flask application; it answers one request at a time, as a VM has one screen.

    Args:
        scene: The start of the desktop, now and after a reset.
        seed: Seeds the random numbers of programs.
        download: Returns the contents of a URL; without it, downloads fail.
        guard: Makes the context manager that limits a request which runs programs; see `limited`.
    """

    def __init__(
        self, scene: Scene | None = None, seed: int = 0,
        download: Callable[[str], bytes | None] | None = None, *,
        guard: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:  # fmt: skip
        self._scene = scene or Scene()
        self._seed = seed
        self._guard = guard
        self._runs = True
        super().__init__(self._scene.build(seed=seed), download or _no_network)
        self.update: ComputerUpdate | None = None
        self._settings: dict[str, Any] = {}
        self.recording = False
        app = Flask(__name__)
        app.debug = True  # as in WAA's server: its answers then name the fault in JSON
        app.config["MAX_CONTENT_LENGTH"] = _MAX_BODY
        app.register_error_handler(Exception, _failed)
        app.register_blueprint(control_routes(self.reset))
        routes: dict[tuple[str, str], Callable[[], Answer]] = {
            ("GET", "/probe"): lambda: PROBE,
            ("POST", "/update_computer"): self.update_computer,
            ("GET", "/screenshot"): self.screenshot,
            ("GET", "/obs_winagent"): self.obs_winagent,
            ("GET", "/accessibility"): self.accessibility,
            ("POST", "/screen_size"): self.screen_size,
            ("POST", "/window_size"): self.window_size,
            ("GET", "/platform"): lambda: "Windows",
            ("GET", "/terminal"): lambda: (
                "Currently not implemented for platform Windows-11-10.0.22621-SP0.",
                500,
            ),
            ("GET", "/cursor_position"): self.cursor_position,
            ("POST", "/shutdown"): lambda: dict.fromkeys(
                ("status", "message"), "Shutdown started successfully"
            ),
            ("POST", "/start_recording"): self.start_recording,
            ("POST", "/end_recording"): self.end_recording,
            ("POST", "/save_state"): self.save_state,
            ("POST", "/revert_to_snapshot"): lambda: (
                {"error": "Restore snapshot no implemented"},
                501,
            ),
            **{("POST", path): partial(self._program, execute) for path in _EXECUTE},
            ("POST", "/execute_windows"): partial(self._program, self._execute_windows),
            ("POST", "/setup/launch"): partial(self._program, launch),
            ("POST", "/setup/open_file"): self.open_file,
            ("POST", "/setup/activate_window"): self.activate_window,
            ("POST", "/setup/close_window"): self.close_window,
            ("POST", "/setup/close_all"): self.close_all,
            **vm_checks.check_routes(self),
            **file_routes(self),
        }
        for (method, path), handler in routes.items():
            view = partial(self._view, method, path, handler)
            app.add_url_rule(path, f"{method} {path}", view, methods=[method])
        self.app = app

    def respond(
        self, environ: dict[str, str], body: bytes, runs: bool
    ) -> tuple[str, list[tuple[str, str]], bytes]:
        """Answer an HTTP request: return the status, the headers and the body.

        With `runs` false, its programs are not run but answered as if they had been ended.
        """
        self._runs = runs
        whole = create_environ(input_stream=io.BytesIO(body), environ_overrides=environ)
        parts, status, headers = run_wsgi_app(self.app, whole)
        return status, list(headers), b"".join(parts)

    def reset(self, scene: Scene | None = None) -> None:
        """Go back to the start, or to another scene, as after restoring a snapshot of the VM."""
        self._scene = scene or self._scene
        self.desktop = self._scene.build(seed=self._seed)
        self.update, self._settings, self.recording = None, {}, False

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function with the desktop as its first argument; return the result."""
        return function(self.desktop, *arguments)

    def _view(self, method: str, path: str, handler: Callable[[], Answer]) -> Answer:
        try:
            with Budget.shared():
                answer = handler()
        except StopRunning as stopped:
            answer = {"status": "error", "message": str(stopped)}, 500
            if path in _EXECUTE:  # a program that fails is a success there
                error = f"RuntimeError: {stopped}\n"
                answer = {"status": "success", "output": "", "error": error, "returncode": 1}
        if method != "GET":
            # after the request, so that the progress of anything it started is visible
            self.desktop.machine.clock.advance(_REQUEST_S)
            self.desktop.touch()
        return answer

    # -- running things

    def _program(self, run: Callable[[Desktop, Any], Answer]) -> Answer:
        """Answer a request that runs programs."""
        data = request.get_json()
        if not self._runs:
            raise StopRunning(_ENDED)
        with self._guard():
            return run(self.desktop, data)

    def _execute_windows(self, desktop: Desktop, data: Any) -> Answer:
        """Run a block of Python in the server, with `computer`; its printed output is lost."""
        process = ServerProcess(CmdShell(desktop), self._settings)
        try:
            process.execute(data.get("command"), self.update)
        except Exception as error:  # noqa: BLE001  # a block may raise anything
            return {"status": "error", "message": str(error)}, 500
        except SystemExit:
            return Response(status=NO_ANSWER)
        finally:
            self._settings = process.settings
        return {"status": "success"}

    def update_computer(self) -> Answer:
        """Set the rectangles that element ids stand for from now on."""
        data = request.json
        picture = base64.b64decode(data.get("screenshot"))
        Image.open(io.BytesIO(picture))  # refuses anything but an image now, as WAA does
        self.update = ComputerUpdate(
            data.get("rects"), data.get("window_rect"), picture, data.get("scale"),
            data.get("clipboard_content"), bool(data.get("swap_ctrl_alt", False)),
        )  # fmt: skip
        return {"success": True}

    # -- seeing things

    def screenshot(self) -> Answer:
        """Return the screen with the pointer as PNG."""
        return Response(screen_png(self.desktop), mimetype="image/png")

    def obs_winagent(self) -> Answer:
        """Return the foreground window as WAA's agent Navi sees it."""
        desktop, active = self.desktop, self.desktop.active
        title = desktop.active_title
        rect: list[int] = [0, 0, *desktop.size]
        if active is not None:
            rect = list(active.frame.clipped(desktop.screen))
        else:
            # the real server's name for the case that no window is in front
            title = "Desktop"
        picture = desktop.picture().crop((rect[0], rect[1], rect[2], rect[3]))
        content = self.update.clipboard_content if self.update else None
        return {
            "image": base64.b64encode(png_bytes(picture)).decode(), "window_title": title, "rect": rect,
            "window_names_str": "\n".join(open_titles(desktop)), "computer_clipboard": content, "human_input": [],
            "status": "success",
        }  # fmt: skip

    def accessibility(self) -> Answer:
        """Return the accessibility tree of one of pywinauto's backends."""
        backend = request.args.get("backend", "win32")
        if backend not in {"win32", "uia"}:
            return "Invalid backend specified", 400
        return {"AT": accessibility_xml(self.desktop, backend)}

    def screen_size(self) -> Answer:
        """Return width and height."""
        return dict(zip(("width", "height"), self.desktop.size, strict=True))

    def window_size(self) -> Answer:
        """Fail as WAA does on Windows, because it asks X11."""
        if "app_class_name" not in request.form:
            return {"error": "app_class_name is required"}, 400
        raise AttributeError("module 'Xlib.display' has no attribute 'Display'")

    def cursor_position(self) -> Answer:
        """Fail as a Flask view that returns two numbers does."""
        raise TypeError(
            "The view function did not return a valid response tuple. The tuple must have the form "
            "(body, status, headers), (body, status), or (body, headers)."
        )

    # -- windows

    def open_file(self) -> Answer:
        """Open a file with its program; the real server then waits five seconds."""
        path = request.json.get("path", None)
        if not path:
            return "Path not supplied!", 400
        path = self.desktop.machine.expand(str(path))
        if not self.desktop.machine.files.exists(path):
            return f"File not found: {path}", 404
        self.desktop.programs.open_path(path)
        self.desktop.machine.clock.advance(_OPEN_FILE_S)
        return "File opened successfully"

    def activate_window(self) -> Answer:
        """Bring a window forward, if `strict`; without it the real server does nothing."""
        data = request.json
        name = data.get("window_name", None)
        if not name:
            return "window_name required", 400
        if data.get("by_class", False):
            return "Get window by class name is currently not supported on Windows.", 500
        found = self.desktop.with_title(str(name))
        if not found:
            return f"Window {name} not found (empty results)", 404
        if data.get("strict", False):
            self.desktop.activate(found[0])
            # the real server minimizes, sleeps a second, restores and sleeps another
            self.desktop.machine.clock.advance(2.0)
        return "Window activated successfully"

    def close_window(self) -> Answer:
        """Close a window; with `strict` the real server compares a title to an object and never finds it."""
        data = request.json
        if "window_name" not in data:
            return "window_name required", 400
        name = str(data["window_name"])
        if data.get("by_class", False):
            return "Get window by class name is not supported on Windows currently.", 500
        found = self.desktop.with_title(name)
        if not found:
            return f"Window {name} not found (empty results)", 404
        if data.get("strict", False):
            return f"Window {name} not found (strict mode).", 404
        found[0].request_close()
        return "Window closed successfully."

    def close_all(self) -> Answer:
        """Close every window; one with unsaved changes stays open and asks."""
        for window in list(reversed(self.desktop.windows)):
            if window in self.desktop.windows and window.owner is None:
                window.request_close()
        return "All windows closed successfully."

    # -- recording and state

    def start_recording(self) -> Answer:
        """Say that a recording runs; the real server starts ffmpeg."""
        if self.recording:
            return {"status": "error", "message": "Recording is already in progress."}, 400
        self.recording = True
        return {"status": "success", "message": "Started recording to: recording.mp4."}

    def end_recording(self) -> Answer:
        """Answer JSON rather than the video, as the real server does."""
        if not self.recording:
            return {"status": "error", "message": "No recording in progress to stop."}, 400
        self.recording = False
        return {"status": "success", "message": "record saved to: recording.mp4"}

    def save_state(self) -> Answer:
        """Fail as the real server does: it reads the wrong field."""
        if "snapshot_name" not in request.form:
            return {"error": "snapshot_name is required"}, 400
        return {"path": request.form["file_path"]}


def _no_network(_url: str) -> None:
    return None


def _failed(error: Exception) -> Answer:
    """Answer 500 to every uncaught error, as WAA does; Flask's 404s are recognizable by their message alone."""
    return {"status": "error", "message": str(error)}, 500
