"""A small simulated Windows desktop that speaks the API of WAA's VM: pixels, tree, input, state."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
