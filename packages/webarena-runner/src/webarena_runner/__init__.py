"""Run browser agents on WebArena-Verified, record the traffic, score with the real evaluator.

Names are re-exported lazily: `import webarena_runner` loads no heavy library.
"""

import lazy_loader

from webarena_runner.__about__ import __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]
