"""The built-in world: the simulated desktop with its tasks, their solutions and a server that scores them."""

import importlib.util

import lazy_loader

from bench_core.errors import MissingExtraError

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

for _module in ("numpy", "PIL", "rapidfuzz", "yaml"):
    if importlib.util.find_spec(_module) is None:
        raise MissingExtraError("the simulated desktop", _module, "waa-server-ext", "simulate")
