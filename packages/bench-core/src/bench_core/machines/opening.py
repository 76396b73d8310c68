"""Open a provider by name: the backend that a distribution offers, on this user's journal."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from bench_core.discovery import load_plugin
from bench_core.errors import InputError
from bench_core.files import folder_name
from bench_core.machines.interface import Backend
from bench_core.machines.leases import Owner
from bench_core.machines.parts import Waits
from bench_core.machines.provider import JournaledProvider

FOLDER = "PROCTOR_MACHINES"
"""The variable that says where journals, leases and the files of machines are."""


def machine_folder() -> Path:
    """Return this user's folder for machines: `$PROCTOR_MACHINES` or one in the home folder.

    It must outlive restarts of the computer, so that the machines of a cloud are found again.
    """
    given = os.environ.get(FOLDER)
    return Path(given) if given else Path.home() / ".local" / "state" / "proctor" / "machines"


def open_provider(
    name: str,
    owner: Owner,
    folder: Path | None = None,
    *,
    waits: Waits | None = None,
    **settings: Any,
) -> JournaledProvider:
    """Return the provider `name`, or of the reference `module:name`, with its journal.

    Args:
        name: The entry point of a backend in the group `bench_core.providers`.
        owner: Holder of the machines started through it.
        folder: Folder of the journal; `machine_folder()` by default.
        waits: Time limits of each wait.
        settings: For the backend, such as the address of an engine.

    Raises:
        UnknownPluginError: No installed distribution offers it.
        PluginImportError: The plugin does not import.
        InputError: The plugin is not a backend, or does not take the settings.
    """
    folder = folder or machine_folder()
    factory = load_plugin("provider", name)
    try:
        backend = factory(folder / folder_name(name), **settings)
    except TypeError as error:
        raise InputError(f"the provider {name!r} does not take {settings}: {error}") from error
    if not isinstance(backend, Backend):
        raise InputError(
            f"{name!r} is not a provider: it lacks calls of bench_core.machines.Backend"
        )
    return JournaledProvider(backend, folder, owner, waits=waits)
