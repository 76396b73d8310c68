"""Find benchmarks, agents, their guides, judges, reporters, worlds, providers and stopping rules.

Distributions offer them through entry points::

    [project.entry-points."bench_core.agents"]
    vision = "my_package.agents:VisionAgent"

Nothing is imported before it is asked for by name. `module:name` references work without an entry
point, also for a module that lies in the working folder.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import re
import sys
from collections import defaultdict
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from bench_core.errors import (
    InputError,
    MissingExtraError,
    PluginImportError,
    UnknownPluginError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from bench_core.protocols import Agent
    from bench_core.trial import Benchmark

__all__ = [
    "KNOWN",
    "Plugin",
    "PluginKind",
    "find_plugins",
    "load_agent",
    "load_plugin",
]

PluginKind = Literal[
    "benchmark",
    "agent",
    "guide",
    "judge",
    "reporter",
    "world",
    "stopping_rule",
    "provider",
]

KNOWN: Mapping[PluginKind, Mapping[str, str]] = {
    "benchmark": {
        "multireal": "multireal-harness",
        "waa": "waa-client",
        "webarena": "webarena-runner",
    },
    "agent": dict.fromkeys(("checkout", "http", "replay", "vision"), "waa-client"),
    "guide": {},
    "judge": {"llm-judge": "llm-judge"},
    "reporter": dict.fromkeys(
        ("bench-report", "comparison", "study", "waa-baseline", "webarena"), "bench-report"
    ),
    "world": {
        "multireal": "multireal-harness",
        "waa": "waa-server-ext[simulate]",
        "webarena": "webarena-runner",
    },
    "stopping_rule": {"obrien-fleming": "bench-core"},
    "provider": {"process": "bench-core", "qemu": "bench-core"},
}
"""The argument of pip that adds Proctor's own plugins, for the message that one is not installed."""

_REFERENCE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


@dataclass(frozen=True)
class Plugin:
    """Something a distribution offers; not imported yet.

    Attributes:
        kind: Its kind.
        name: The name users call it by.
        distribution: The distribution that offers it; `?` if the metadata do not say.
        version: The version of that distribution.
        value: Its import path, `module:attribute`.
    """

    kind: PluginKind
    name: str
    distribution: str
    version: str
    value: str

    def load(self) -> Any:
        """Import the object.

        Raises:
            PluginImportError: It does not import, for whatever reason.
        """
        try:
            return metadata.EntryPoint(self.name, self.value, _group(self.kind)).load()
        except MissingExtraError as error:  # it names the remedy
            kind, name, owner = self.kind, self.name, self.distribution
            raise PluginImportError(kind, name, owner, str(error), mends=False) from error
        except Exception as error:  # foreign code runs here
            reason = f"{type(error).__name__}: {error}"
            raise PluginImportError(self.kind, self.name, self.distribution, reason) from error


def find_plugins(kind: PluginKind) -> tuple[Plugin, ...]:
    """Return the installed plugins of `kind`, sorted by name, without importing any of them.

    Plugins installed while this process runs are seen only if `sys.path` has changed, too.
    """
    return _find_plugins(kind, tuple(sys.path))


# reads the metadata of all that is installed: tens of milliseconds, which every trial's agent would take again
@functools.lru_cache(maxsize=64)
def _find_plugins(kind: PluginKind, path: tuple[str, ...]) -> tuple[Plugin, ...]:
    del path  # the path on which the metadata are looked for
    found = {
        Plugin(
            kind,
            point.name,
            re.sub(r"[-_.]+", "-", point.dist.name).lower() if point.dist else "?",
            point.dist.version if point.dist else "?",
            point.value,
        )
        for point in metadata.entry_points(group=_group(kind))
    }
    return tuple(sorted(found, key=lambda each: (each.name, each.distribution, each.value)))


def list_plugins(kind: PluginKind | None = None, *, load: bool = False) -> list[dict[str, str]]:
    """Return the installed plugins as rows of text; with `load`, those that fail to import have `error`."""
    kinds: tuple[PluginKind, ...] = (kind,) if kind else get_args(PluginKind)
    rows = []
    for plugin in (plugin for each in kinds for plugin in find_plugins(each)):
        row = {name: str(value) for name, value in vars(plugin).items()}
        if load:
            try:
                plugin.load()
            except PluginImportError as error:
                row["error"] = str(error)
        rows.append(row)
    return rows


def load_plugin(
    kind: PluginKind,
    name: str,
    *,
    find: Callable[[PluginKind], Iterable[Plugin]] = find_plugins,
) -> Any:
    """Return the plugin `name` of `kind`, or the object of the reference `module:name`.

    Args:
        kind: Its kind.
        name: The name users call it by, or a reference.
        find: Finds the candidates; by default among all installed distributions.

    Raises:
        UnknownPluginError: No installed distribution offers it.
        PluginImportError: It does not import.
        InputError: Two distributions offer it, or the reference leads nowhere.
    """
    offer = locate_plugin(kind, name, find=find)
    return offer.load() if offer is not None else _load_reference(kind, name)


