"""One trial, one path: the steps that all benchmarks' trials share, and the hooks a benchmark fills."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
