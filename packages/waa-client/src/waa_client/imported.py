"""Import of trials that another harness ran on desktops, whichever of the known layouts they are in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from waa_client.openadapt import ImportedExecutions, import_executions, is_openadapt
from waa_client.tasks import BENCHMARK
from waa_client.vanilla import Imported, import_results

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from bench_core.records import Task
    from waa_client.options import WaaTaskOptions


def import_tree(
    results: Path,
    out: Path,
    tasks: Sequence[Task],
    *,
    only: str | None = None,
    agent: str = "imported",
    model: str | None = None,
    benchmark: str = BENCHMARK,
) -> Imported | ImportedExecutions:
    """Read the results of WAA's, V2's, OSWorld's or openadapt-evals' harness into the run folder `out`.

    See `waa_client.vanilla.import_results` and `waa_client.openadapt.import_executions`.

    Raises:
        InputError: There is nothing to import.
        RunFolderError: `out` exists.
    """
    given = {"agent": agent, "model": model, "benchmark": benchmark}
    if is_openadapt(results):
        return import_executions(results, out, tasks, **given)  # type: ignore[arg-type]
    return import_results(results, out, tasks, only=only, **given)  # type: ignore[arg-type]


def planned_tasks(options: WaaTaskOptions, benchmark: str = BENCHMARK) -> tuple[Task, ...]:
    """Return the planned tasks of a tree; for another benchmark without task files none: those found count.

    Raises:
        InputError: The benchmark is WAA, and no task files were found.
    """
    if benchmark == BENCHMARK:
        return options.known()
    if options.tasks_dir is None:
        return ()
    return tuple(each.model_copy(update={"benchmark": benchmark}) for each in options.known())
