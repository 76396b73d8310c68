"""Every error Proctor raises on purpose.

The tree::

    BenchError
    ├── InputError                 the user's input cannot be used (exit code 2)
    │   ├── UnknownPluginError     no installed distribution offers that name
    │   ├── PluginImportError      it is installed but does not import
    │   ├── MissingExtraError      an optional dependency of a distribution is not installed
    │   ├── NotEstimableError      the results cannot answer the statistical question asked
    │   ├── UnknownTaskError       the benchmark has no task of that id
    │   ├── RecordError            a file or wire record does not fit its schema
    │   │   └── SchemaVersionError a newer Proctor wrote it
    │   └── RunFolderError         a run folder is missing, damaged or of another run
    │       ├── RunFolderBusyError another process is writing it
    │       └── RefusedFileError   a file in it is a link, a pipe, a device or too large
    ├── EnvironmentFaultError      the VM, site, browser or provider failed: never a score
    │   ├── BrowserError           Chromium is missing, did not start or died
    │   ├── HarnessFaultError      a part of the run itself failed: a folder, a thread, a process
    │   ├── SuspendedError         the run, or a process of the trial's, was stopped meanwhile
    │   └── MachineError           a machine did not start, answer or reset (`bench_core.machines`)
    │       ├── MachineBusyError   a live owner holds it
    │       ├── LostMachineError   it is no longer its caller's
    │       ├── QuarantinedError   it is not proven clean; no trial runs on it
    │       └── NameTakenError     something of its name exists
    ├── EvaluationError            the evaluator could not decide: never a score
    ├── BudgetExceededError        a limit of dollars, tokens or minutes was reached
    └── AgentError                 the agent's own code failed; its end state is still scored
        └── AgentProcessError      it failed, or died, in a process of its own (`bench_core.protocols`)

Facts are attributes; messages name the value and the way out.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench_core.__about__ import __version__

__all__ = [
    "AgentError",
    "BenchError",
    "BrowserError",
    "BudgetExceededError",
    "EnvironmentFaultError",
    "EvaluationError",
    "HarnessFaultError",
    "InputError",
    "LockHolder",
    "MissingExtraError",
    "NotEstimableError",
    "PluginImportError",
    "RecordError",
    "RefusedFileError",
    "RunFolderBusyError",
    "RunFolderError",
    "SchemaVersionError",
    "SuspendedError",
    "UnknownPluginError",
    "UnknownTaskError",
    "causes",
    "pip_install",
]

_OWN = frozenset(
    (
        "bench-core",
        "bench-report",
        "llm-judge",
        "multireal-harness",
        "waa-client",
        "waa-server-ext",
        "webarena-runner",
    )
)


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and the errors it was raised from."""
    while error is not None:
        yield error
        error = error.__cause__


def pip_install(*requirements: str) -> str:
    """Return the command that installs packages, Proctor's own in this release.

    An index may have something else of that name in a higher version, which pip would prefer.
    """
    return shlex.join(["pip", "install", *map(_pinned, requirements)])


def _pinned(requirement: str) -> str:
    from importlib import metadata  # here, so that `--help` stays quick

    name = requirement.partition("[")[0]
    if name not in _OWN:
        return requirement
    try:
        return f"{requirement}=={metadata.version(name)}"
    except metadata.PackageNotFoundError:
        return f"{requirement}=={__version__}"


class BenchError(Exception):
    """Base of all errors that Proctor raises on purpose."""


class InputError(BenchError):
    """The user's input (a file, an option, an id) cannot be used."""


class UnknownPluginError(InputError):
    """No installed distribution offers the plugin `name` of `kind`."""

    def __init__(
        self, kind: str, name: str, installed: Iterable[str], install: str | None = None
    ) -> None:
        self.kind = kind
        self.name = name
        self.installed = sorted(installed)
        self.install = install
        have = ", ".join(repr(each) for each in self.installed) or "none"
        hint = (
            f"; `{pip_install(install)}` adds {name!r}" if install else _meant(name, self.installed)
        )
        super().__init__(f"unknown {kind} {name!r}: installed are {have}{hint}")


