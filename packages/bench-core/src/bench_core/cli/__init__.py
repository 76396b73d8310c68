"""Shared parts of all runners' command lines.

Importing it loads click and nothing else of weight, so that `--help` stays cheap; the code that runs a
command is imported when it runs.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
