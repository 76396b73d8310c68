"""Look at a computer before machines are started on it: programs, images, ports, provable resets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from bench_core.errors import InputError
from bench_core.machines.leases import Leases, Owner
from bench_core.machines.opening import machine_folder, open_provider
from bench_core.machines.reaping import FAULTS
from bench_core.machines.records import Finding


async def machine_findings(
    provider: str, spec: Mapping[str, JsonValue], folder: Path | None = None
) -> list[Finding]:
    """Return findings for and against starting machines of `spec`; none is started.

    A backend with further checks than its `check` has a coroutine `findings(spec)`, which returns its
    own findings.

    Args:
        provider: Its name, or its reference `module:name`.
        spec: Specification of a machine.
        folder: Folder of the journal; `machine_folder()` by default.

    Raises:
        UnknownPluginError: No installed distribution offers the provider.
        PluginImportError: The plugin does not import.
    """
    place = folder or machine_folder()
    opened = open_provider(provider, Owner(Leases(place)), place)
    try:
        opened.backend.check(spec)
    except InputError as error:
        return [Finding(name="specification", status="fail", detail=str(error), fix="mend it")]
    found = [Finding(name="specification", status="ok", detail=f"{provider} can read it")]
    own = getattr(opened.backend, "findings", None)
    try:
        if own is not None:
            found += await own(spec)
        there = await opened.list()
    except FAULTS as error:
        fix = "start what it asks, or name another one"
        return [*found, Finding(name=provider, status="fail", detail=str(error), fix=fix)]
    left = [each.name for each in there if each.state != "ready"]
    detail = f"{len(there)} are there" + (f", not running: {', '.join(left)}" if left else "")
    status = "warn" if left else "ok"
    fix = "`bench-core machines reap` removes what no one holds" if left else ""
    return [*found, Finding(name="machines", status=status, detail=detail, fix=fix)]
