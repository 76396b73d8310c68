"""Run and score multi-app web tasks in a real browser: queries decide first, a judge second.

Names are re-exported lazily: `import multireal_harness` loads no heavy library.
"""

import lazy_loader

from multireal_harness.__about__ import __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]
