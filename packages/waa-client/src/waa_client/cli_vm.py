"""The commands `vm ...`: the machines that a provider starts for WAA, over `bench_core.machines`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bench_core.cli import (
    Check,
    CheckResult,
    execute_doctor,
    json_option,
    machine_commands,
    run_coroutine,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pydantic import JsonValue

    from bench_core.machines import Finding, Machine

_Command = TypeVar("_Command", bound="Callable[..., Any]")
_SPEC_FILE = click.Path(dir_okay=False, path_type=Path)


def _chosen(command: _Command) -> _Command:
    """Add the options that choose VMs, as those of `run` do."""
    for option in (
        click.option("--vm-spec", type=_SPEC_FILE, metavar="FILE",
                     help="JSON specification of the VMs; without it, `process` starts simulated desktops."),
        click.option("--vm", "asked", metavar="PROVIDER:N", required=True,
                     help="Which provider and how many, such as qemu:4."),
    ):  # fmt: skip
        command = option(command)
    return command


@click.group()
def vm() -> None:
    """Prepare, start, save, reset and measure the VMs of a provider; `run --vm PROVIDER:N` uses them."""


# the same commands as `bench-core machines`, whose machines these are
for _command in machine_commands():
    vm.add_command(_command)


@vm.command()
@_chosen
@json_option
def doctor(asked: str, vm_spec: Path | None, *, as_json: bool) -> None:
    """Check what VMs need before one is started: programs, KVM by booting, images, ports, the clock."""
    from bench_core.machines import machine_findings

    provider, _, spec = _read(asked, vm_spec)
    found = run_coroutine(machine_findings(provider, spec))
    execute_doctor([_check(each) for each in found], as_json=as_json)


@vm.command()
@_chosen
@click.option(
    "--disk", metavar="FILE", help="qemu: image of an installed Windows; it is only read."
)
@click.option(
    "--qmp",
    multiple=True,
    metavar="HOST:PORT",
    help="attached: QEMU's control port; repeat it for several VMs.",
)
@click.option("--image", metavar="NAME", help="docker: WAA's image.")
@click.option("--storage", metavar="VOLUME", help="docker: the volume with the installed disk.")
@click.option(
    "--accelerator",
    type=click.Choice(["kvm", "tcg"]),
    default="kvm",
    show_default=True,
    help="tcg is many times slower and runs anywhere.",
)
@click.option(
    "--memory-mb",
    type=click.IntRange(min=1),
    default=8192,
    show_default=True,
    metavar="N",
    help="Memory of each VM.",
)
@click.option(
    "--cpus",
    type=click.IntRange(min=1),
    default=8,
    show_default=True,
    metavar="N",
    help="Processors of each VM.",
)
@click.option("--unscored", is_flag=True, help="The VMs have no evaluator on port 5050.")
@click.option("--write-only", is_flag=True, help="Write the specification and start nothing.")
@json_option
def prepare(
    asked: str, vm_spec: Path | None, *, write_only: bool, as_json: bool, **wishes: Any
) -> None:  # fmt: skip
    """Write FILE if it is missing; boot one VM, save its state for all others, and prove one reset."""
    from waa_client.kept_vms import measure_vm
    from waa_client.vm_specs import VmWishes, waa_spec, write_spec

    provider = _asked(asked)[0]
    if vm_spec is not None and not vm_spec.exists():
        scored = not wishes.pop("unscored")
        write_spec(vm_spec, waa_spec(provider, VmWishes(scored=scored, **wishes)))
        click.echo(f"wrote {vm_spec}", err=True)
    if write_only:
        return
    provider, _, spec = _read(asked, vm_spec)
    measured = run_coroutine(measure_vm(provider, spec, 1))
    click.echo(measured.model_dump_json(indent=2) if as_json else measured.text)


@vm.command()
@_chosen
@click.option(
    "--hours",
    type=click.IntRange(min=1),
    default=12,
    show_default=True,
    metavar="N",
    help="How long they are kept; then `reap` removes them.",
)
@json_option
def start(asked: str, vm_spec: Path | None, *, hours: int, as_json: bool) -> None:  # fmt: skip
    """Start VMs and keep them: runs with the same VMs use them and leave them running."""
    from waa_client.kept_vms import start_vms

    provider, count, spec = _read(asked, vm_spec)
    _show(run_coroutine(start_vms(provider, count, spec, hours=hours)), as_json=as_json)


@vm.command()
@click.argument("name")
@click.argument("tag")
@json_option
def snapshot(name: str, tag: str, *, as_json: bool) -> None:
    """Save the state of a kept VM as TAG, for `run --reset snapshot:TAG`."""
    from waa_client.kept_vms import snapshot_vm

    _show([run_coroutine(snapshot_vm(name, tag))], as_json=as_json)


@vm.command()
@click.argument("name")
@click.option("--tag", default="initial", show_default=True, metavar="TAG", help="The saved state.")
@json_option
def reset(name: str, tag: str, *, as_json: bool) -> None:
    """Restore a kept VM to a saved state; exit code 1 if it is not proven clean."""
    from waa_client.kept_vms import reset_vm

    _show([run_coroutine(reset_vm(name, tag))], as_json=as_json)


@vm.command()
@_chosen
@click.option(
    "--times",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="N",
    help="How many resets.",
)
@json_option
def measure(asked: str, vm_spec: Path | None, *, times: int, as_json: bool) -> None:  # fmt: skip
    """Measure starts and resets on a separate VM; each reset is proven clean."""
    from waa_client.kept_vms import measure_vm

    provider, _, spec = _read(asked, vm_spec)
    measured = run_coroutine(measure_vm(provider, spec, times))
    click.echo(measured.model_dump_json(indent=2) if as_json else measured.text)


def _asked(text: str) -> tuple[str, int]:
    from waa_client.provided import provided_vms

    found = provided_vms([text])
    if found is None:
        raise click.UsageError(
            f"--vm {text}: give an installed provider and a number, such as qemu:4"
        )
    return found


def _read(text: str, vm_spec: Path | None) -> tuple[str, int, dict[str, JsonValue]]:
    from waa_client.provided import read_vm_spec

    provider, count = _asked(text)
    return provider, count, read_vm_spec(vm_spec, provider)


def _show(found: Sequence[Machine], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([each.model_dump(mode="json") for each in found], indent=2))
        return
    for each in found:
        urls = ", ".join(f"{name} {url}" for name, url in sorted(each.urls.items()))
        click.echo(f"{each.key}: {urls}")


def _check(finding: Finding) -> Check:
    result = CheckResult(finding.status, finding.detail, finding.fix)
    return Check(finding.name, lambda: result)
