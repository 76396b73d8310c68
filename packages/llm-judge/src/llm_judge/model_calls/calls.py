"""One question to one model: within a budget of time and money, with the answers or why there are none."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from weakref import WeakKeyDictionary

from bench_core.errors import BudgetExceededError, InputError
from bench_core.models import Model, ModelError, Reply
from bench_core.protocols import Meter
from bench_core.records import ErrorInfo, Usage
from bench_core.records.judge import Finding
from llm_judge.policy import JudgePolicy
from llm_judge.prompts.answers import Answer, MalformedReplyError, read_answers
from llm_judge.prompts.prompt import Prompt, ReplyForm
from llm_judge.states.effects import compact

_TRIES = 2
_FORMS: tuple[ReplyForm, ...] = ("json_schema", "json_object", "text")
_LOCAL = "openai-chat:"  # the API of local servers
_refused_forms: WeakKeyDictionary[Model, int] = WeakKeyDictionary()
_REFUSED = frozenset({500, 501})  # some servers fail over a schema that they cannot compile
_SHOWN_REPLY = 4_000
_AGAIN_FORM = "A program could not read this reply ({}). Reply again, with the JSON object that was asked for and nothing else."
_AGAIN_QUOTED = (
    "A program looked up what you quoted, and it is not so in the state. Answer these questions again, and only these, in "
    "the same form, with quotations that are there; change the verdict if there are none."
)
# dated versions of a model: -2026-10-01, @20261001, -latest
_VERSION = re.compile(
    r"[-@:](?:latest|\d{8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{2}(?:-\d{4})?|\d{3,6}|v\d+(?::\d+)?)"
)
# some APIs report a name with the path of its resource
_PREFIX = re.compile(r"\A(?:models|publishers/\w+/models|\w+)/")
_WEIGHTS = re.compile(r"\.(?:gguf|ggml|bin|safetensors|pt|pth|onnx|llamafile)\Z")
_SHORTEST_DEADLINE_S = 0.05  # no call can be answered in less


@dataclass(frozen=True)
class ModelReply:
    """One model's reply on one case.

    `answers` is `None` without a usable reply; `error` then says why, or `refused` is true.
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
            BudgetExceededError: Time or money is spent, or the spending is not known.
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
    model: Model,
    prompt: Prompt,
    policy: JudgePolicy,
    budget: CallBudget,
    trial: int = 1,
    *,
    unfounded: Callable[[Iterable[Answer]], Mapping[str, str]] = lambda _: {},
) -> ModelReply:
    """Ask once, and once more with the reason if the reply was cut short, malformed, or quotes missing text.

    Nothing a provider does is raised or read as a verdict.

    Args:
        model: The model to ask.
        prompt: The request.
        policy: Limits, and the form of the reply.
        budget: Time and money.
        trial: The number of the sample.
        unfounded: Returns the faults in the quotations of some answers, by question.
    """
    tokens = policy.max_output_tokens
    answered = ModelReply(model.name)
    again: tuple[str, str] | None = None
    for number in range(_TRIES):
        # another trial number, so that the cache does not answer with the reply that was unusable
        reply, failed = await _reply_of(
            model, prompt, policy, budget, tokens, trial + 1_000 * number, again
        )
        if reply is None:
            return answered if answered.answers is not None else failed
        names = list(unfounded(answered.answers.values())) if answered.answers else None
        found = _read(model.name, reply, names or [each.name for each in prompt.questions], policy)
        if answered.answers is not None:  # only some were asked again
            better = {**answered.answers, **(found.answers or {})}
            return replace(answered, answers=better, replayed=answered.replayed and found.replayed)
        answered = found
        if answered.answers is not None:
            problems = unfounded(answered.answers.values())
            if not problems:
                return answered
            told = "\n".join(
                compact({"question": q, "problem": why}) for q, why in problems.items()
            )
            again = reply.text, f"{_AGAIN_QUOTED}\n{told}"
        elif answered.error is None or answered.error.kind not in {"truncated", "malformed"}:
            return answered
        elif answered.error.kind == "truncated":
            # reasoning counts against the limit, so that even a short answer may be cut
            tokens *= 2
        else:
            again = reply.text[:_SHOWN_REPLY], _AGAIN_FORM.format(compact(answered.error.message))
    return answered


async def _reply_of(
    model: Model,
    prompt: Prompt,
    policy: JudgePolicy,
    budget: CallBudget,
    tokens: int,
    trial: int,
    again: tuple[str, str] | None,
) -> tuple[Reply | None, ModelReply]:
    """Return the reply, or why there is none."""
    try:
        reply = await _in_form(model, prompt, policy, budget, tokens, trial, again)
    except ModelError as error:
        return None, _failed(model.name, error.kind, str(error))
    except BudgetExceededError as error:
        return None, _failed(model.name, "budget", str(error))
    except InputError as error:  # a scripted model that has ended, a cassette without the call
        return None, _failed(model.name, "no_reply", str(error))
    return reply, ModelReply(model.name)


async def _in_form(
    model: Model,
    prompt: Prompt,
    policy: JudgePolicy,
    budget: CallBudget,
    tokens: int,
    trial: int,
    again: tuple[str, str] | None,
) -> Reply:
    """Ask in the strictest form of reply that the server takes."""
    forms = _FORMS if policy.reply_form == "auto" else (policy.reply_form,)
    forms = forms[_refused_forms.get(model, 0) :] if policy.reply_form == "auto" else forms
    for form in forms:
        request = prompt.request(tokens, trial, form=form, again=again)
        try:
            return await model.complete(request, deadline_s=budget.left_s(), meter=budget)
        except ModelError as error:
            # a server that knows no schema says so of the request; it is told apart by asking for less
            refused = error.kind == "bad_request" or error.status in _REFUSED
            if not refused or form == forms[-1] or not model.name.startswith(_LOCAL):
                raise
            _refused_forms[model] = _FORMS.index(form) + 1
    raise AssertionError("there is a last form")


def is_model(asked: str, reported: str) -> bool:
    """Return whether the model an API reports is the one asked for, perhaps a dated version of it.

    >>> is_model("gpt-6.1-terra", "gpt-6.1-terra-2026-10-01"), is_model("gpt-6.1", "gpt-6.1-mini")
    (True, False)
    >>> is_model("qwen3-8b", "/models/Qwen3-8B.gguf"), is_model("Qwen/Qwen3-8B", "./qwen3-8b")
    (True, True)
    """
    want, got = (_PREFIX.sub("", name.lower()) for name in (asked, reported))
    # servers of one's own call a model by its file or folder
    if _file_name(want) == _file_name(got):
        return True
    want = want.removesuffix("-latest")
    return got == want or (
        got.startswith(want) and _VERSION.fullmatch(got[len(want) :]) is not None
    )


def _file_name(model: str) -> str:
    name = PurePosixPath(model.replace("\\", "/")).name
    return _WEIGHTS.sub("", name)


def _read(name: str, reply: Reply, questions: Sequence[str], policy: JudgePolicy) -> ModelReply:
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
        answers = read_answers(reply.text, questions)
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
