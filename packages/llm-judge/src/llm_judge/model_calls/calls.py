"""One question to one model: within a budget of time and money, with the answers or why there are none."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench_core.errors import BudgetExceededError
from bench_core.models import ModelError
from bench_core.records import ErrorInfo, Usage
from bench_core.records.judge import Finding
from llm_judge.prompts.answers import MalformedReplyError, read_answers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bench_core.models import Model, Reply
    from bench_core.protocols import Meter
    from llm_judge.policy import JudgePolicy
    from llm_judge.prompts.answers import Answer
    from llm_judge.prompts.prompt import Prompt

_TRIES = 2
# dated versions of a model: -2026-10-01, @20261001, -latest
_VERSION = re.compile(
    r"[-@:](?:latest|\d{8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{2}(?:-\d{4})?|\d{3,6}|v\d+(?::\d+)?)"
)
# some APIs report a name with the path of its resource
_PREFIX = re.compile(r"\A(?:models|publishers/\w+/models|\w+)/")
_SHORTEST_DEADLINE_S = 0.05  # no call can be answered in less


@dataclass(frozen=True)
class ModelReply:
    """What one model replied about one case.

    `answers` is `None` where there is no usable reply; `error` then says why, or `refused` is true.
    """

    model: str
    answers: Mapping[str, Answer] | None = None
    error: ErrorInfo | None = None
    refused: bool = False
    findings: tuple[Finding, ...] = ()
    reported: str | None = None
    replayed: bool = False


class CallBudget:
    """Time and money for one case, over all calls.

    Args:
        deadline_s: Seconds from now.
        max_cost_usd: Dollars; `None` for no limit.
        meter: Receives the usage of each call, too.
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

    def of(self, source: str) -> CallBudget:
        """Return itself: all calls for a case are counted as one."""
        del source
        return self

    def left_s(self) -> float:
        """Seconds left.

        Raises:
            BudgetExceededError: Time or money is spent, or what was spent is not known.
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
    model: Model, prompt: Prompt, policy: JudgePolicy, budget: CallBudget, trial: int = 1
) -> ModelReply:
    """Ask once, and once more if the reply was cut short or is not in form.

    Nothing a provider does is raised or read as a verdict.
    """
    tokens = policy.max_output_tokens
    answered = ModelReply(model.name)
    for number in range(_TRIES):
        # another trial number, so that the cache does not answer with the reply that was unusable
        request = prompt.request(tokens, trial + 1_000 * number)
        try:
            reply = await model.complete(request, deadline_s=budget.left_s(), meter=budget)
        except ModelError as error:
            return _failed(model.name, error.kind, str(error))
        except BudgetExceededError as error:
            return _failed(model.name, "budget", str(error))
        answered = _read(model.name, reply, prompt, policy)
        if answered.error is None or answered.error.kind not in {"truncated", "malformed"}:
            return answered
        if answered.error.kind == "truncated":
            # reasoning counts against the limit, so that even a short answer may be cut
            tokens *= 2
    return answered


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


def _read(name: str, reply: Reply, prompt: Prompt, policy: JudgePolicy) -> ModelReply:
    asked = name.partition(":")[2]
    reported = reply.model_reported
    # a proxy may serve another model; its verdicts would count as those of the one asked for
    if reported is not None and not policy.any_model and not is_model(asked, reported):
        message = (
            f"asked for {asked!r}, the API says {reported!r} answered; if that is meant, accept any "
            f"model (--any-model)"
        )
        return _failed(name, "other_model", message, reply)
    if reply.refusal is not None or reply.stop == "refusal":
        message = f"the model declined: {(reply.refusal or 'no reason given')[:200]}"
        finding = Finding(code="model.refused", message=message)
        return ModelReply(
            name, refused=True, findings=(finding,), reported=reply.model_reported,
            replayed=reply.replayed,
        )  # fmt: skip
    # with schemas enforced, a reply cut short or declined need not match the schema: never read it
    if reply.stop in {"length", "context_window"}:
        return _failed(name, "truncated", f"the reply was cut short ({reply.stop})", reply)
    if reply.stop != "end":
        return _failed(name, "malformed", f"the reply stopped by {reply.stop_native!r}", reply)
    try:
        answers = read_answers(reply.text, [each.name for each in prompt.questions])
    except MalformedReplyError as error:
        return _failed(name, "malformed", str(error), reply)
    return ModelReply(name, answers=answers, reported=reply.model_reported, replayed=reply.replayed)


def _failed(name: str, kind: str, message: str, reply: Reply | None = None) -> ModelReply:
    return ModelReply(
        name,
        error=ErrorInfo(kind=kind, message=message, phase="judge"),
        reported=None if reply is None else reply.model_reported,
        replayed=reply is not None and reply.replayed,
    )
