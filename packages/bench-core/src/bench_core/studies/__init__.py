"""Studies: several agents on several benchmarks, compared as was declared beforehand."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
