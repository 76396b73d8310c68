"""Estimate the cost of a judgement before a model is asked."""

from __future__ import annotations

import math

from pydantic import NonNegativeFloat, NonNegativeInt

from bench_core.models import PROVIDERS, Prices
from bench_core.records import Record, Usage
from llm_judge.policy import JudgePolicy
from llm_judge.prompts.prompt import Prompt, output_schema
from llm_judge.states.effects import compact

_CHARS_PER_TOKEN = 3.0
"""JSON full of ids and numbers has fewer characters per token than prose."""
_TOKENS_PER_ANSWER = 250


class Estimate(Record):
    """The estimated size and cost of one call.

    Attributes:
        likely_usd: With answers of usual length; `None` if the price is unknown.
        most_usd: With all output tokens used.
    """

    input_tokens: NonNegativeInt
    output_tokens: NonNegativeInt
    most_output_tokens: NonNegativeInt
    likely_usd: NonNegativeFloat | None = None
    most_usd: NonNegativeFloat | None = None


def estimate(prompt: Prompt, model: str, policy: JudgePolicy, prices: Prices | None) -> Estimate:
    """Return about how much asking `provider:model` costs."""
    characters = len(prompt.system) + len(prompt.text) + len(compact(output_schema()))
    tokens = math.ceil(characters / _CHARS_PER_TOKEN) + sum(each.tokens for each in prompt.pictures)
    answers = min(_TOKENS_PER_ANSWER * len(prompt.questions), policy.max_output_tokens)
    return Estimate(
        input_tokens=tokens,
        output_tokens=answers,
        most_output_tokens=policy.max_output_tokens,
        likely_usd=_price(model, tokens, answers, prices),
        most_usd=_price(model, tokens, policy.max_output_tokens, prices),
    )


def is_paid(model: str) -> bool:
    """Return whether calls of this model go to a provider."""
    return model.partition(":")[0] in PROVIDERS


def _price(
    model: str, input_tokens: int, output_tokens: int, prices: Prices | None
) -> float | None:
    if prices is None or not is_paid(model):
        return None
    provider, _, name = model.partition(":")
    usage = Usage(requests=1, input_tokens=input_tokens, output_tokens=output_tokens)
    price = prices.price(provider, name, usage)
    return None if price is None else price.usd
