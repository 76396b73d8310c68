"""The messages between a run and its workers: agents' processes, later executors.

==========  =====================  ============================================================
from        type                   fields
==========  =====================  ============================================================
both        `hello`                `protocol`, `bench_core`
the run     `describe`             `agent`, `survey`
the run     `work`                 `agent`, `task`, `environment`, `context`, `opener`, `sign_s`, `guides`
the run     `ask`                  `agent`, `method`, `arguments`, `context`, `opener`, `guides`
the run     `answer`               `id`, `go`, `reason`: the answer to a `spend`
the run     `cancel`
the worker  `spend`                `id`, `source`, `usage`, `cost_usd`, `uncounted`: a model call
the worker  `own`, `disown`        `pgid`: a process group it started
the worker  `log`                  `level`, `name`, `text`
the worker  `stops`                before the agent stops a process by a signal: it may be its own
the worker  `alive`                every `sign_s` seconds, where its event loop turns
the worker  `result`               `value`
the worker  `error`                `kind`, `message`, `traceback`, `claims`, `fault`, `answered`, `lasting`, `flag`
==========  =====================  ============================================================
"""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from bench_core.__about__ import __version__
from bench_core.child_process.framing import FrameError, encode_line
from bench_core.errors import BudgetExceededError, EnvironmentFaultError, InputError
from bench_core.protocols import Meter
from bench_core.records import ErrorInfo, Record, Usage
from bench_core.trial.agent_work import error_info

__all__ = [
    "Spend",
    "hello",
    "spend_line",
]

PROTOCOL = 1
"""Both ends must speak the same version; each begins with a `hello` that states it."""
MOST_TOKENS, MOST_USD = 20_000_000, 100
"""No model's call has more: a forged one must not use up the budget of all other trials."""
_MAX_TEXT = 100_000
_CLAIMS: tuple[tuple[type[Exception], str], ...] = (
    (EnvironmentFaultError, "environment"),
    (InputError, "input"),
    (BudgetExceededError, "budget"),
)


class Spend(Record):
    """A model call, as sent to the run."""

    id: int
    source: str
    usage: Usage
    cost_usd: float | None = None
    uncounted: str | None = None


def hello() -> bytes:
    """Return the first line of either side."""
    return encode_line("hello", protocol=PROTOCOL, bench_core=__version__)


def checked_hello(frame: dict[str, Any] | None) -> None:
    """Refuse another protocol.

    Raises:
        FrameError: It is not a hello, or has another version.
    """
    if frame is None or frame["type"] != "hello":
        raise FrameError("it did not say hello")
    if frame.get("protocol") != PROTOCOL:
        raise FrameError(
            f"it speaks version {frame.get('protocol')!r} of the protocol (bench-core "
            f"{frame.get('bench_core')!r}), this is version {PROTOCOL} of bench-core {__version__}"
        )


def spend_line(
    number: int, source: str, usage: Usage, cost_usd: float | None, uncounted: str | None = None
) -> bytes:
    """Return the line with which a worker asks to go on after a model call."""
    fields = usage.model_dump(mode="json", exclude_defaults=True)
    why = {} if uncounted is None else {"uncounted": uncounted}
    return encode_line("spend", id=number, source=source, usage=fields, cost_usd=cost_usd, **why)


def answer_to(frame: dict[str, Any], meter: Meter) -> bytes:
    """Count a model call and return the answer to the worker: go on, or stop.

    Raises:
        FrameError: It is not a model call.
    """
    fields = {name: value for name, value in frame.items() if name != "type"}
    try:
        call = Spend.model_validate(fields)
    except ValidationError as error:
        raise FrameError(f"not a model call: {error.errors(include_url=False)[0]['msg']}") from None
    cost_usd, most = call.cost_usd or 0.0, max(call.usage.input_tokens, call.usage.output_tokens)
    if not 0 <= cost_usd <= MOST_USD or most > MOST_TOKENS:
        raise FrameError(
            f"not a model call: it says to have taken {most:,} tokens and {cost_usd:,.2f} dollars, "
            f"and one can take at most {MOST_TOKENS:,} and {MOST_USD:,}"
        )
    reason = None
    try:
        counted = meter if call.source == "agent" else meter.of(call.source)
        if call.uncounted is not None and (note := getattr(counted, "uncounted", None)):
            note(call.uncounted)
        counted.spend(call.usage, call.cost_usd)
    except BudgetExceededError as error:
        reason = str(error)
    return encode_line("answer", id=call.id, go=reason is None, reason=reason)


def error_line(error: BaseException) -> bytes:
    """Return the line for any exception."""
    info = error_info(error)
    claims = next((claim for kind, claim in _CLAIMS if isinstance(error, kind)), None)
    flag = getattr(error, "flag", None)
    return encode_line(
        "error",
        kind=info.kind[:200],
        message=info.message[:_MAX_TEXT],
        traceback=(info.traceback or "")[-_MAX_TEXT:] or None,
        claims=claims,
        fault=fault if isinstance(fault := getattr(error, "fault", None), str) else None,
        answered=getattr(error, "answered", False) is True,
        lasting=getattr(error, "lasting", False) is True,
        flag=flag if isinstance(flag, str) else None,
    )


def error_of_frame(frame: dict[str, Any]) -> ErrorInfo:
    """Return the error that an `error` frame carries.

    Raises:
        FrameError: It has nothing that can be recorded.
    """
    fields = {name: frame.get(name) for name in ("kind", "message", "traceback")}
    try:
        return ErrorInfo.model_validate({**fields, "phase": "agent"})
    except ValidationError:
        raise FrameError("an error that cannot be read") from None
