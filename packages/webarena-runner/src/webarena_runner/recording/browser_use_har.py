"""browser-use's own HAR option for HTTP, too: a weaker recording, for users who need it.

browser-use records with `BrowserProfile(record_har_path=...)`, but HTTPS only. This removes that filter
and changes nothing else. Other gaps remain: redirects overwrite the request they answer, entries lack
Accept, Sec-Fetch-* and Cookie headers and response cookies, workers' requests are missing, and a failed one
has status 0. Of 14 real tasks 5 could be scored so, and all 14 with `HarRecorder`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from bench_core.browser_use import SharedPatch
from bench_core.errors import InputError

_WATCHDOG = "browser_use.browser.watchdogs.har_recording_watchdog"
_FILTER = "_is_https"


@contextmanager
def include_http_in_har(*, enabled: bool = True) -> Iterator[None]:
    """Let browser-use's `record_har_path` record HTTP too, until the block is left.

    Several users may use it at once; the last one restores browser-use. `enabled=False` does nothing,
    for callers that pass an option through.

    Raises:
        InputError: This version of browser-use filters in another way.
    """
    with _PATCH if enabled else nullcontext():
        yield


def _watchdog() -> Any:
    module = importlib.import_module(_WATCHDOG)
    if not hasattr(module, _FILTER):
        raise InputError(
            f"{_WATCHDOG} has no {_FILTER}: this browser-use is unknown, use HarRecorder instead"
        )
    return module


def _is_web(url: str | None) -> bool:
    return bool(url) and str(url).lower().startswith(("http://", "https://"))


_PATCH = SharedPatch(_watchdog, _FILTER, lambda _original: _is_web)
