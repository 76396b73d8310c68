"""What all evaluators share: the protocol, verdicts, tasks, reference files, and a process of their own."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
