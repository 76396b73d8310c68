"""The `doctor` command: is everything reachable and of the right version, and how to fix it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import click

from bench_core import exit_codes
from bench_core.cli.tables import echo_wrapped
from bench_core.errors import pip_install
from bench_core.terminal import plain_text

__all__ = [
    "Check",
    "CheckResult",
    "agent_checks",
    "execute_doctor",
    "failed",
    "installed",
    "ok",
    "sealing_checks",
    "warned",
]

_MARKS = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}


@dataclass(frozen=True)
class CheckResult:
    """The result of one check; `fix` is the user's remedy."""

    status: Literal["ok", "warn", "fail"]
    detail: str = ""
    fix: str = ""


@dataclass(frozen=True)
class Check:
    """A named question about the machine, answered by calling `run`."""

    name: str
    run: Callable[[], CheckResult]


def ok(detail: str = "") -> CheckResult:
    """Return: all is well."""
    return CheckResult("ok", detail)


def warned(detail: str, fix: str = "") -> CheckResult:
    """Return: most things work without it."""
    return CheckResult("warn", detail, fix)


def failed(detail: str, fix: str) -> CheckResult:
    """Return: this must be fixed first."""
    return CheckResult("fail", detail, fix)


def installed(
    packages: Iterable[str], optional: Mapping[str, str] = MappingProxyType({})
) -> CheckResult:
    """Report the installed versions; `optional` has the install commands of packages that may be missing."""
    from bench_core.run_folder import package_versions

    names = tuple(packages)
    versions = package_versions(names)
    missing = [name for name in names if name not in versions]
    required = [name for name in missing if name not in optional]
    if required:
        return failed(f"not installed: {', '.join(required)}", pip_install(*required))
    present = ", ".join(f"{name} {versions[name]}" for name in names if name in versions)
    if not missing:
        return ok(present)
    adds = pip_install(*(optional[name] for name in missing))
    return warned(f"{present}; not installed: {', '.join(missing)}", adds)


def sealing_checks() -> list[Check]:
    """Return a check for each thing that can be kept from agents: whether it is on this machine."""
    from bench_core.sealing.parts import SEALED_PARTS

    return [
        Check(f"sealed: {name}", lambda name=name: _sealed(name))  # type: ignore[misc]  # its default
        for name in SEALED_PARTS
    ]


def _sealed(name: str) -> CheckResult:
    from bench_core.sealing.parts import SEALED_PARTS, unsealed_parts

    why = unsealed_parts().get(name)
    if why is None:
        return ok(SEALED_PARTS[name])
    if name != "answers":  # without it nothing else is
        return ok(f"no: {why}")
    return warned(
        f"answers cannot be hidden, results will say so: {why}",
        "allow user namespaces (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone=1, "
        "kernel.apparmor_restrict_unprivileged_userns=0; in a container --security-opt seccomp=unconfined), "
        "or run as root",
    )


def agent_checks(agent: str | None, model: str | None = None) -> list[Check]:
    """Return the check of the agent of a planned run with this model; none if it is not decided."""
    return [] if agent is None else [Check(f"agent {agent}", lambda: _agent(agent, model))]


def _agent(name: str, model: str | None) -> CheckResult:
    from bench_core.discovery import load_agent  # imports the agent
    from bench_core.errors import BenchError

    try:
        agent = load_agent(name)
    except BenchError as error:
        return failed(
            str(error), "`bench-core plugins --kind agent` lists those that are installed"
        )
    if model is None and hasattr(agent, "check_model"):
        from bench_core.protocols import TrialContext

        try:
            agent.check_model(TrialContext(run_id="doctor", folder=Path(), agent=name))
        except BenchError as error:
            return failed(str(error), "add --model PROVIDER:MODEL, to this command and to `run`")
    return ok("it can be loaded")


def run_checks(checks: Iterable[Check]) -> list[tuple[str, CheckResult]]:
    """Run the checks in order; one that raises has failed with its exception."""
    return [(check.name, _answer(check)) for check in checks]


def execute_doctor(checks: Iterable[Check], *, as_json: bool = False) -> None:
    """Print the checks' results and exit: 0 all usable, 1 something must be fixed."""
    results = run_checks(checks)
    passed = all(result.status != "fail" for _, result in results)
    listed = [{"name": name, **asdict(result)} for name, result in results]
    record = {"ok": passed, "checks": listed}
    if as_json:
        click.echo(json.dumps(record, indent=2))
    else:
        echo_wrapped(_as_text(results))
    if not passed:
        raise click.exceptions.Exit(exit_codes.FELL_SHORT)


def _answer(check: Check) -> CheckResult:
    try:
        return check.run()
    except Exception as error:  # noqa: BLE001  # a check probes foreign software: any fault is its finding
        from bench_core.errors import InputError

        if isinstance(error, InputError):
            return failed(str(error), "correct what it names")
        return failed(f"{type(error).__name__}: {error}", "run the check by hand to learn more")


def _as_text(results: Sequence[tuple[str, CheckResult]]) -> str:
    names = max((len(name) for name, _ in results), default=0)
    lines = [line for name, result in results for line in _lines(name, result, names)]
    counts = {status: sum(r.status == status for _, r in results) for status in _MARKS}
    summary = f"{counts['ok']} ok, {counts['warn']} to look at, {counts['fail']} to fix"
    return "\n".join([*lines, "", summary])


def _lines(name: str, result: CheckResult, names: int) -> list[str]:
    mark, colour = _MARKS[result.status]
    head = f"{click.style(mark, fg=colour)} {name:<{names}}  {plain_text(result.detail)}".rstrip()
    if result.status == "ok" or not result.fix:
        return [head]
    return [head, f"  {'':<{names}}  fix: {plain_text(result.fix)}"]
