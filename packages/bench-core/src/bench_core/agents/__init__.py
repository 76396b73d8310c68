"""Agents and their foundations: observations, actions, the step loop, agents for any model.

Names load lazily.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
