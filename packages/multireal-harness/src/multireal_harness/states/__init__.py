"""End states: capture, files, comparison, and checks whether they look like those of one run."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
