"""Whose fault something is: what a model's provider answered, and what follows for a trial and its run."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
