"""Files that are there entirely or not at all, that only grow, or that one process holds."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
