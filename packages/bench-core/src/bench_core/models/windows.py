"""A model's context length: by its provider's description or refusals, or by a published list.

Fields of descriptions: Google's `inputTokenLimit`, Anthropic's `max_input_tokens`, vLLM's and SGLang's `max_model_len`,
llama.cpp's `meta.n_ctx`, OpenRouter's and Together's `context_length`, Groq's `context_window`, Mistral's
`max_context_length`.
"""

from __future__ import annotations

import importlib.util
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench_core.models.records import ModelRequest

__all__ = ["estimated_tokens", "published_window", "window_in", "window_in_refusal"]

_NAMES = (
    "maxmodellen", "inputtokenlimit", "maxinputtokens", "contextlength", "contextwindow", "maxcontextlength", "nctx",
)  # fmt: skip
_LEAST = 1_000
_NUMBER = r"(?<![\d.,])(\d[\d,_]{3,})(?![\d.]\d)"
_MOST = r"(?:max(?:imum)?|limit(?:ed)?|context (?:window|size|length)|at most|up to|supports?|n_ctx|>|<=|≤|be \[\d+,)"
# words before the number: "maximum context length is 128000 tokens"
_AFTER = re.compile(rf"{_MOST}[^\d\n]{{0,60}}?{_NUMBER}", re.IGNORECASE)
# words after the number: "200000 token limit"
_BEFORE = re.compile(rf"{_NUMBER}[- ]?(?:tokens? )?(?:maximum|limit|context|window)", re.IGNORECASE)
_IN_WORD = 4
"""Characters of a token, as providers say of English; the reported usage of earlier requests corrects it."""
_PICTURE = 1_500
"""Tokens of a screenshot of 1280x720 pixels: 1,196 of Claude's, some 1,100 to 2,500 of others."""


def window_in(described: dict[str, Any]) -> int | None:
    """Return the window by a description of a model; the smallest if it has several.

    >>> window_in({"id": "m", "max_model_len": 32768}), window_in({"id": "m"})
    (32768, None)
    """
    places = [described, *(each for each in described.values() if isinstance(each, dict))]
    found = [
        value
        for place in places
        for name, value in place.items()
        if re.sub(r"[^a-z]", "", name.lower()) in _NAMES
        and isinstance(value, int)
        and not isinstance(value, bool)
        and value >= _LEAST
    ]
    return min(found, default=None)


def window_in_refusal(message: str) -> int | None:
    """Return the window that a provider names when it refuses a request as too long.

    >>> window_in_refusal("prompt is too long: 210000 tokens > 200000 maximum")
    200000
    >>> window_in_refusal("maximum context length is 16384 tokens. However, you requested 20000 tokens")
    16384
    """
    found = [
        int(re.sub(r"[,_]", "", number))
        for pattern in (_AFTER, _BEFORE)
        for number in pattern.findall(message)
    ]
    return max((each for each in found if each >= _LEAST), default=None)


def published_window(provider: str, model: str) -> int | None:
    """Return the window listed by `genai-prices`, None if that is not installed or lacks the model."""
    if importlib.util.find_spec("genai_prices") is None:
        return None
    import genai_prices  # 0.3 s; only when a conversation has grown

    try:
        found = genai_prices.calc_price(
            genai_prices.Usage(),
            model_ref=model,
            provider_id="openai" if provider == "openai-chat" else provider,
        )
    except LookupError:
        return None
    return found.model.context_window


def estimated_tokens(request: ModelRequest) -> int:
    """Estimate the tokens of a request: one for four characters, 1,500 for each picture."""
    from bench_core.models.records import ImagePart, OpaquePart, TextPart, ToolCall, ToolResult

    total = len(request.system or "")
    total += sum(len(str(each)) for each in (*request.tools, *request.native_tools))

    def of(part: object) -> int:
        if isinstance(part, ImagePart):
            return _PICTURE * _IN_WORD
        if isinstance(part, ToolResult):
            return sum(map(of, part.content)) + len(str(part.extra))
        if isinstance(part, TextPart):
            return len(part.text)
        if isinstance(part, ToolCall):
            return len(str(part.arguments or part.raw))
        return len(str(part.data)) if isinstance(part, OpaquePart) else 0

    total += sum(of(part) for turn in request.messages for part in turn.parts)
    return total // _IN_WORD + 1
