"""Whose fault an error is: answers of a model's provider, and consequences for trial and run."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
