"""What windows are made of: elements, text fields, menus, dialogs, and what they may ask of the desktop."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
