"""The files hidden from the agents of a run, and whether the run may begin if none can be hidden."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_core.errors import InputError
from bench_core.run_folder.provenance import PROCTOR_DISTRIBUTIONS
from bench_core.sealing.files import SealedFiles, answers_of, sealed_files
from bench_core.sealing.machine import how_to_seal
from bench_core.sealing.parts import unsealed_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from bench_core.records import AgentCode
    from bench_core.run_spec import RunSpec


@dataclass(frozen=True)
class SealedRun:
    """The files hidden from a run's agents.

    Attributes:
        files: The files; None if they are not hidden.
        reason: Why not.
        required: Whether trials must not run then.
    """

    files: SealedFiles | None = None
    reason: str | None = None
    required: bool = False

    def check(self, code: AgentCode) -> None:
        """Refuse an agent from which nothing is hidden, if that is required.

        Raises:
            InputError: It works in the process of the run, and is not Proctor's own.
        """
        proctors = (code.distribution or "").partition("==")[0] in PROCTOR_DISTRIBUTIONS
        if self.required and code.sealed is None and not proctors:
            raise InputError(
                "--sealing require: this agent works in the process of the run, from which nothing can be "
                "hidden; use `--agent-process own`"
            )


@contextlib.contextmanager
def sealed_run(
    benchmark: Any, spec: RunSpec, out: Path, more: Iterable[Path | str] = ()
) -> Iterator[SealedRun]:
    """Find the files to hide from the agents of a run in `out`, which is made for that, and `more`.

    Raises:
        InputError: Files that must be sealed cannot be.
    """
    if spec.sealing == "off":
        yield SealedRun(reason="--sealing off")
        return
    required, way = spec.sealing == "require", how_to_seal()
    if way.way is None:
        yield _open(way.reason, required=required)
        return
    # no machine seals the network
    if required and (
        missing := [f"{n}: {why}" for n, why in unsealed_parts().items() if n != "network"]
    ):
        raise InputError(f"--sealing require: not sealed on this machine: {'; '.join(missing)}")
    new = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    try:
        files = sealed_files(out, (*answers_of(benchmark, spec.agent), *map(Path, more)))
        if files.problem is not None:
            yield _open(files.problem, required=required)
        else:
            yield SealedRun(files=files, required=required)
    finally:
        if new:
            with contextlib.suppress(OSError):
                out.rmdir()  # the run was refused before anything was written


def _open(reason: str | None, *, required: bool) -> SealedRun:
    if required:
        raise InputError(
            f"--sealing require: files cannot be hidden from agents on this machine: {reason}"
        )
    return SealedRun(reason=reason)
