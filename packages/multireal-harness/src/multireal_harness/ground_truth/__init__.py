"""Ground truth, end states of which it is known whether the task was done: generation and validation."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
