"""Child processes that speak lines of JSON: framing, deadlines, hang-up and end, decided in one place."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
