"""The built-in world: local apps with REAL's protocol, for demos, tests and authors of agents."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
