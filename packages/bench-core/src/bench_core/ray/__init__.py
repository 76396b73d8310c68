"""Workers on the machines of a Ray cluster, one actor each; needs the extra `ray`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from bench_core.serving import address_of, is_loopback

if TYPE_CHECKING:
    from bench_core.ray.transport import RayTransport

_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # 15 by default, which makes a trial and its browser slower than in this process
    "RAY_worker_niceness": "0",
}
_LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"


def cluster(address: str | None) -> RayTransport:
    """Return the transport to the cluster at an address; None starts one on this machine.

    Raises:
        ImportError: The extra is not installed.
    """
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    url = str(address) if "://" in str(address) else f"//{address}"
    if address is None or is_loopback(address_of(url).host):
        # else Ray replaces the loopback by the outer interface, on which others could run code
        os.environ[_LOOPBACK] = "0"
    # not before: Ray reads the variables when it is imported
    from bench_core.ray.transport import RayTransport

    return RayTransport(address)
