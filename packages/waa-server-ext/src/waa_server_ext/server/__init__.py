"""`POST /evaluate` over HTTP: a Flask blueprint, and an application of its own."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
