"""Client of an evaluator over HTTP, which never causes two evaluations of one trial.

An evaluation changes the VM (it presses Ctrl+S and closes browsers), so every request carries an
idempotency key: after a lost answer the same key is sent again, and the server returns the verdict it
has. Without an evaluator a trial has no score.
"""

from __future__ import annotations

import asyncio
import base64
import json
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import httpx
from pydantic import ConfigDict, Field, FiniteFloat, JsonValue, ValidationError
from typing_extensions import Self

from bench_core.errors import EvaluationError, InputError
from bench_core.records import SUCCESS_SCORE, Check, Record, World
from bench_core.serving import token_for
from waa_client.errors import EvaluatorDownError

TOKEN_VARIABLE = "WAA_SERVER_TOKEN"  # noqa: S105  # the name of a variable
EVALUATORS_VARIABLE = "WAA_EVALUATE"
"""The environment variable with evaluators' addresses, separated by commas, used if no option names any."""
_T = TypeVar("_T", bound="_Answer")
# waa-server-ext's default; 5000 is the VM's own server.
_PORT = 5050
# checks of WAA's server that answer 400 if the thing they check is absent
_CHECKS = frozenset(
    {
        "/are_all_images_tagged", "/are_files_sorted_by_modified_time", "/check_if_timer_started",
        "/check_if_world_clock_exists", "/file_exists", "/folder_exists", "/is_details_view",
        "/is_directory_read_only_for_user", "/library_folders",
    }
)  # fmt: skip
_WORLDS: dict[str, World] = {"real": "real", "built-in": "built-in"}
_OK, _UNAUTHORIZED, _NOT_FOUND, _CONFLICT, _FAILED, _UNAVAILABLE = 200, 401, 404, 409, 500, 503
_GATEWAY = frozenset({502, 503, 504})
_VM_LOST = "VmTransportError"
"""The server's fault type for an evaluation to which the VM did not answer."""
_WORKER_GONE = "EvaluatorGone"
"""The server's fault type for an evaluation whose process died."""
_SHOWN = 300
_QUICK_S = 10.0
_BODY_S = 120.0


class _AskAgainError(Exception):
    """The same key may get an answer later: none came, nothing was done, or the server is `busy`."""

    def __init__(self, message: str, *, busy: bool = False) -> None:
        self.busy = busy
        super().__init__(message)


class _Answer(Record):
    """An answer of the server; fields of later versions are ignored here and stay in the artifact."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class EvaluationFault(_Answer):
    """An exception that kept the benchmark's rule from giving a score."""

    phase: str
    stage: str | None = None
    func: str | None = None
    type: str
    message: str = ""


class MetricDetail(_Answer):
    """The inputs and the score of one metric."""

    metric: str
    getter: str | None = None
    getter_arguments: str | None = None
    actual: JsonValue = None
    expected: JsonValue = None
    score: FiniteFloat | None = None
    error: str | None = None

    def check(self, *, scored: bool) -> Check:
        """Return it as a check; if the trial has a score, an error here is the reason for its zero."""
        asked = self.getter and f"found by {self.getter}({self.getter_arguments or ''})"
        raised = self.error and f"the evaluator raised {self.error}"
        unmeasured = False if scored and self.error else None
        return Check(
            criterion=self.metric,
            expected=self.expected,
            actual=self.actual,
            passed=unmeasured if self.score is None else self.score >= SUCCESS_SCORE,
            reason="; ".join(filter(None, (raised, asked))) or None,
        )


