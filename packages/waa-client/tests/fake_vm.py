"""A loopback server with the routes of WAA's server that the client's tests need.

Its `computer` follows WAA's: fractions are cut off, only ASCII is typed, unknown keys do nothing and a
pointer in a corner fails everything after it.
"""

from __future__ import annotations

import base64
import io
import json
import struct
import sys
import threading
import types
import zlib
from collections import defaultdict
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

NAMESPACES = (
    'xmlns:st="uri:deskat:state.at-spi.gnome.org" '
    'xmlns:cp="uri:deskat:component.at-spi.gnome.org" '
    'xmlns:val="uri:deskat:value.at-spi.gnome.org" xmlns:win="uri:deskat:uia.windows.microsoft.org"'
)
TREE = f"""<desktop {NAMESPACES}>
  <notepad name="draft - Notepad" st:visible="true" st:enabled="true"
      cp:screencoord="(100, 50)" cp:size="(400, 300)">
    <button name="File" st:visible="true" st:enabled="true"
      cp:screencoord="(110, 60)" cp:size="(40, 20)"/>
    <edit name="Text" val:value="hello" st:visible="true" st:enabled="true"
      cp:screencoord="(110, 90)" cp:size="(380, 250)"/>
    <button name="Grey" st:visible="true" st:enabled="false"
      cp:screencoord="(160, 60)" cp:size="(40, 20)"/>
  </notepad>
  <shell name="Taskbar" st:visible="true" st:enabled="true"
      cp:screencoord="(0, 680)" cp:size="(1280, 40)">
    <button name="Start" st:visible="true" st:enabled="true"
      cp:screencoord="(4, 684)" cp:size="(32, 32)"/>
  </shell>
</desktop>"""


@dataclass(frozen=True)
class Reply:
    """The server's answer instead; `reset` drops the connection, `stall` waits for the end.

    `drips` sends it byte by byte, without end: its `header`, or its `body`.
    """

    status: int = 500
    body: bytes = b""
    kind: str = "application/json"
    reset: bool = False
    stall: bool = False
    only_header: int | None = None
    drips: str = ""


@dataclass
class Seen:
    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: Any


def png(size: tuple[int, int], shade: int = 200) -> bytes:
    width, height = size
    rows = (b"\0" + bytes([shade]) * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(rows, 1)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks
    )


class FailSafeError(Exception):
    pass


