"""The messages between a run and its workers; framing and spend codec are those of agents' processes.

==========  =====================  ============================================================
from        type                   fields
==========  =====================  ============================================================
both        `hello`                `protocol`, `bench_core`
the run     `build`                `builder`, `recipe`, `spec`, `redact`, `packages`, `run_folder`, `probe`,
                                   `artifacts`, `start_s`, `lease_s`, `sign_s`
the worker  `ready`                `packages`, `agent`, `python`, `host`, `pid`, `niceness`, `shared`
the run     `run`                  `token`, `task`, `context`, `bounded`
the run     `answer`               `id`, `go`, `reason`: the answer to a `spend`
the run     `cancel`               `token`
the run     `acknowledge`          `token`, `accepted`: the result is in `results.jsonl`, or was refused
the run     `alive`                now and then; without one for `lease_s` the worker ends
the worker  `spend`                `id`, `source`, `usage`, `cost_usd`: a model call
the worker  `own`, `disown`        `pgid`: a process group it started
the worker  `progress`             `level`, `name`, `text`: a line of its log
the worker  `alive`                every `sign_s` seconds, while its event loop turns
the worker  `file`                 `token`, `path`, `data`, `sha256`: a piece of a file, the last with its digest
the worker  `result`               `token`, `value`, `flags`, `staged`; no `value` if it was cancelled.
                                   With an object store: `stored`, the place of the files, or `problem`
the worker  `error`                as of agents' processes: it cannot work
==========  =====================  ============================================================
"""

from __future__ import annotations

from typing import Any

from bench_core.errors import InputError

_DIGITS = 12


def refuse_mismatch(name: str, wanted: dict[str, Any], ready: dict[str, Any]) -> None:
    """Refuse a worker that would run other code than the run was asked for.

    Args:
        name: Which worker.
        wanted: `packages` and `agent` as they are here.
        ready: The worker's description of itself.

    Raises:
        InputError: They differ; it names both.
    """
    found = ready.get("packages") or {}
    for package, digest in wanted["packages"].items():
        if found.get(package) != digest:
            raise InputError(
                f"{name} has another {package} than this machine: {_short(found.get(package))} there, "
                f"{_short(digest)} here (SHA-256 of its files). Install the same wheels on every node"
            )
    agent = ready.get("agent")
    if agent != wanted["agent"]:
        raise InputError(
            f"{name} has another agent than this machine: {_short(agent)} there, "
            f"{_short(wanted['agent'])} here (SHA-256 of its program). Install the same on every node"
        )


def _short(digest: object) -> str:
    return str(digest)[:_DIGITS]
