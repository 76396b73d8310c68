"""Hide the answers of a benchmark from agents' processes and from the Chromium they act on."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
