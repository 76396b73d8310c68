"""One trial, one path: what every benchmark's trials share, and the hooks a benchmark fills."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
