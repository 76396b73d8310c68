"""Disk and memory needs of sites' containers, compared with the free room, before any is started."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from bench_core.errors import InputError
from bench_core.machines import MachineError
from bench_core.providers import EngineRoom, engine_room
from bench_core.records import Record
from webarena_runner.config import EnvironmentConfig
from webarena_runner.site_copies import image_volumes, site_container
from webarena_runner.site_facts import SITE_FACTS

_GB = 1e9


class SiteNeed(Record):
    """The needs of the containers of one site.

    Attributes:
        name: The site's.
        copies: The number of containers.
        image: The name of its image.
        data: Volumes that must be filled beforehand.
        image_gb: A lower bound of the image's size: the packed size in its registry.
        data_gb: The size of these volumes.
        memory_gb: Of all containers; None if unknown.
    """

    name: str
    copies: int
    image: str
    data: tuple[str, ...] = ()
    image_gb: float
    data_gb: float
    memory_gb: float | None = None


class SiteNeeds(Record):
    """The needs of sites' containers, and the engine's resources.

    Attributes:
        sites: The needs of each.
        room: The engine's resources; None if none answers.
    """

    sites: tuple[SiteNeed, ...]
    room: EngineRoom | None = None

    @property
    def disk_gb(self) -> float:
        """Size of the data that is not on the disk yet."""
        return sum(self._missing_gb(each) for each in self.sites)

    @property
    def memory_gb(self) -> float:
        """Known memory needs of the containers."""
        return sum(each.memory_gb or 0.0 for each in self.sites)

    def text(self) -> str:
        """Return a line for each site, and one that compares the sum with the free room."""
        disk, memory = f"{self.disk_gb:.1f} GB of disk", f"{self.memory_gb:.1f} GB of memory"
        room = self.room
        if room is None:
            free = "no container engine answers that could say what is free"
        elif room.disk_free is None or room.memory_free is None:
            free = f"the engine's computer has {_gb(room.memory)} of memory"
        else:
            free = (
                f"free: {_gb(room.disk_free)} of disk in {room.folder}, "
                f"{_gb(room.memory_free)} of memory"
            )
        return "\n".join([*map(self._line, self.sites), f"together: {disk}, {memory}; {free}"])

    def check(self) -> list[str]:
        """Refuse needs that cannot be met, and return warnings about those that may not be.

        Raises:
            InputError: The disk or the memory is too small.
        """
        room = self.room
        if room is None:
            return []
        if room.disk_free is not None and self.disk_gb * _GB > room.disk_free:
            names = ", ".join(each.name for each in self.sites if self._missing_gb(each))
            raise InputError(
                f"{names}: what is not on the disk yet takes {self.disk_gb:.1f} GB at least, and "
                f"{_gb(room.disk_free)} are free in {room.folder}: `docker system df` shows what "
                "takes room; or start fewer sites with --site"
            )
        if self.memory_gb * _GB > room.memory:
            raise InputError(
                f"the containers take {self.memory_gb:.1f} GB of memory, and this computer has "
                f"{_gb(room.memory)}: start fewer sites with --site, or set fewer `copies`"
            )
        if room.memory_free is not None and self.memory_gb * _GB > room.memory_free:
            # some may be taken by those that are started anew
            free = _gb(room.memory_free)
            return [f"the containers take {self.memory_gb:.1f} GB of memory, and {free} are free"]
        return []

    def _line(self, site: SiteNeed) -> str:
        there = self.room is not None and site.image in self.room.there
        parts = [f"{site.name}: {site.copies} x"]
        if site.image_gb:
            parts.append(f"image {site.image_gb} GB{', which is there' if there else ''}")
        if site.data_gb:
            known = (
                "which are there"
                if self._has_data(site)
                else "from `webarena-verified env setup init`"
            )
            parts.append(f"about {site.data_gb:.0f} GB of data, {known}")
            note = SITE_FACTS[site.name].data_note
            parts += [note] if note and not self._has_data(site) else []
        if site.memory_gb is not None:
            parts.append(f"{site.memory_gb:.1f} GB of memory")
        return ", ".join(parts)

    def _missing_gb(self, site: SiteNeed) -> float:
        there = frozenset[str]() if self.room is None else self.room.there
        return (0.0 if site.image in there else site.image_gb) + (
            0.0 if self._has_data(site) else site.data_gb
        )

    def _has_data(self, site: SiteNeed) -> bool:
        return self.room is not None and self.room.there.issuperset(site.data)


def site_needs(config: EnvironmentConfig, names: Sequence[str]) -> SiteNeeds:
    """Return the needs of the sites' containers, with the resources of this computer's engine.

    Sizes of images are those of their registry; memory is known of gitlab alone.
    """
    sites = []
    for name in names:
        copies, facts = config.site(name).copies or 1, SITE_FACTS[name]
        container = site_container(name)
        own = image_volumes(container)
        need = SiteNeed(
            name=name,
            copies=copies,
            image=container.docker_img,
            data=tuple(each for each in container.volumes if each not in own),
            image_gb=facts.image_gb,
            data_gb=facts.data_gb,
            memory_gb=None if facts.memory_gb is None else facts.memory_gb * copies,
        )
        sites.append(need)
    images = [each.image for each in sites]
    volumes = [volume for each in sites for volume in each.data]
    try:
        room = asyncio.run(engine_room(images, volumes))
    except MachineError:
        room = None
    return SiteNeeds(sites=tuple(sites), room=room)


def _gb(size: int) -> str:
    return f"{size / _GB:.1f} GB"
