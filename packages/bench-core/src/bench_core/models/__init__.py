"""Calls to models: Anthropic, OpenAI and compatible servers, Google; scripted or replayed.

Names load lazily; an SDK is imported when its first client is made.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
