"""What every server of Proctor has in common: limits, deadlines, and who may ask."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