def locate_plugin(
    kind: PluginKind,
    name: str,
    *,
    find: Callable[[PluginKind], Iterable[Plugin]] = find_plugins,
) -> Plugin | None:
    """Return the entry of the plugin `name` without importing it; None for a reference `module:name`.

    Raises:
        UnknownPluginError: No installed distribution offers it.
        InputError: Two distributions offer it.
    """
    if is_reference(name):
        _look_here(name.partition(":")[0].partition(".")[0])
        return None
    by_name = defaultdict(list)
    for plugin in find(kind):
        by_name[plugin.name].append(plugin)
    offers = by_name.get(name, [])
    if not offers:
        raise UnknownPluginError(kind, name, by_name, KNOWN[kind].get(name))
    if len(offers) > 1:
        ways = " or ".join(repr(each.value) for each in offers)
        owners = " and ".join(repr(each.distribution) for each in offers)
        raise InputError(
            f"the {kind} {name!r} is offered by {owners}: uninstall one, or ask for {ways}"
        )
    return offers[0]


def is_reference(name: str) -> bool:
    """Return whether a plugin is requested by its path, `module:attribute`, and not by its name."""
    return _REFERENCE.fullmatch(name) is not None


def load_agent(name: str) -> Agent:
    """Return a new agent: an installed one, or `my_package.my_module:MyAgent` for one of your own.

    Raises:
        UnknownPluginError: No installed distribution offers an agent of that name.
        PluginImportError: It does not import.
        InputError: The class needs arguments or is not an agent, or the reference leads nowhere.
    """
    from bench_core.protocols import Agent  # pydantic; plugins are listed without

    factory = load_plugin("agent", name)
    if isinstance(factory, Agent) and not isinstance(factory, type):
        return factory
    try:
        agent = factory()
    except TypeError as error:
        raise InputError(
            f"the agent {name!r} cannot be made without arguments: {_raised(error)}"
        ) from error
    # its own code ran, and may fail in any way
    except Exception as error:
        raise InputError(f"the agent {name!r} cannot be made: {_raised(error)}") from error
    if not isinstance(agent, Agent):
        lacks = " and no ".join(f"`{each}`" for each in ("name", "run") if not hasattr(agent, each))
        raise InputError(
            f"{name!r} is not an agent: it has no {lacks}; an agent has a `name` and an "
            "`async def run(self, task, environment, context)`"
        )
    return agent


def load_benchmark(name: str) -> Benchmark:
    """Return a benchmark as it is without arguments: an installed one, or `my_package:MyBenchmark`.

    Raises:
        UnknownPluginError: No installed distribution offers a benchmark of that name.
        PluginImportError: It does not import.
        InputError: The class needs arguments or is not a benchmark, or the reference leads nowhere.
    """
    from bench_core.trial import Benchmark  # pydantic; plugins are listed without

    factory = load_plugin("benchmark", name)
    try:
        made = (
            factory()
            if isinstance(factory, type) or not isinstance(factory, Benchmark)
            else factory
        )
    except TypeError as error:
        raise InputError(
            f"the benchmark {name!r} cannot be made without arguments: {error}"
        ) from error
    if not isinstance(made, Benchmark):
        raise InputError(
            f"{name!r} is not a benchmark: it needs `name`, `tasks`, `open` and `evaluate`"
        )
    return made


def _group(kind: PluginKind) -> str:
    if kind not in get_args(PluginKind):
        raise InputError(f"unknown kind of plugin {kind!r}: use one of {get_args(PluginKind)}")
    return f"bench_core.{kind}s"


def _load_reference(kind: PluginKind, reference: str) -> Any:
    module, _, attribute = reference.partition(":")
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        # Otherwise the module is there, and something that it imports is missing.
        if error.name and (module == error.name or module.startswith(f"{error.name}.")):
            raise InputError(
                f"no module {error.name!r} for the {kind} {reference!r}: install it, or run in the "
                f"folder that has {error.name.partition('.')[0]}.py; this is {Path.cwd()}"
            ) from error
        raise PluginImportError(kind, reference, None, _raised(error)) from error
    except (Exception, SystemExit) as error:  # foreign code runs here
        raise PluginImportError(kind, reference, None, _raised(error)) from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            article = "an" if kind[0] in "aeiou" else "a"
            names = [each for each in dir(found) if each[0] != "_"]
            near = difflib.get_close_matches(attribute, names, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise InputError(
                f"the module {module!r} has no {attribute!r} for {article} {kind}{hint}"
            )
        found = getattr(found, part)
    return found


def _look_here(module: str) -> None:
    """Let the working folder be searched, after all others, for a module in it.

    A console script, unlike `python -m`, does not look there; processes of agents take over the list.
    """
    here = Path.cwd()
    lies_here = (here / f"{module}.py").is_file() or (here / module / "__init__.py").is_file()
    if lies_here and str(here) not in sys.path:
        sys.path.append(str(here))


def _raised(error: BaseException) -> str:
    """Return the exception in words, and the line of its author's code that raised it."""
    from bench_core.source_lines import own_line  # only when something failed

    text = error.msg if isinstance(error, SyntaxError) else str(error)
    where = own_line(error)
    return f"{type(error).__name__}: {text}" + (f" ({where})" if where else "")