class FakeComputer:
    """WAA's `computer.py`, on a screen without pictures."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.size = size
        self.pointer = (5, 5)
        self.clicks: list[tuple[str, int, int]] = []
        self.typed = ""
        self.pressed: list[tuple[str, ...]] = []
        self.copied = ""
        self.scrolled: list[tuple[int, int]] = []
        self.drags: list[tuple[tuple[int, int], tuple[int, int]]] = []
        self.pressed: list[str] = []
        self.rects: Any = None
        self.window_rect: Any = None
        self.scale: Any = (1.0, 1.0)
        self.updated = False

    def namespace(self) -> Any:
        """The object `computer` of code blocks."""
        if not self.updated:
            return types.SimpleNamespace(
                mouse=None, keyboard=None, clipboard=None, window_manager=None, os=None
            )
        return types.SimpleNamespace(
            mouse=types.SimpleNamespace(
                move_id=self._move_id,
                move_abs=self._move_abs,
                single_click=lambda: self.click("left", 1),
                double_click=lambda: self.click("left", 2),
                right_click=lambda: self.click("right", 1),
                scroll=self._scroll,
                drag=self._drag,
            ),
            keyboard=types.SimpleNamespace(write=self.write, press=self._press),
            clipboard=types.SimpleNamespace(paste=self._paste),
            window_manager=types.SimpleNamespace(switch_to_application=self._switch),
        )

    def check(self) -> None:
        width, height = self.size
        if self.pointer[0] in {0, width - 1} and self.pointer[1] in {0, height - 1}:
            raise FailSafeError("PyAutoGUI fail-safe triggered from mouse moving to a corner")

    def move(self, x: float, y: float) -> None:
        self.check()
        width, height = self.size
        self.pointer = (min(max(int(x), 0), width - 1), min(max(int(y), 0), height - 1))

    def click(self, button: str, count: int) -> None:
        self.check()
        self.clicks.append((button, *self.pointer))
        self.pressed_at_click = tuple(self.pressed)
        self.count = count

    def write(self, text: str) -> None:
        self.check()
        self.typed += "".join(each for each in text if each.isascii())

    def hotkey(self, *keys: str) -> None:
        self.check()
        self.pressed.append(keys)

    def _move_id(self, id: int) -> None:  # noqa: A002
        left, top, right, bottom = self.rects[id]
        x, y = (left + right) // 2 * self.scale[0], (top + bottom) // 2 * self.scale[1]
        self.move(x + self.window_rect[0], y + self.window_rect[1])

    def _move_abs(self, x: float, y: float) -> None:
        left, top, right, bottom = self.window_rect
        self.move(int(x * (right - left)) + left, int(y * (bottom - top)) + top)

    def _scroll(self, dir: str = "down") -> None:  # noqa: A002
        self.scrolled.append((0, {"up": 400, "down": -400}[dir]))

    def _drag(self, screen_x: int, screen_y: int) -> None:
        self.drags.append((self.pointer, (screen_x, screen_y)))
        self.pointer = (screen_x, screen_y)

    def _press(self, key: str) -> None:
        if len(key) > 1 and ("+" in key or "-" in key):
            self.hotkey(*[each.strip() for each in key.split("+" if "+" in key else "-")])
        else:
            self.hotkey(key)

    def _paste(self) -> None:
        self.hotkey("ctrl", "v")
        self.typed += self.copied

    def _switch(self, title: str) -> None:
        self.switched = title


@dataclass
class FakeVm:
    """Use it as `with FakeVm() as vm`, then call `vm.url`."""

    size: tuple[int, int] = (1280, 720)
    tree: str = TREE
    title: str = "draft - Notepad"
    windows: tuple[str, ...] = ("draft - Notepad", "Taskbar")
    files: dict[str, bytes] = field(default_factory=dict)
    faults: dict[str, list[Reply]] = field(default_factory=lambda: defaultdict(list))
    always: dict[str, Reply] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    run: Callable[[list[str]], dict[str, Any]] | None = None
    world: str | None = None
    uia_tree: str | None = None
    uia_stalls: bool = False
    layout: int | None = 0x0409
    lacks: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.computer = FakeComputer(self.size)
        self.stopping = threading.Event()
        self.shade = 200

    def paths(self) -> list[str]:
        return [each.path for each in self.seen]

    def blocks(self) -> list[str]:
        """The code blocks that arrived."""
        return [each.body["command"] for each in self.seen if each.path == "/execute_windows"]

    def __enter__(self) -> Self:
        vm = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                vm.answer(self)

            do_POST = do_GET  # the base class wants the name

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.block_on_close = False
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if not self.stopping.is_set():
            self.stopping.set()
            self.server.shutdown()
            self.server.server_close()
            self.thread.join()

    stop = __exit__

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        parts = urlsplit(handler.path)
        length = int(handler.headers.get("content-length") or 0)
        raw = handler.rfile.read(length)
        kind = handler.headers.get("content-type", "")
        body = _body(kind, raw)
        self.seen.append(
            Seen(handler.command, parts.path, parse_qs(parts.query), dict(handler.headers), body)
        )
        reply = self._fault(parts.path) or self._reply(parts.path, handler.command, body)
        if reply.stall:
            self.stopping.wait(30)
        if reply.reset:
            handler.connection.close()
            return
        if reply.drips:
            self._drip(handler, reply.drips)
            return
        handler.send_response(reply.status)
        handler.send_header("content-type", reply.kind)
        handler.send_header("content-length", str(len(reply.body)))
        handler.end_headers()
        handler.wfile.write(reply.body[: reply.only_header])

    def _drip(self, handler: BaseHTTPRequestHandler, part: str) -> None:
        rest = b"\r\ncontent-length: 1000000\r\n\r\n" if part == "body" else b"\r\nx-header: "
        handler.connection.sendall(b"HTTP/1.1 200 OK" + rest)
        try:
            while not self.stopping.wait(0.01):
                handler.connection.sendall(b"x")
        except OSError:
            handler.close_connection = True

    def _fault(self, path: str) -> Reply | None:
        if self.faults[path]:
            return self.faults[path].pop(0)
        return self.always.get(path)

    def _reply(self, path: str, method: str, body: Any) -> Reply:
        route = getattr(self, "on_" + path.strip("/").replace("/", "_"), None)
        if route is None:
            return _json(
                {
                    "status": "error",
                    "message": "404 Not Found: The requested URL was not found on the server.",
                },
                500,
            )
        found = route(body)
        return found if isinstance(found, Reply) else _json(found)

    def on_probe(self, _: Any) -> Any:
        body = {"status": "Probe successful", "message": "Service is operational"}
        return body if self.world is None else {**body, "world": self.world}

    def on_simulation_reset(self, _: Any) -> Any:
        self.computer = FakeComputer(self.size)
        return {"status": "success"}

    def on_platform(self, _: Any) -> Any:
        return Reply(200, b"Windows", "text/html")

    def on_screenshot(self, _: Any) -> Any:
        return Reply(200, png(self.size, self.shade), "image/png")

    def on_screen_size(self, _: Any) -> Any:
        return {"width": self.size[0], "height": self.size[1]}

    def on_accessibility(self, _: Any) -> Any:
        uia = self.seen[-1].query.get("backend") == ["uia"]
        if uia and self.uia_stalls:
            return Reply(stall=True)
        return {"AT": self.uia_tree if uia and self.uia_tree is not None else self.tree}

    def on_obs_winagent(self, _: Any) -> Any:
        return {
            "image": base64.b64encode(png((40, 30))).decode(),
            "window_title": self.title,
            "rect": [100, 50, 500, 350],
            "window_names_str": "\n".join(self.windows),
            "computer_clipboard": None,
            "human_input": "Question: No question asked yet",
            "status": "success",
        }

    def on_update_computer(self, body: Any) -> Any:
        if not body.get("screenshot"):
            return _json({"status": "error", "message": "cannot identify image file"}, 500)
        computer = self.computer
        computer.rects, computer.window_rect = body["rects"], body["window_rect"]
        computer.scale, computer.updated = body["scale"], True
        return {"success": True}

    def on_execute_windows(self, body: Any) -> Any:
        computer, out = self.computer, io.StringIO()
        modules = {"pyautogui": _pyautogui(computer), "pyperclip": _pyperclip(computer)}
        saved = {name: sys.modules.get(name) for name in modules}
        sys.modules.update(modules)
        try:
            with redirect_stdout(out):
                exec(body["command"], {"computer": computer.namespace()})  # noqa: S102
            if "error" in out.getvalue().lower():
                raise ValueError(out.getvalue())  # noqa: TRY301  # as the server does
        except Exception as error:  # noqa: BLE001
            return _json({"status": "error", "message": str(error)}, 500)
        except BaseException:  # noqa: BLE001  # the real server's thread ends without an answer
            return Reply(reset=True)
        finally:
            for name, module in saved.items():
                sys.modules.pop(name)
                if module is not None:
                    sys.modules[name] = module
        return {"status": "success"}

    def on_execute(self, body: Any) -> Any:
        if self.run is not None:
            return self.run(body["command"])
        if "GetKeyboardLayout" in str(body["command"]):
            wanted = [name for name, _ in json.loads(body["command"][-1])]
            told = {
                "missing": [each for each in wanted if each in self.lacks],
                "layout": self.layout,
            }
            return {"status": "success", "output": json.dumps(told), "error": "", "returncode": 0}
        if "moveTo" in str(body["command"]):
            self.computer.pointer = (20, 20)
        return {"status": "success", "output": "", "error": "", "returncode": 0}

    on_setup_execute = on_execute

    def on_setup_close_all(self, _: Any) -> Any:
        return _json({"status": "error", "message": "Error code from Windows: 5"}, 500)

    def on_setup_clear_task_files(self, _: Any) -> Any:
        return Reply(200, b"No task files to clear.", "text/html")

    def on_setup_launch(self, body: Any) -> Any:
        return Reply(200, f"{body['command']} launched successfully".encode(), "text/html")

    def on_setup_open_file(self, body: Any) -> Any:
        if body["path"] not in self.files:
            return Reply(404, b"File not found", "text/html")
        return Reply(200, b"File opened successfully", "text/html")

    def on_setup_activate_window(self, body: Any) -> Any:
        if not any(body["window_name"] in each for each in self.windows):
            return Reply(404, b"Window not found (empty results)", "text/html")
        return Reply(200, b"Window activated successfully", "text/html")

    def on_setup_upload(self, body: Any) -> Any:
        self.files[body["file_path"].decode()] = body["file_data"]
        return Reply(200, b"File Uploaded", "text/html")

    def on_setup_create_folder(self, body: Any) -> Any:
        return {"status": "success", "message": f"{body['path']} created."}

    on_setup_recycle = on_setup_create_folder

    def on_file(self, body: Any) -> Any:
        path = body["file_path"][0]
        if path not in self.files:
            return _json({"error": "File not found"}, 404)
        return Reply(200, self.files[path], "application/octet-stream")

    def on_file_exists(self, body: Any) -> Any:
        path = f"{body['path']}\\{body['file_name']}"
        if path in self.files:
            return {"status": "success", "message": "exists"}
        return _json({"status": "error", "message": "does not exist"}, 400)

    def on_list_directory(self, body: Any) -> Any:
        if body["path"] != "C:\\known":
            return _json({"error": "The provided path is not a directory"}, 400)
        children = [{"type": "file", "name": "a.txt"}, {"error": "[WinError 5] Access is denied"}]
        return {"directory_tree": {"type": "directory", "name": "known", "children": children}}

    def on_revert_to_snapshot(self, _: Any) -> Any:
        return _json({"error": "Restore snapshot no implemented"}, 501)


def _json(value: Any, status: int = 200) -> Reply:
    return Reply(status, json.dumps(value).encode(), "application/json")


def _body(kind: str, raw: bytes) -> Any:
    if kind.startswith("application/json"):
        return json.loads(raw or b"{}")
    if kind.startswith("multipart/"):
        message = BytesParser(policy=HTTP).parsebytes(
            f"content-type: {kind}\r\n\r\n".encode() + raw
        )
        return {
            part.get_param("name", header="content-disposition"): part.get_payload(decode=True)
            for part in message.iter_parts()
        }
    return parse_qs(raw.decode())


def _pyautogui(computer: FakeComputer) -> Any:
    module: Any = types.ModuleType("pyautogui")
    module.click = lambda clicks=1, button="left": computer.click(button, clicks)
    module.keyDown = computer.pressed.append
    module.keyUp = computer.pressed.remove
    module.hotkey = computer.hotkey
    module.scroll = lambda units: computer.scrolled.append((0, units))
    module.hscroll = lambda units: computer.scrolled.append((units, 0))
    return module


def _pyperclip(computer: FakeComputer) -> Any:
    module: Any = types.ModuleType("pyperclip")
    module.copy = lambda text: setattr(computer, "copied", text)
    module.paste = lambda: computer.copied
    return module