class Verdict(_Answer):
    """The answer of `POST /evaluate`.

    Attributes:
        score: The benchmark's own score; None with an `evaluation_error`, never in place of zero:
            vanilla, too, writes no result if its evaluator raises.
        vanilla_score: Vanilla's score, if a failed transport left none here.
        raw: The whole answer, transcript included.
    """

    score: FiniteFloat | None
    reason: str = ""
    evaluation_error: EvaluationFault | None = None
    vanilla_score: FiniteFloat | None = None
    metrics: tuple[MetricDetail, ...] = ()
    evaluator: str = "unknown"
    fidelity: str = "unknown"
    notes: tuple[str, ...] = ()
    raw: dict[str, Any] = Field(default_factory=dict, exclude=True, repr=False)

    @property
    def method(self) -> str:
        """Evaluator and fidelity, for the trial's result."""
        return f"/evaluate, {self.evaluator} evaluators, {self.fidelity}"

    @property
    def checks(self) -> tuple[Check, ...]:
        """One check per metric."""
        return tuple(each.check(scored=self.score is not None) for each in self.metrics)

    @property
    def transcript(self) -> list[Any]:
        """Every call to the VM that the evaluation made."""
        found = self.raw.get("transcript")
        return found if isinstance(found, list) else []

    @property
    def lost_vm(self) -> bool:
        """Whether the score is missing because the VM did not answer."""
        return self.evaluation_error is not None and self.evaluation_error.type == _VM_LOST

    @property
    def saw_vm_errors(self) -> bool:
        """Whether the VM's answers include an error that says nothing about its state; see `_is_foreign_error`."""
        return any(isinstance(each, dict) and _is_foreign_error(each) for each in self.transcript)


class SetupStep(_Answer):
    """The outcome of one setup step."""

    type: str
    ok: bool
    error: str | None = None
    seconds: FiniteFloat = 0.0


class SetupReport(_Answer):
    """The outcome of a task's setup; a step that raises is the last one.

    Attributes:
        abandoned: Whether a step raised.
    """

    ok: bool
    abandoned: bool = False
    steps: tuple[SetupStep, ...] = ()
    notes: tuple[str, ...] = ()


def evaluator_url(text: str) -> str:
    """Return the base URL of an evaluator for a host, `host:port` or URL.

    Raises:
        InputError: It is not an address of these forms.

    >>> evaluator_url("localhost"), evaluator_url("http://h:5050/evaluate")
    ('http://localhost:5050', 'http://h:5050')
    """
    from waa_client.vm.client import vm_url  # the same rules

    text = text.strip().rstrip("/").removesuffix("/evaluate")
    bare = "://" not in text and ":" not in text
    return vm_url(f"{text}:{_PORT}" if bare and text else text)


def world_of_vm(health: Mapping[str, Any]) -> World | None:
    """Return the world of an evaluator's VM from the evaluator's health; None if unknown.

    >>> world_of_vm({"vm": {"reachable": True, "world": "built-in"}})
    'built-in'
    """
    vm = health.get("vm")
    world = vm.get("world") if isinstance(vm, dict) else None
    return _WORLDS.get(world) if isinstance(world, str) else None