def _meant(name: str, installed: Iterable[str]) -> str:
    """Return the likely meaning of a name that is not installed."""
    head, colon, attribute = name.partition(":")
    file = Path(head)
    if colon or file.suffix:
        module = file.stem or "my_module"
        attribute = attribute if colon else file.suffix.removeprefix(".").removesuffix("py")
        attribute = attribute or "".join(each.capitalize() for each in module.split("_"))
        return f"; for one of your own name module and class, as in `{module}:{attribute}`, in its folder"
    import difflib  # here, so that `--help` stays quick

    near = difflib.get_close_matches(name, list(installed), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


class PluginImportError(InputError):
    """The plugin `name` is installed by `distribution` but does not import.

    `distribution` is None for a reference `module:name`, whose code is the user's own. `mends` says whether it
    helps to install that distribution again.
    """

    def __init__(
        self, kind: str, name: str, distribution: str | None, reason: str, *, mends: bool = True
    ) -> None:
        self.kind = kind
        self.name = name
        self.distribution = distribution
        self.reason = reason
        super().__init__(
            f"the {kind} {name!r} does not import: {reason}"
            if distribution is None or not mends
            else f"the {kind} {name!r} of the distribution {distribution!r} does not import: {reason}; "
            f"reinstall it with `{pip_install('--force-reinstall', distribution)}`"
        )


class UnknownTaskError(InputError):
    """The benchmark has no task `task_id`."""

    def __init__(self, benchmark: str, task_id: str, near: Iterable[str] = ()) -> None:
        self.benchmark = benchmark
        self.task_id = task_id
        self.near = list(near)
        meant = f"did you mean {', '.join(map(repr, self.near))}?" if self.near else ""
        hint = meant or "the command `tasks` lists those there are"
        super().__init__(f"{benchmark} has no task {task_id!r}; {hint}")


class MissingExtraError(InputError):
    """`purpose` needs `package`, which the extra `extra` of `distribution` brings."""

    def __init__(self, purpose: str, package: str, distribution: str, extra: str) -> None:
        self.purpose = purpose
        self.package = package
        self.distribution = distribution
        self.extra = extra
        super().__init__(
            f"{purpose} needs {package}, which is not installed: "
            f"`{pip_install(f'{distribution}[{extra}]')}` adds it"
        )


class NotEstimableError(InputError):
    """The results at hand cannot answer the question: too few trials, tasks or clusters."""


class RecordError(InputError):
    """A record in a file or on the wire does not fit its schema."""


class SchemaVersionError(RecordError):
    """A record was written by a newer Proctor than this one; `file` has it, if that is known."""

    def __init__(
        self, record: str, found: int, known: int, readable_by: str, file: Path | None = None
    ) -> None:
        self.record = record
        self.found = found
        self.known = known
        self.readable_by = readable_by
        self.file = file
        super().__init__(
            f"{f'{file}: ' if file else ''}{record} has schema version {found}, this bench-core reads up to {known}: "
            f"use {readable_by}"
        )

    def in_file(self, file: Path) -> SchemaVersionError:
        """Return the same error with the name of the file that has the record."""
        return SchemaVersionError(self.record, self.found, self.known, self.readable_by, file)


class RunFolderError(InputError):
    """A run folder is missing, damaged or belongs to another run."""


@dataclass(frozen=True)
class LockHolder:
    """The process that holds a lock alone."""

    pid: int
    host: str
    since: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} since {self.since}"


class RunFolderBusyError(RunFolderError):
    """Another process, `holder`, is writing the run folder `path`."""

    def __init__(self, path: Path, holder: LockHolder | None = None) -> None:
        self.path = path
        self.holder = holder
        super().__init__(
            f"{path} is being written by {holder or 'another process'}: wait for it, or stop it "
            f"and run the same command again"
        )


class RefusedFileError(RunFolderError, OSError):
    """The file `path` of a folder that others may have made is not opened: `problem` says why.

    It is also an `OSError`, as that of a file that cannot be opened is.
    """

    def __init__(self, path: Path, problem: str) -> None:
        self.path = path
        self.problem = problem
        super().__init__(f"{path} {problem}")

    def __str__(self) -> str:
        return f"{self.path} {self.problem}"


class EnvironmentFaultError(BenchError):
    """The VM, site, browser or model provider failed; the trial gets no score.

    Attributes:
        fault: Its row in `bench_core.faults.FAULTS`, with its owner and its consequences.
        lasting: Whether another try would only meet it again.
        flag: Set on the trial's result, None for none.
        answered: Whether the model that failed had answered in the same conversation before.
    """

    fault: str = "environment"
    lasting: bool = False
    flag: str | None = None
    answered: bool = False

    def __init__(self, *arguments: object, fault: str | None = None) -> None:
        super().__init__(*arguments)
        self.fault = fault or self.fault


class BrowserError(EnvironmentFaultError):
    """Chromium is missing, did not start, or died."""


class SuspendedError(EnvironmentFaultError):
    """The run's process, its machine or a process of the trial's could not run for a while."""

    fault = "clock_gap"
    flag = "suspended"


class HarnessFaultError(EnvironmentFaultError):
    """A folder, file, thread, pipe or process that the run itself needs failed; another try may find it mended."""

    fault = "harness_fault"


class EvaluationError(BenchError):
    """The evaluator could not decide; the trial gets no score."""


class BudgetExceededError(BenchError):
    """A limit of dollars, tokens or minutes was reached."""


class AgentError(BenchError):
    """The agent's own code failed; the end state it left is still scored.

    Attributes:
        fault: Its row in `bench_core.faults.FAULTS`, one of the agent's.
    """

    fault: str = "agent_error"

    def __init__(self, *arguments: object, fault: str | None = None) -> None:
        super().__init__(*arguments)
        self.fault = fault or self.fault
