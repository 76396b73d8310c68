"""Machines that start, reset to a known state, and are never left behind.

A `Provider` starts, resets and removes the machines of trials: processes, virtual machines, containers.
`JournaledProvider` is one on top of any `Backend`.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
