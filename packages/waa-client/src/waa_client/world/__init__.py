"""The worlds of runs: VMs of the user's, or a simulated desktop for each trial."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
