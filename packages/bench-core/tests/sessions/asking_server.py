"""One HTTP request, as the tests of servers ask it."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

TOKEN = "open-sesame"
LATE_S = 60.0


def fetch(url: str, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Any]:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=LATE_S)
    try:
        text = None if body is None else json.dumps(body)
        connection.request(method, path, text, {"Authorization": f"Bearer {TOKEN}", **headers})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or b"null")
    finally:
        connection.close()
