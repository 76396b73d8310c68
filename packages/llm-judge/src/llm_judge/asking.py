"""Asks one model and says what came of it: answers, or why there are none."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench_core.errors import BudgetExceededError
from bench_core.judging import Finding
from bench_core.models.errors import ModelError
from bench_core.records import ErrorInfo, Usage
from llm_judge.replies import MalformedReplyError, read_answers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench_core.models.client import Model
    from bench_core.models.records import Reply
    from bench_core.protocols import Meter
    from llm_judge.policy import Policy
    from llm_judge.prompting import Prompt
    from llm_judge.replies import Answer

__all__ = ["Purse", "Said", "ask_model", "is_model"]

_TRIES = 2
_VERSION = re.compile(
    r"[-@:](?:latest|\d{8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{2}(?:-\d{4})?|\d{3,6}|v\d+(?::\d+)?)"
)
_PREFIX = re.compile(r"\A(?:models|publishers/\w+/models|\w+)/")
_SHORTEST_DEADLINE_S = 0.05


@dataclass(frozen=True)
class Said:
    """What one model said about one case.

    `answers` is null where there is no usable reply; `error` then says why, or `refused` is true.
    """

    model: str
    answers: Mapping[str, Answer] | None = None
    error: ErrorInfo | None = None
    refused: bool = False
    findings: tuple[Finding, ...] = ()
    reported: str | None = None
    replayed: bool = False


class Purse:
    """Time and money for one case, over all calls.

    Args:
        deadline_s: Seconds from now.
        max_cost_usd: Dollars; null for no limit.
        meter: Hears of every call, too.
    """

    def __init__(
        self, deadline_s: float, max_cost_usd: float | None, meter: Meter | None = None
    ) -> None:
        self._end = time.monotonic() + deadline_s
        self.max_cost_usd = max_cost_usd
        self._meter = meter
        self.usage = Usage()
        self.cost_usd: float | None = 0.0

    def spend(self, usage: Usage, cost_usd: float | None = None) -> None:
        """Count one call.

        Raises:
            BudgetExceededError: The meter's budget is spent.
        """
        self.usage += usage
        known = self.cost_usd is not None and cost_usd is not None
        self.cost_usd = (self.cost_usd or 0.0) + (cost_usd or 0.0) if known else None
        if self._meter is not None:
            self._meter.spend(usage, cost_usd)

    def of(self, source: str) -> Purse:
        """Return itself: all calls for a case are counted as one."""
        del source
        return self

    def left_s(self) -> float:
        """Seconds left.

        Raises:
            BudgetExceededError: Time or money is gone, or nobody knows what was spent.
        """
        if self.max_cost_usd is not None:
            if self.cost_usd is None:
                raise BudgetExceededError(
                    f"the price of a call is unknown, so ${self.max_cost_usd:g} cannot be kept"
                )
            if self.cost_usd >= self.max_cost_usd:
                raise BudgetExceededError(
                    f"${self.cost_usd:.4f} of ${self.max_cost_usd:g} are spent"
                )
        left = self._end - time.monotonic()
        if left < _SHORTEST_DEADLINE_S:
            raise BudgetExceededError("the time for this case is up")
        return left


async def ask_model(
    model: Model, prompt: Prompt, policy: Policy, purse: Purse, trial: int = 1
) -> Said:
    """Ask once, and once more if the reply was cut short or is not in form.

    Nothing a provider does is raised or read as a verdict.
    """
    tokens = policy.max_output_tokens
    said = Said(model.name)
    for number in range(_TRIES):
        request = prompt.request(tokens, trial + 1_000 * number)
        try:
            reply = await model.complete(request, deadline_s=purse.left_s(), meter=purse)
        except ModelError as error:
            return _failed(model.name, error.kind, str(error))
        except BudgetExceededError as error:
            return _failed(model.name, "budget", str(error))
        said = _read(model.name, reply, prompt, policy)
        if said.error is None or said.error.kind not in {"truncated", "malformed"}:
            return said
        if said.error.kind == "truncated":
            tokens *= 2
    return said


def is_model(asked: str, reported: str) -> bool:
    """Return whether the model an API reports is the one asked for, perhaps a dated version of it.

    >>> is_model("gpt-6.1-terra", "gpt-6.1-terra-2026-10-01"), is_model("gpt-6.1", "gpt-6.1-mini")
    (True, False)
    """
    want, got = (_PREFIX.sub("", name.lower()) for name in (asked, reported))
    want = want.removesuffix("-latest")
    return got == want or (
        got.startswith(want) and _VERSION.fullmatch(got[len(want) :]) is not None
    )


def _read(name: str, reply: Reply, prompt: Prompt, policy: Policy) -> Said:
    asked = name.partition(":")[2]
    reported = reply.model_reported
    if reported is not None and not policy.any_model and not is_model(asked, reported):
        message = (
            f"asked for {asked!r}, the API says {reported!r} answered; if that is meant, accept any "
            f"model (--any-model)"
        )
        return _failed(name, "other_model", message, reply)
    if reply.refusal is not None or reply.stop == "refusal":
        message = f"the model declined: {(reply.refusal or 'no reason given')[:200]}"
        finding = Finding(code="model.refused", message=message)
        return Said(
            name, refused=True, findings=(finding,), reported=reply.model_reported,
            replayed=reply.replayed,
        )  # fmt: skip
    if reply.stop in {"length", "context_window"}:
        return _failed(name, "truncated", f"the reply was cut short ({reply.stop})", reply)
    if reply.stop != "end":
        return _failed(name, "malformed", f"the reply stopped by {reply.stop_native!r}", reply)
    try:
        answers = read_answers(reply.text, [each.name for each in prompt.questions])
    except MalformedReplyError as error:
        return _failed(name, "malformed", str(error), reply)
    return Said(name, answers=answers, reported=reply.model_reported, replayed=reply.replayed)


def _failed(name: str, kind: str, message: str, reply: Reply | None = None) -> Said:
    return Said(
        name,
        error=ErrorInfo(kind=kind, message=message, phase="judge"),
        reported=None if reply is None else reply.model_reported,
        replayed=reply is not None and reply.replayed,
    )
