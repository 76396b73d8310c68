"""The records that cross a file, a connection or a package boundary.

All are frozen, forbid unknown fields and survive a round trip through JSON.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
