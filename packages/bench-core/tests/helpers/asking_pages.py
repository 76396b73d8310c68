"""Pages that ask their browser for something when their button is pressed."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

GO = (150, 125)
"""Where the button is, in pixels."""
_PLACE = "position:fixed;left:100px;top:100px;width:100px;height:50px"
_OK = "which was answered with OK"
KINDS = {
    "alert": ("alert('Saved'); out('after')", "a dialog, which was closed: 'Saved'", "after"),
    # a task that needs the confirmation: "true" comes only with the server's answer to the deletion
    "confirm": ("out(confirm('Sure?') && deleted())", f"the page asked 'Sure?', {_OK}", "true"),
    "prompt": ("out(prompt('Name?', 'Ada'))", "was given what it offered: 'Ada'", "Ada"),
    "leave": ("onbeforeunload = e => e.preventDefault(); location.href = '/next'", "answered with yes", "next"),
    "password": ("location.href = '/secret'", "asked for a user name and a password", None),
    "file": ("file.oncancel = () => out('no file'); file.click()", "no file was chosen", "no file"),
    "download": ("link.click(); out('asked')", "the page offered the file 'x.csv'", "asked"),
    "print": ("print(); out('after')", "the page was to be printed, which was not done", "after"),
    "location": (
        "navigator.geolocation.getCurrentPosition(() => out('here'), e => out(`refused ${e.code}`))",
        "asked for a permission (geolocation), which was refused", "refused 1",
    ),
    "notification": (
        "Notification.requestPermission().then(out)",
        "asked for a permission (notifications), which was refused", "denied",
    ),
    "clipboard": (
        "navigator.clipboard.readText().then(out, e => out(e.name))",
        "asked for a permission (clipboard-read), which was refused", "NotAllowedError",
    ),
    "tab": ("open('/next'); out('opened')", "opened a", "opened"),
}  # fmt: skip
"""What a page asks for: its script, what the agent is told, what the page shows then."""


@contextmanager
def asking_pages() -> Iterator[str]:
    """Serve a page for each kind, under its name; yields the address before it."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Pages) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


class _Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        name = self.path[1:]
        self.send_response(401 if name == "secret" else 200)
        self.send_header("Content-Type", "text/html")
        if name == "secret":
            self.send_header("WWW-Authenticate", 'Basic realm="Shop"')
        if name == "data":
            self.send_header("Content-Disposition", "attachment; filename=x.csv")
        self.end_headers()
        script = KINDS[name][0] if name in KINDS else ""
        page = (
            f"<button onclick='act()' style='{_PLACE}'>Go</button><p id=said></p><input type=file id=file style='opacity:0'>"
            f"<a id=link href=/data download=x.csv></a><script>const out = x => {{ said.textContent = x }};"
            f"const deleted = () => {{ const ask = new XMLHttpRequest(); ask.open('POST', '/delete', false);"
            f"ask.send(); return ask.responseText === 'deleted' }};"
            f"function act() {{ {script} }}</script>"
        )
        self.wfile.write((page if script else f"<p id=said>{name}</p>").encode())

    def do_POST(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"deleted")

    def log_message(self, *_: object) -> None:
        """Say nothing."""
