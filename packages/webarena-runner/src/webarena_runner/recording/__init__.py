"""Recording of a browser's HTTP and HTTPS traffic as a HAR for WebArena-Verified's evaluator.

Example::

    async with HarRecorder(chromium.cdp_url) as recorder:
        ...
        har = await recorder.stop()
    har.write(folder / "network.har")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from webarena_runner.recording.browser_use_har import include_http_in_har
    from webarena_runner.recording.har import Har
    from webarena_runner.recording.limits import RecordingLimits
    from webarena_runner.recording.recorder import HarRecorder

__all__ = ["Har", "HarRecorder", "RecordingLimits", "include_http_in_har"]

__getattr__ = lazy_exports(
    __name__,
    {
        "browser_use_har": ("include_http_in_har",),
        "har": ("Har",),
        "limits": ("RecordingLimits",),
        "recorder": ("HarRecorder",),
    },
)
