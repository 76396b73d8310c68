"""Which recorded requests make the evaluator fail: their bodies are JSON that Python cannot read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench_core.records.codec import decode_json


def unreadable_requests(har: Path) -> tuple[str, ...]:
    """Return method and URL of requests whose JSON is too deep or has too long a number.

    The evaluator takes text that is not JSON as a body that does not fit, but fails on these. No page
    of a site sends any: only an agent's script does, and could so leave a failing trial without a score.
    """
    try:
        entries = decode_json(har.read_text(encoding="utf-8"))["log"]["entries"]
        asked = [each["request"] for each in entries]
        return tuple(f"{each['method']} {each['url']}" for each in asked if _breaks(each))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ()  # no HAR at all, which is another fault


def _breaks(request: dict[str, Any]) -> bool:
    posted = request.get("postData") or {}
    if "json" not in posted.get("mimeType", ""):
        return False
    try:
        json.loads(posted.get("text", ""))
    except json.JSONDecodeError:
        return False
    except (RecursionError, ValueError):
        return True
    return False
