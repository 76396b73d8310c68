"""A judge of end states that must show its evidence.

Each step is usable alone, and only `Judge` needs a model: `lint`, `pack`, `prepare`, `Judge`,
`verify`, `calibrate`, `stress`. Names load lazily.
"""

import lazy_loader

from llm_judge.__about__ import __version__

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]
