"""The ways in which models are given a computer, one module for each provider."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
