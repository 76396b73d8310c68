"""A provider of VMs that exist in the tests' process alone, seen by all who open it; some are bad."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from test_support.machines import MemoryBackend

from bench_core.machines import Found, Health, MachineError

if TYPE_CHECKING:
    from pathlib import Path


class Vms(MemoryBackend):
    """Machines that all who open the provider see, and some of which are bad."""

    there: ClassVar[dict[str, Any]] = {}
    bad_resets: ClassVar[list[str]] = []
    bad_starts: ClassVar[list[str]] = []

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__(folder)
        self.machines = self.there

    async def create(self, name: str, labels: Any, spec: Any) -> Found:
        if any(each in name for each in self.bad_starts):
            raise MachineError("planted")
        return await super().create(name, labels, spec)

    async def health(self, name: str) -> Health:
        found = await super().health(name)
        return found.model_copy(update={"urls": {"vm": f"http://{name}:5000"}})

    async def restore(self, name: str, tag: str) -> Found:
        if any(each in name for each in self.bad_resets):
            self.bad_resets.clear()
            raise MachineError("planted")
        return await super().restore(name, tag)
