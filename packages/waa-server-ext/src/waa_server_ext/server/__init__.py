"""`POST /evaluate` over HTTP: a Flask blueprint, and an application of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from waa_server_ext.server.app import create_app, make_blueprint
    from waa_server_ext.server.service import Service, ServiceSettings

__all__ = ["Service", "ServiceSettings", "create_app", "make_blueprint"]

_PLACES = {
    "Service": "service",
    "ServiceSettings": "service",
    "create_app": "app",
    "make_blueprint": "app",
}


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        import importlib  # noqa: PLC0415  # lazy

        return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
