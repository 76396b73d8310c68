"""The desktop: its windows and their order, input, programs, the accessibility tree and recordings."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
