"""Run and score agents on Windows Agent Arena from any machine.

Names are imported when they are first used.
"""

import lazy_loader

from waa_client.__about__ import __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]
