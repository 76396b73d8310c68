"""`POST /evaluate` over HTTP: a Flask blueprint, and a standalone application."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
