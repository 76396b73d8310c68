"""`POST /evaluate` over HTTP: a Flask blueprint, and an application of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from waa_server_ext.server.app import create_app, make_blueprint
    from waa_server_ext.server.service import Service, ServiceSettings
    from waa_server_ext.server.startup import running_server

__all__ = [
    "Service",
    "ServiceSettings",
    "create_app",
    "make_blueprint",
    "running_server",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "app": ("create_app", "make_blueprint"),
        "service": ("Service", "ServiceSettings"),
        "startup": ("running_server",),
    },
)
