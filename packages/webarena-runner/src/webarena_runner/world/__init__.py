"""The built-in world: stand-in sites for real WebArena-Verified task ids, in a real browser."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
