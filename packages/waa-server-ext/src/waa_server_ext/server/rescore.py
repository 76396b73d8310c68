"""Scoring stored verdicts again from their transcripts: no VM, no web, no waiting."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bench_core.errors import EnvironmentFaultError, InputError
from bench_core.records import Record
from bench_core.records.problems import problems_of
from waa_server_ext.evaluation.assets import AssetStore
from waa_server_ext.evaluation.evaluators import Evaluator, EvaluatorSettings
from waa_server_ext.evaluation.isolation import IsolatedEvaluator
from waa_server_ext.evaluation.verdicts import Verdict
from waa_server_ext.fixture.replay import ReplayVm
from waa_server_ext.fixture.vm import loopback_addresses
from waa_server_ext.server.journal import stored_verdicts
from waa_server_ext.vm.client import VM_PORT, BodyStore
from waa_server_ext.vm.exchanges import VmExchange

_TRIES = 50


class Rescored(Record):
    """A stored verdict and the one that its transcript gives now.

    Attributes:
        missed: Calls missing from the transcript: another evaluator asks differently, and
            the new score is `None`.
    """

    key: str
    task: str
    before: Verdict
    after: Verdict
    missed: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether the scores differ; `None` and `None` are the same."""
        return self.before.score != self.after.score


def rescore(
    settings: EvaluatorSettings, cache: Path, keys: Sequence[str] = ()
) -> Iterator[Rescored]:
    """Yield every verdict of the server whose cache is `cache`, scored again; or those of `keys`.

    The journal is not changed; a server may run meanwhile.

    Raises:
        InputError: The journal or the key does not exist, or the evaluator cannot be made.
    """
    records = list(stored_verdicts(cache))
    known = {record["key"] for record in records}
    if not records:
        raise InputError(f"{cache} holds no stored verdicts: give the --cache of a server that ran")
    if unknown := sorted(set(keys) - known):
        raise InputError(f"{cache} holds no verdict of the key {unknown[0]!r}")
    with tempfile.TemporaryDirectory(prefix="waa-rescore-") as scratch:
        own = settings.model_copy(
            update={
                "cache": Path(scratch) / "cache", "assets": Path(scratch) / "assets",
                "offline": True, "skip_sleeps": True,
            }
        )  # fmt: skip
        with IsolatedEvaluator(own) as evaluator:
            for record in records:
                if not keys or record["key"] in keys:
                    yield _again(evaluator, record, BodyStore(cache / "bodies"), own)


def _again(
    evaluator: Evaluator, record: Mapping[str, Any], bodies: BodyStore, settings: EvaluatorSettings
) -> Rescored:
    key, task = record["key"], record["task"]
    try:
        before = Verdict.model_validate(record["answer"])
    except ValidationError as error:
        what = problems_of(error, Verdict)
        raise InputError(f"the stored verdict of {key!r} does not fit: {what}") from error
    # Provide the recorded downloads as this evaluation's assets
    assert settings.assets is not None  # noqa: S101  # set just before
    store = AssetStore(settings.assets)
    for call in before.transcript:
        data = bodies.load(call.body) if call.target == "web" and call.body else None
        if data is not None and call.status == 200:  # HTTP
            store.add(call.path, data)
    with replayed(before.transcript, bodies) as vm:
        after = evaluator.evaluate(task, record["action_history"], vm=vm.address, replayed=True)
    return Rescored(
        key=key, task=str(task.get("id")), before=before, after=after, missed=tuple(vm.missed)
    )


@contextlib.contextmanager
def replayed(transcript: Sequence[VmExchange], bodies: BodyStore) -> Iterator[ReplayVm]:
    """Replay on a loopback address whose port 5000 is free: vanilla's code can use no other.

    Raises:
        EnvironmentFaultError: No such address is free.
    """
    vm = _listening(transcript, bodies)
    try:
        yield vm
    finally:
        vm.stop()


def _listening(transcript: Sequence[VmExchange], bodies: BodyStore) -> ReplayVm:
    for host, _ in zip(loopback_addresses(), range(_TRIES), strict=False):
        vm = ReplayVm(transcript, bodies, host=host)
        try:
            vm.start()
        except InputError:  # taken: the next address may be free
            continue
        return vm
    raise EnvironmentFaultError(
        f"port {VM_PORT} is taken on {_TRIES} loopback addresses, or only 127.0.0.1 exists here: "
        f"free it to replay"
    )
