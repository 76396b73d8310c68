"""Records, run folders, scheduling and protocols that Proctor's packages share.

Names are re-exported lazily: `import bench_core` loads no heavy library.
"""

import lazy_loader

from bench_core.__about__ import __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]
