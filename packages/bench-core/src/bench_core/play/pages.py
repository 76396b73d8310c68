"""The three pages, and the server that offers them and receives their events."""

from __future__ import annotations

import json
import threading
from http import HTTPStatus
from typing import Any, ClassVar

from bench_core.serving import BoundedHandler, BoundedServer

CLICKS = 3
"""So often the target is clicked, each time in another place."""
LINES = 'It\'s "7 \\ 3"\tnew\nGr\u00fc\u00dfe, \u4f60\u597d \u2713'
"""The text to type: quotes, a backslash, a tab, a new line and letters beyond ASCII."""
WORDS = ("walnut", "copper")
"""The words of the dialog and the new tab."""
_HEAD = """<!doctype html><meta charset="utf-8"><title>{title}</title><style>
body {{ margin: 0; font: 20px sans-serif; height: 100vh; overflow: hidden; background: #fff; }}
p {{ margin: 12px; }} button {{ font: inherit; padding: 10px 20px; border: 0; margin: 12px; }}
</style><script>
// waits until it has arrived: a beacon may be overtaken, and ends with its browser
const note = (kind, value) => {{
  const sent = new XMLHttpRequest();
  sent.open('POST', 'note', false);
  sent.send(JSON.stringify([kind, value]));
}};
</script>"""
_TARGET = (
    _HEAD
    + """<p id="left"></p><script>
const side = 24, places = [[.12, .2], [.88, .3], [.5, .85], [.85, .8]];
let number = 0;
const square = document.createElement('div');
square.style.cssText = `position: fixed; width: ${{side}}px; height: ${{side}}px; background: #f00;`;
document.body.append(square);
const put = () => {{
  const [x, y] = places[number];
  square.style.left = Math.round(x * innerWidth - side / 2) + 'px';
  square.style.top = Math.round(y * innerHeight - side / 2) + 'px';
  document.getElementById('left').textContent = `Clicks still to do: ${{{clicks} - number}}`;
}};
addEventListener('mousedown', event => {{
  if (number >= {clicks}) return;
  const box = square.getBoundingClientRect();
  note('click', [box.x + side / 2, box.y + side / 2, event.clientX, event.clientY]);
  number += 1;
  if (number < {clicks}) put(); else {{ square.remove(); document.getElementById('left').textContent = 'Enough.'; }}
}});
put();
</script>"""
)
_TYPING = (
    _HEAD
    + """<p>The yellow field takes text.</p>
<textarea id="field" style="margin:12px;width:70vw;height:40vh;background:#ff0;font:inherit" spellcheck="false"></textarea>
<script>
const field = document.getElementById('field');
field.addEventListener('keydown', event => {{
  if (event.key === 'Tab') {{ event.preventDefault(); field.setRangeText('\\t', field.selectionStart, field.selectionEnd, 'end'); field.dispatchEvent(new Event('input')); }}
}});
field.addEventListener('input', () => note('text', field.value));
</script>"""
)
_ACTS = (
    _HEAD
    + """<p>Blue square, green area, grey list, orange and violet button.</p>
<div id="area" style="position:fixed;left:60vw;top:15vh;width:20vw;height:25vh;background:#0a0"></div>
<div id="piece" style="position:fixed;left:10vw;top:20vh;width:60px;height:60px;background:#00f"></div>
<div id="list" style="position:fixed;left:10vw;top:50vh;width:30vw;height:40vh;overflow:auto;background:#ccc"></div>
<button id="ask" style="position:fixed;left:60vw;top:55vh;background:#f80">Ask</button>
<button id="open" style="position:fixed;left:60vw;top:75vh;background:#80f;color:#fff">Open</button>
<script>
const list = document.getElementById('list');
for (let i = 1; i <= 60; i++) {{ const line = document.createElement('p'); line.textContent = `Line ${{i}}`; list.append(line); }}
list.addEventListener('scroll', () => note('scroll', list.scrollTop));
const piece = document.getElementById('piece'), area = document.getElementById('area');
let held = null;
piece.addEventListener('mousedown', event => {{ held = [event.clientX - piece.offsetLeft, event.clientY - piece.offsetTop]; event.preventDefault(); }});
addEventListener('mousemove', event => {{ if (held) {{ piece.style.left = event.clientX - held[0] + 'px'; piece.style.top = event.clientY - held[1] + 'px'; }} }});
addEventListener('mouseup', () => {{
  if (!held) return;
  held = null;
  const a = area.getBoundingClientRect(), b = piece.getBoundingClientRect();
  const x = b.x + b.width / 2, y = b.y + b.height / 2;
  note('drag', x > a.left && x < a.right && y > a.top && y < a.bottom);
}});
document.getElementById('ask').addEventListener('click', () => {{ note('dialog', true); alert('The first word is {first}.'); }});
document.getElementById('open').addEventListener('click', () => {{ note('tab', true); open('second'); }});
</script>"""
)
_SECOND = (
    _HEAD.replace("{title}", "The second word is {second}.") + "<p>The second word is {second}.</p>"
)
_PAGES = {"target": _TARGET, "typing": _TYPING, "acts": _ACTS, "second": _SECOND}


class PageServer(BoundedServer):
    """Offers the pages and keeps their notes, each as kind and value."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.lock = threading.Lock()
        self.notes: list[tuple[str, Any]] = []

    def url(self, page: str) -> str:
        """Return the address of one of the pages."""
        return f"http://127.0.0.1:{self.server_address[1]}/{page}"

    def noted(self, kind: str) -> list[Any]:
        """Return the pages' notes of one kind, in order, and forget them."""
        with self.lock:
            found = [value for each, value in self.notes if each == kind]
            self.notes = [each for each in self.notes if each[0] != kind]
        return found


class _Handler(BoundedHandler):
    server: PageServer
    most_body: ClassVar[int] = 64 * 1024

    def do_GET(self) -> None:
        name = self.path.partition("?")[0].strip("/")
        page = _PAGES.get(name)
        if page is None:
            self._send(HTTPStatus.NOT_FOUND, b"")
            return
        text = page.format(title=name.capitalize(), clicks=CLICKS, first=WORDS[0], second=WORDS[1])
        self._send(HTTPStatus.OK, text.encode())

    def do_POST(self) -> None:
        kind, value = json.loads(self.body)
        with self.server.lock:
            self.server.notes.append((str(kind), value))
        self._send(HTTPStatus.NO_CONTENT, b"")

    def _send(self, status: HTTPStatus, data: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
