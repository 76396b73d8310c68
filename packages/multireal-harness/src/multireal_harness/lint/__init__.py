"""Lint of a task set: find queries that no correct run can satisfy, and rewrite them.

Names are re-exported lazily, because reading tasks needs none of them.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
