"""Turn Proctor run folders into reports with honest intervals.

Names are re-exported lazily: `import bench_report` loads neither numpy nor jinja2.
"""

import lazy_loader

from bench_report.__about__ import __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]
