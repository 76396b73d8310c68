"""The interface of evaluators, and the choice of one by the settings."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from pydantic import Field, JsonValue, PositiveFloat, PositiveInt

from bench_core.errors import InputError
from bench_core.records import Record
from waa_server_ext.evaluation.verdicts import SetupReport, Verdict

Fidelity = Literal["v2", "orig", "fixed"]
"""The rules that score: WindowsAgentArena-V2's, upstream's, or V2's with known mistakes corrected."""

VANILLA_KIND: Literal["borrowed"] = "borrowed"
"""The name of vanilla's evaluators in answers since 0.1: clients and stored verdicts contain the word."""

_NATIVE = ("waa_server_ext.native", "NativeEvaluator")
_VANILLA = ("waa_server_ext.vanilla", "VanillaEvaluator")


UNKNOWN_BROWSER = "unknown"
"""Stands for the address of a VM's browser that must not be contacted."""


class EvaluatorSettings(Record):
    """Everything an evaluator is made from; can be sent to another process.

    Attributes:
        cache: A folder that evaluators may write to: scratch folders, downloads, bodies of transcripts.
        checkout: A Windows Agent Arena checkout whose evaluators to run; `None` for native ones.
        fidelity: `None` for the default: `v2`, or the checkout's own.
        cdp: `host:port` of the VM's browser's debugging port; by default 9222 on its host, as in vanilla.
        assets: A folder of reference files by URL (see `waa_server_ext.evaluation.assets`), asked before the web.
        offline: Never ask the web.
        allow_hosts: Hosts that downloads may come from besides those of the task set and the VM.
        max_download: The most bytes of one answer.
        vm_timeout_s: Longest wait for one answer of the VM, which itself gives commands 120 s; if
            vanilla sets its own timeout, that holds.
        web_timeout_s: Longest wait for one download.
        max_memory: The most bytes of memory of a worker process, if the system can limit it.
        skip_sleeps: Do not wait when a task says `sleep`; for replays and fixtures, where nothing
            changes meanwhile.
        vm_token: Sent to the VM as bearer token; a simulated one may ask for it.
    """

    cache: Path
    checkout: Path | None = None
    fidelity: Fidelity | None = None
    cdp: str | None = None
    assets: Path | None = None
    offline: bool = False
    allow_hosts: tuple[str, ...] = ()
    max_download: PositiveInt = 256 * 1024 * 1024
    vm_timeout_s: PositiveFloat = 150.0
    web_timeout_s: PositiveFloat = 300.0
    max_memory: PositiveInt = 6 * 1024 * 1024 * 1024
    skip_sleeps: bool = False
    vm_token: str | None = Field(default=None, repr=False)


class Description(Record):
    """An evaluator's kind and capabilities: `GET /capabilities`."""

    kind: Literal["native", "borrowed"]
    fidelity: Fidelity
    tree: str | None = None
    commit: str | None = None
    getters: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    setup_steps: tuple[str, ...] = ()
    missing: dict[str, str] = Field(default_factory=dict)
    """The parts that cannot be used here: name to the reason and the way out."""
    stubbed: tuple[str, ...] = ()
    versions: dict[str, str] = Field(default_factory=dict)
    details: dict[str, JsonValue] = Field(default_factory=dict)


@runtime_checkable
class Evaluator(Protocol):
    """Scores a task on the VM it was tried on, and sets tasks up.

    Synchronous, one call at a time; callers serialize. `vm` is `host` or `host:port`; `deadline` an
    instant of `time.monotonic()`, after which every call fails. Only a broken evaluator
    raises: errors in a task go into the record.
    """

    def evaluate(
        self,
        task: Mapping[str, Any],
        action_history: Sequence[str],
        *,
        vm: str,
        deadline: float | None = None,
        replayed: bool = False,
    ) -> Verdict:
        """Run the task's `postconfig` and evaluator; never changes `task`.

        Args:
            task: The task as its file has it.
            action_history: The agent's actions; only a last `FAIL` matters.
            vm: `host` or `host:port`.
            deadline: An instant of `time.monotonic()` after which nothing is waited for.
            replayed: Whether the VM is a transcript, which also answers for its browser.
        """
        ...

    def set_up(
        self, task: Mapping[str, Any], *, vm: str, deadline: float | None = None
    ) -> SetupReport:
        """Run the steps of the task's `config`."""
        ...

    def describe(self) -> Description:
        """Describe this evaluator, without contacting a VM."""
        ...


def make_evaluator(settings: EvaluatorSettings) -> Evaluator:
    """Return the evaluator for the settings: vanilla with a checkout, native without.

    Raises:
        InputError: It cannot be made; the message says why and the way out.
    """
    module, name = _VANILLA if settings.checkout else _NATIVE
    try:
        made: Evaluator = getattr(importlib.import_module(module), name)(settings)
    except ModuleNotFoundError as error:
        if error.name is None or not module.startswith(error.name):
            raise
        raise InputError(
            "this waa-server-ext has no evaluators of its own: give the Windows Agent Arena "
            "checkout whose evaluators to run with --waa-checkout"
        ) from error
    return made