class EvaluationClient:
    """Client of one evaluator; use it as `async with`.

    Args:
        url: Address of the evaluator.
        token: Sent as bearer token; by default `$WAA_SERVER_TOKEN`, or the one left by a server of this user.
        timeout_s: Longest time of one evaluation, with all its tries.
        tries: The most times a key is sent when answers get lost, which takes a minute and a half;
            while the server reports that it evaluates, only `timeout_s` counts.
        wait_s: Pause before asking again; doubles up to ten times that.
        transport: Instead of real sockets.
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout_s: float = 900.0,
        tries: int = 20,
        wait_s: float = 0.5,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.url = evaluator_url(url)
        self._timeout_s = timeout_s
        self._tries = tries
        self._wait_s = wait_s
        token = token or token_for(self.url, TOKEN_VARIABLE)
        headers = {"authorization": f"Bearer {token}"} if token else {}
        # evaluators are not behind the proxies that users of V2 set
        self._http = httpx.AsyncClient(transport=transport, trust_env=False, headers=headers)

    async def evaluate(
        self,
        task: Mapping[str, Any] | str,
        action_history: Sequence[str],
        *,
        key: str | None = None,
    ) -> Verdict:
        """Evaluate the state of the VM.

        Args:
            task: The task's own definition, or `domain/stem` if the server has the files.
            action_history: Every action as vanilla records it.
            key: Names this evaluation; a new one by default.

        Raises:
            EvaluatorDownError: It does not answer, so the trial must be run again.
            EvaluationError: It refuses, or its answer is malformed.
        """
        body = {"task": task, "action_history": list(action_history)}
        answer = await self._post("/evaluate", {**body, "idempotency_key": key or new_key()})
        verdict = self._read(Verdict, answer, raw=answer)
        fault = verdict.evaluation_error
        if fault is not None and fault.type == _WORKER_GONE:
            raise EvaluatorDownError(self.url, verdict.reason)
        return verdict

    async def set_up(self, task: Mapping[str, Any] | str) -> SetupReport:
        """Run the setup steps of a task on the VM.

        Raises:
            EvaluatorDownError: It does not answer.
            EvaluationError: It refuses, or its answer makes no sense.
        """
        # once: setup steps are not safe to repeat, and the route does not take a key
        return self._read(SetupReport, await self._post("/setup", {"task": task}, tries=1))

    async def rescore(
        self,
        task: Mapping[str, Any] | str,
        action_history: Sequence[str],
        transcript: Sequence[Any],
    ) -> Verdict:
        """Evaluate again from a stored transcript, without the VM.

        Raises:
            EvaluatorDownError: It does not answer.
            EvaluationError: It cannot rescore, or the transcript does not suffice.
        """
        body = {
            "task": task, "action_history": list(action_history), "transcript": list(transcript),
        }  # fmt: skip
        answer = await self._post("/rescore", body)
        return self._read(Verdict, answer, raw=answer)

    async def transcript(self, verdict: Verdict) -> list[Any]:
        """Return a verdict's transcript with the bodies that the server stores separately, base64-encoded.

        A body that the server no longer has stays a digest; rescoring then reports it as missing.
        """
        return [await self._complete(each) for each in verdict.transcript]

    async def _complete(self, exchange: Any) -> Any:
        body = exchange.get("body") if isinstance(exchange, dict) else None
        if not isinstance(body, dict) or not body.get("file"):
            return exchange
        try:
            answer = await self._http.get(f"{self.url}/bodies/{body['file']}", timeout=_BODY_S)
        except httpx.HTTPError:
            return exchange
        if answer.status_code != _OK:
            return exchange
        data = base64.b64encode(answer.content).decode("ascii")
        return {**exchange, "body": {**body, "b64": data, "file": None}}

    async def health(self) -> dict[str, Any]:
        """Ask for the health of the evaluator and its VM.

        Raises:
            EvaluatorDownError: It does not answer, or is something else.
        """
        return await self._get("/health")

    async def capabilities(self) -> dict[str, Any]:
        """Ask for its capabilities.

        Raises:
            EvaluatorDownError: It does not answer, or is something else.
        """
        return await self._get("/capabilities")

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _get(self, path: str) -> dict[str, Any]:
        try:
            answer = await self._http.get(self.url + path, timeout=_QUICK_S)
        except httpx.HTTPError as error:
            raise EvaluatorDownError(
                self.url, f"does not answer: {str(error) or type(error).__name__}"
            ) from error
        if answer.status_code != _OK:
            raise EvaluatorDownError(self.url, f"{path}: {_refusal(answer)}")
        try:
            return self._object(answer)
        except _AskAgainError as error:
            raise EvaluatorDownError(self.url, str(error)) from error

    async def _post(
        self, path: str, body: dict[str, Any], tries: int | None = None
    ) -> dict[str, Any]:
        """Send a request until there is an answer, which the same key makes safe."""
        most, number = tries or self._tries, 1
        end = time.monotonic() + self._timeout_s
        while True:
            try:
                return await self._asked(path, body)
            except _AskAgainError as again:
                busy = again.busy and tries is None
                # a server that accepts calls and does not answer would take `timeout_s` for each try
                if time.monotonic() >= end or (number >= most and not busy):
                    raise EvaluatorDownError(self.url, str(again)) from again
            await asyncio.sleep(self._wait_s * min(10, 2 ** min(number - 1, 4)))
            number += 1

    async def _asked(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        timeout = httpx.Timeout(self._timeout_s, connect=10.0)
        try:
            answer = await self._http.post(self.url + path, json=body, timeout=timeout)
        except httpx.HTTPError as error:
            message = str(error) or type(error).__name__
            raise _AskAgainError(f"does not answer: {message}") from error
        if answer.status_code == _OK:
            return self._object(answer)
        message = f"{path}: {_refusal(answer)}"
        busy = answer.status_code == _CONFLICT and _code(answer) == "in_use"
        if busy or answer.status_code in _GATEWAY:
            raise _AskAgainError(message, busy=busy)
        if _is_missing(answer):
            raise EvaluationError(f"{self.url} has no {path}: is this waa-server-ext's address?")
        # not the trial's fault: every trial would fail like this until the variable is set
        if answer.status_code == _UNAUTHORIZED:
            raise InputError(f"{self.url}{message}; set {TOKEN_VARIABLE}")
        if not _code(answer) and answer.status_code >= _FAILED:
            raise _AskAgainError(message)  # from a gateway: the evaluator's own errors have a code
        # the server was stopped, or could not begin: another trial may succeed
        if _code(answer) == "interrupted" or answer.status_code >= _UNAVAILABLE:
            raise EvaluatorDownError(self.url, message)
        raise EvaluationError(f"{self.url}{message}")

    def _object(self, answer: httpx.Response) -> dict[str, Any]:
        """Return the answer's object; anything else comes from a gateway in front of the evaluator."""
        try:
            value = answer.json()
        except (ValueError, RecursionError) as error:
            raise _AskAgainError(f"did not answer JSON: {answer.text[:_SHOWN]!r}") from error
        if not isinstance(value, dict):
            raise _AskAgainError(f"did not answer an object: {answer.text[:_SHOWN]!r}")
        return value

    def _read(self, kind: type[_T], answer: dict[str, Any], **more: Any) -> _T:
        try:
            found = kind.model_validate({**answer, **more})
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise EvaluationError(f"{self.url}: {where}: {first['msg']}") from error
        return found


