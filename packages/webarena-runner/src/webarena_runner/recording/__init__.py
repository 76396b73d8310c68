"""Record a browser's HTTP and HTTPS traffic as a HAR that WebArena-Verified's evaluator can judge.

async with HarRecorder(chromium.cdp_url) as recorder:
    ...
    har = await recorder.stop()
har.write(folder / "network.har")
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from webarena_runner.recording.browser_use_har import include_http_in_har
    from webarena_runner.recording.har import Har
    from webarena_runner.recording.limits import RecordingLimits
    from webarena_runner.recording.recorder import HarRecorder

__all__ = ["Har", "HarRecorder", "RecordingLimits", "include_http_in_har"]

_HOMES = {
    "webarena_runner.recording.browser_use_har": ("include_http_in_har",),
    "webarena_runner.recording.har": ("Har",),
    "webarena_runner.recording.limits": ("RecordingLimits",),
    "webarena_runner.recording.recorder": ("HarRecorder",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
