"""Parts shared by all evaluators: the protocol, verdicts, tasks, reference files, and process isolation."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