def new_key() -> str:
    """Return a new idempotency key."""
    return uuid.uuid4().hex


def _is_foreign_error(exchange: Mapping[str, Any]) -> bool:
    """Return whether an error comes from a gateway, or from a check that says "no" in another way.

    Other errors in the JSON form of WAA's own server are part of the evaluated state.
    """
    status, body = exchange.get("status"), exchange.get("body")
    if exchange.get("target") != "vm" or not isinstance(status, int) or status < _FAILED:
        return False
    if str(exchange.get("path")).partition("?")[0] in _CHECKS:
        return True
    try:
        content = json.loads(body["text"]) if isinstance(body, dict) else None
    except (KeyError, TypeError, ValueError, RecursionError):
        return True
    return not isinstance(content, dict)


def _error(answer: httpx.Response) -> Any:
    try:
        body = answer.json()
    except (ValueError, RecursionError):
        return None
    return body.get("error") or body.get("message") if isinstance(body, dict) else None


def _code(answer: httpx.Response) -> str:
    error = _error(answer)
    return str(error.get("code", "")) if isinstance(error, dict) else ""


def _refusal(answer: httpx.Response) -> str:
    error = _error(answer)
    message = error.get("message") if isinstance(error, dict) else error
    return f"HTTP {answer.status_code}: {str(message or answer.text)[:_SHOWN]}"


def _is_missing(answer: httpx.Response) -> bool:
    """Return whether the route is missing: Flask's 404, or WAA's 500 with 404 inside; not an unknown task."""
    message = str(_error(answer) or "")
    if answer.status_code == _NOT_FOUND:
        return _code(answer) != "unknown_task"
    return message.startswith("404 Not Found")
