"""WAA's VM as others see it: its HTTP API, its state as a file, and how a VM that is none says so."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
