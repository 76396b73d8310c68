"""One VM, one evaluator, one journal: the work behind the routes."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, PositiveFloat

from bench_core.closing import Closing
from bench_core.errors import BenchError, EnvironmentFaultError, InputError
from bench_core.records import Record, World
from waa_server_ext.__about__ import __version__
from waa_server_ext.evaluation.evaluators import Evaluator
from waa_server_ext.evaluation.tasks import TaskFolder
from waa_server_ext.evaluation.verdicts import SetupReport, Verdict
from waa_server_ext.server.bodies import EvaluationRequest
from waa_server_ext.server.journal import ANONYMOUS, EvaluationJournal
from waa_server_ext.server.rescore import replayed
from waa_server_ext.vm.client import BodyStore, VmHttp, VmTransportError, vm_address
from waa_server_ext.vm.exchanges import Body, VmExchange
from waa_server_ext.vm.probe import world_of

_DIGEST = re.compile(r"[0-9a-f]{64}")
_REACH_S = 5.0


class VmUnreachableError(EnvironmentFaultError):
    """The VM could not be reached before anything was done to it."""


class UnknownBodyError(InputError):
    """No body is stored under `digest`."""

    def __init__(self, digest: str) -> None:
        self.digest = digest
        super().__init__(f"no body is kept under {digest[:80]!r}")


class ServiceSettings(Record):
    """The settings of a server, besides its evaluator's.

    Attributes:
        vm: `host` or `host:port`.
        timeout_s: Longest that one evaluation or setup may take.
        tasks: The folder of tasks that requests may name.
        vm_token: Sent to the VM as bearer token; a simulated one may ask for it.
    """

    vm: str
    cache: Path
    tasks: Path | None = None
    timeout_s: PositiveFloat = 900.0
    vm_token: str | None = Field(default=None, repr=False)


class Service(Closing):
    """Evaluates one request after another and never the same one twice; a context manager.

    Closing it does not close the evaluator, which its maker closes.
    """

    def __init__(self, evaluator: Evaluator, settings: ServiceSettings) -> None:
        self.settings = settings
        self.tasks = TaskFolder(settings.tasks) if settings.tasks else None
        self._evaluator = evaluator
        self._description = evaluator.describe()
        vm_address(settings.vm)
        self._journal = EvaluationJournal(settings.cache)
        self._bodies = BodyStore(settings.cache / "bodies")
        self._turn = threading.Lock()
        self._waiting = 0
        self._started = time.monotonic()

    def evaluate(self, request: EvaluationRequest) -> dict[str, Any]:
        """Return the verdict as JSON: a new one, or the stored one of its key.

        Raises:
            KeyRefusedError: See `EvaluationJournal.claim`.
            VmUnreachableError: The VM did not answer; the key may be used again.
        """
        claim = self._journal.claim(request.key or f"{ANONYMOUS}{uuid.uuid4()}", request.digest)
        if claim.answer is not None:
            return claim.answer
        try:
            verdict = self._evaluated(request)
        except VmUnreachableError:
            self._journal.release(claim)  # never begun: the key may be used again
            raise
        except BenchError:
            self._journal.release(claim)  # it was refused before the VM was contacted
            raise
        except BaseException:
            self._journal.abandon(claim)  # how far it came is unknown: the key stays refused
            raise
        answer: dict[str, Any] = json.loads(verdict.model_dump_json())  # NaN becomes "NaN"
        self._journal.finish(
            claim, answer, task=request.task, action_history=request.action_history
        )
        return answer

    def rescore(self, request: EvaluationRequest, transcript: Sequence[VmExchange]) -> Verdict:
        """Evaluate again on a VM that answers from `transcript`; the real one is not contacted.

        A call missing from the transcript fails in transport and leaves no score.
        """
        with self._turn, replayed(transcript, self._bodies) as vm:
            return self._evaluator.evaluate(
                request.task,
                request.action_history,
                vm=vm.address,
                deadline=self._deadline(),
                replayed=True,
            )

    def body(self, digest: str) -> bytes:
        """Return a body that a transcript names by its digest.

        Raises:
            UnknownBodyError: No body is stored under this digest.
        """
        known = _DIGEST.fullmatch(digest) and self._bodies.load(
            Body(sha256=digest, size=0, file=digest)
        )
        if not isinstance(known, bytes):
            raise UnknownBodyError(digest)
        return known

    def set_up(self, request: EvaluationRequest) -> SetupReport:
        """Run the setup steps of a task.

        Raises:
            VmUnreachableError: Nothing was done.
        """
        with self._turn:
            self._reach()
            return self._evaluator.set_up(
                request.task, vm=self.settings.vm, deadline=self._deadline()
            )

    def health(self) -> dict[str, Any]:
        """Return whether evaluator and VM are available."""
        world, why = self._probe()
        reachable = world is not None
        described = self._description
        return {
            "status": "ok" if reachable else "degraded",
            "version": __version__,
            "evaluator": {
                "kind": described.kind,
                "fidelity": described.fidelity,
                "tree": described.tree,
                "commit": described.commit,
                "stubbed": list(described.stubbed),
                "missing": dict(described.missing),
            },
            "vm": {
                "address": self.settings.vm,
                "reachable": reachable,
                "world": world,
                "error": why,
            },
            "busy": self._turn.locked(),
            "uptime_s": round(time.monotonic() - self._started, 3),
        }

    def capabilities(self) -> dict[str, Any]:
        """Return the evaluator's capabilities, by name."""
        return {"version": __version__, **self._description.model_dump(mode="json")}

    def close(self) -> None:
        """Close the journal; safe to call twice."""
        self._journal.close()

    def _evaluated(self, request: EvaluationRequest) -> Verdict:
        arrived = time.monotonic()
        with self._turn:
            waited = time.monotonic() - arrived
            self._reach()
            verdict = self._evaluator.evaluate(
                request.task,
                request.action_history,
                vm=self.settings.vm,
                deadline=self._deadline(),
            )
        # Docker's forward accepts connections before the VM listens
        calls = [call for call in verdict.transcript if call.target == "vm"]
        if bool(calls) and all(call.status is None for call in calls):
            raise VmUnreachableError(
                f"the VM {self.settings.vm} accepted connections and answered none: is it still "
                f"starting? Nothing was evaluated; ask again"
            )
        timings = verdict.timings.model_copy(update={"waited": round(waited, 6)})
        return verdict.model_copy(update={"timings": timings})

    def _deadline(self) -> float:
        return time.monotonic() + self.settings.timeout_s

    def _reach(self) -> None:
        """See whether something listens, without a request: calls to the VM are recorded."""
        host, port = vm_address(self.settings.vm)
        try:
            socket.create_connection((host.strip("[]"), port), timeout=_REACH_S).close()
        except OSError as error:
            raise VmUnreachableError(
                f"the VM {self.settings.vm} is unreachable: {error}; `waa-server-ext doctor --vm "
                f"{self.settings.vm}` finds out why. Nothing was done; ask again"
            ) from error

    def _probe(self) -> tuple[World | None, str | None]:
        """Return the VM's world, or `None` and the reason why it does not answer."""
        token = self.settings.vm_token
        with VmHttp(self.settings.vm, timeout_s=_REACH_S, max_bytes=65536, token=token) as http:
            try:
                answer = http.get("/probe")
            except VmTransportError as error:
                return None, error.reason
        if answer.status != 200:  # HTTP
            return None, f"GET /probe: {answer.status}"
        return world_of(answer), None
