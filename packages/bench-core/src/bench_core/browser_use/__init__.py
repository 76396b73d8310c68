"""Drive the real browser-use: a clean environment, whole attempts, scripted and watched chats.

Nothing here imports `browser_use` until it is needed, so that `prepare` can set the environment
browser-use reads when it is first imported. Works with browser-use 0.11.13 and 0.13.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
