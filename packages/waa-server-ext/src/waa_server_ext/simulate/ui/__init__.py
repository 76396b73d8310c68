"""The parts of windows - elements, text fields, menus, dialogs - and the desktop's interface for them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
