"""Backends for machines: processes of this computer, virtual machines of QEMU, containers.

They are found by name through the entry points `bench_core.providers`; see `bench_core.machines`. The rest is
for authors of backends whose machines answer over HTTP.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
