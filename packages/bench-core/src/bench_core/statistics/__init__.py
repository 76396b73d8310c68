"""Intervals, comparisons and summaries of benchmark results: a tower over bench-core's base.

Closed forms are pure Python; `bootstrap` needs numpy (the extra `statistics`), which
is loaded when the first bootstrap is asked for. Names are re-exported lazily.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
