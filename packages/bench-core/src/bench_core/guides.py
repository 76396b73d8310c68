"""Facts about a benchmark that Proctor's own agents need, so that each agent exists once.

A distribution offers it under the name of its benchmark::

    [project.entry-points."bench_core.guides"]
    arithmetic = "my_package.agents:GUIDE"

Other agents do not get it: it is not part of the task.
"""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_core.discovery import Plugin, find_plugins
from bench_core.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec

    from pydantic import JsonValue

    from bench_core.protocols import Agent, EnvironmentHandle, TrialContext
    from bench_core.records import AgentTask

__all__ = ["AgentGuide", "guide_of"]

_added: dict[str, Plugin] = {}
"""Guides of the run's, if this process works in another environment; by benchmark."""


@dataclass(frozen=True)
class AgentGuide:
    """Facts about one benchmark for agents that work on many.

    Attributes:
        idle_answer: The answer of `do-nothing`: the claim that could score
            without any work.
        solver: Makes the agent that carries out the reference solution of a task: `scripted`.
        browser_use: Returns the `bench_core.browser_use.TaskInstructions` of a task.
    """

    idle_answer: JsonValue = None
    solver: Callable[[AgentTask, TrialContext], Agent] | None = None
    browser_use: Callable[[AgentTask, EnvironmentHandle], Any] | None = None


def guide_of(benchmark: str) -> AgentGuide:
    """Return the guide of the installed benchmark; an empty one if it has none.

    Raises:
        PluginImportError: It cannot be imported.
        InputError: It is not an `AgentGuide`.
    """
    installed = {plugin.name: plugin for plugin in find_plugins("guide")}
    plugin = installed.get(benchmark) or _added.get(benchmark)
    if plugin is None:
        return AgentGuide()
    guide = plugin.load()
    if not isinstance(guide, AgentGuide):
        raise InputError(f"{plugin.value!r} is not an AgentGuide")
    return guide


def guide_places() -> list[dict[str, str]]:
    """Return the paths of the guides of installed benchmarks, for an agent in another environment.

    Those that are in no package of a folder are left out.
    """
    places: list[dict[str, str]] = []
    for plugin in find_plugins("guide"):
        found = importlib.util.find_spec(plugin.value.partition(":")[0].partition(".")[0])
        if found is not None and found.submodule_search_locations and found.origin:
            folder = str(Path(found.origin).resolve().parent)
            places.append({"benchmark": plugin.name, "place": plugin.value, "folder": folder,
                           "distribution": plugin.distribution, "version": plugin.version})  # fmt: skip
    return places


def add_guide(
    benchmark: str, place: str, folder: str, distribution: str = "?", version: str = "?"
) -> None:
    """Let `guide_of` find the guide that `guide_places` found in the environment of the run.

    Only the guide's own package can be imported here from that environment; if this environment has
    the package, its own is used.
    """
    sys.meta_path.append(_OnePackage(place.partition(":")[0].partition(".")[0], Path(folder)))
    _added[benchmark] = Plugin("guide", benchmark, distribution, version, place)


class _OnePackage:
    """Finds one package in its folder, and no other."""

    def __init__(self, name: str, folder: Path) -> None:
        self._name = name
        self._folder = folder

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        """Return the spec of the package; its modules are found below it."""
        del path, target
        if name != self._name:
            return None
        return importlib.util.spec_from_file_location(
            name, self._folder / "__init__.py", submodule_search_locations=[str(self._folder)]
        )
