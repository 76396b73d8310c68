"""The meaning of a model provider's errors: its own code first, then its status, its words last.

Sources: Anthropic docs.claude.com/en/api/errors and .../build-with-claude/vision; OpenAI
platform.openai.com/docs/guides/error-codes and the `code`s of its Python SDK (`ResponseError`, `ImageURLContentBlock`);
Google ai.google.dev/gemini-api/docs/troubleshooting and google.rpc.Code; Azure learn.microsoft.com, "Content
filtering"; Bedrock docs.aws.amazon.com, "Troubleshooting API error codes"; OpenRouter
openrouter.ai/docs/api-reference/errors; DeepSeek api-docs.deepseek.com/quick_start/error_codes; Qwen
alibabacloud.com/help, "Error messages" of Model Studio; Groq console.groq.com/docs/errors; xAI docs.x.ai; Mistral
docs.mistral.ai; Together docs.together.ai/docs/error-codes; Fireworks docs.fireworks.ai, "Inference error codes"; and
the sources of vLLM, SGLang, llama.cpp (tools/server), Ollama and Text Generation Inference.

Most servers have one code for everything that is wrong with a request. There the words decide, by their subject
and not by each server's phrasing: a part of a request, near a word for too much of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Literal

__all__ = ["ErrorKind", "error_kind"]

ErrorKind = Literal[
    "rate_limit", "overloaded", "server", "connection", "malformed",
    "timeout", "cut_off", "deadline", "oversized", "unreadable", "unknown",
    "auth", "no_money", "not_found",
    "context_window", "picture_limit", "model_refusal", "bad_request",
]  # fmt: skip
"""How a model call failed; each is a row of `bench_core.faults.FAULTS`."""

_DEPTH, _MOST_STRINGS, _MOST_TEXT = 8, 200, 20_000
_CODE_FIELDS = frozenset({"code", "type", "status", "reason", "errortype", "errorcode", "blockreason"})  # fmt: skip
_WRITTEN_CODE = re.compile(
    r"""['"]_*(?:code|type|status|reason|error_type|error_code)['"]\s*:\s*['"]([\w.-]+)['"]""",
    re.IGNORECASE,
)
"""SDKs write the body into the text of their exceptions, and gateways into a field of their own."""

_SAYS_NOTHING = re.compile(r"""(?<=[{,])\s*(['"])\w+\1\s*:|input validation error""", re.IGNORECASE)
"""The names of such a body's fields and its kind say nothing of the error."""

_CODES: dict[ErrorKind, str] = {
    "context_window": "context_length_exceeded exceed_context_size_error context_window_exceeded request_too_large "
    "model_context_window_exceeded context_length_error payload_too_large tokens_limit_reached input_too_long "
    "prompt_too_long",
    "picture_limit": "image_too_large image_file_too_large image_content_too_large image_size_exceeded too_many_images",
    "model_refusal": "content_filter content_policy_violation invalid_prompt responsible_ai_policy_violation "
    "image_content_policy_violation data_inspection_failed cyber_policy cyber_policy_violation bio_policy "
    "moderation_blocked prompt_blocked guardrail_intervened prohibited_content content_blocked",
    "no_money": "insufficient_quota billing_hard_limit_reached billing_not_active billing_error billing_disabled "
    "insufficient_credits insufficient_balance budget_exceeded insufficient_funds arrearage payment_required "
    "exceeded_current_quota_error allocation_quota.free_tier_only prepaid_bill_overdue postpaid_bill_overdue account_overdue_error",
    "auth": "invalid_api_key api_key_invalid api_key_expired authentication_error unauthorized "
    "account_deactivated auth_failure permission_error expired_token_exception unrecognized_client_exception invalid_signature_exception "
    "api_key_service_blocked missing_api_key",
    "not_found": "model_not_found model_decommissioned model_deprecated model_not_supported not_found_error deployment_not_found resource_not_found_exception",
    "rate_limit": "rate_limit_exceeded rate_limit_error throttling throttling_exception throttling.rate_quota "
    "throttling.burst_rate throttling.allocation_quota too_many_requests_exception too_many_requests",
    "overloaded": "overloaded_error overloaded service_unavailable_exception model_not_ready_exception "
    "engine_overloaded server_overloaded service_unavailable slow_down capacity_exceeded",
    "timeout": "timeout_error model_timeout_exception",
    "server": "api_error server_error internal_server_error internal_server_exception "
    "model_error_exception internal_error generation",
}
_GENERAL: dict[str, ErrorKind] = {
    "unauthenticated": "auth", "permissiondenied": "auth", "notfound": "not_found", "resourceexhausted": "rate_limit",
    "unavailable": "overloaded", "unavailableerror": "overloaded", "deadlineexceeded": "timeout", "internal": "server",
}  # fmt: skip
"""gRPC's names of statuses; they count if an answer has no HTTP status."""
_AGENTS_OR_USERS = ("context_window", "picture_limit", "model_refusal", "no_money")
# 408 waited for the request, and the providers' own SDKs retry 409, too; 424 is a gateway's whose model
# failed; 504 and 524 are a gateway's that waited in vain for the model; 498 is Groq's "capacity exceeded", 529
# Anthropic's "overloaded".
_STATUSES: dict[int, ErrorKind] = {
    401: "auth", 402: "no_money", 403: "auth", 404: "not_found", 408: "server", 409: "server", 413: "context_window",
    424: "server", 425: "server", 429: "rate_limit", 498: "overloaded", 503: "overloaded", 504: "timeout", 524: "timeout",
    529: "overloaded",
}  # fmt: skip
_TOO_MUCH = (
    r"(?:too (?:long|large|big|many|much|high)|exceed|surpass|(?:longer|greater|larger|bigger|more(?: \w+)?|fewer|less|smaller) than|"
    r"\b(?:only|accepts|holds|takes|supports) (?:only )?\d\d|over(?:flow|run|sized)|"
    r"(?:over|above|beyond) (?:the|its|a|our)?\s*(?:\S+ )?(?:limit|maximum|window|length)|reduce (?:the|your)|shorten|"
    r"(?:not|n.?t|cannot) (?:\w+ )?fit|at most|up to \d|no more than|must (?:be|have|not be) (?:at most|less|fewer|below|under|"
    r"<|≤|within)|(?:below|under|within|above|over) \d[\d.,]* ?(?:[kmg]i?b|px|(?:mega)?pixels|tokens)\b|<=|≤|should be (?:\[|less|within|at most)|out of range|"
    r"max[_ -]?length|limit\b[^.\n]{0,60}\b(?:found|given|got|passed|provided|received) \d|(?:maximum|max\.?|limit(?:ed)?)(?: \w+){0,3}(?: length| size| tokens?| number| count| dimensions?| pixels?|:| is| of)|"
    r"\d\s*>\s*\d)"
)
_INPUT = (
    r"\b(?:(?:prompt|input|total)_tokens|context(?:[ _](?:window|length|size))?|(?:decoder |chat )?prompts?|inputs?(?:[ _]ids)?|messages?|conversation|"
    r"(?:chat )?history|sequences?|tokens?(?: count)?|n_ctx|max_model_len|max_seq_len|request(?:ed)? (?:tokens|body|size|"
    r"payload|length)|request entity|payload)\b"
)
_LARGE_REQUEST = r"(?<!of this )(?<!of the )\brequests?\b(?: \([^)\n]*\))?(?: \w+)? (?:too (?:long|large|big)|exceed|(?:longer|larger|bigger) than)"
"""Of all possible faults of a request, only its size is the conversation's."""
_PICTURE = r"(?:\b(?:images?|image_url|pictures?|screenshots?|photos?|(?:mega)?pixels?|media|data[- ]uri)\b|image\(s\))"


def _near(one: str, other: str, most: int = 120) -> str:
    return rf"(?:{one}[^\n]{{0,{most}}}?{other}|{other}[^\n]{{0,{most}}}?{one})"


_MONEY = (
    r"credit balance|(?:insufficient|not enough|no|any|out of|more|all|available|remaining) (?:\w+ )?(?:credits?|balance|funds)\b|"
    r"\b(?:credits?|balance|funds|free (?:tier|quota))\b[^.\n]{0,60}(?:insufficient|exhausted|depleted|too low|used up|"
    r"r[ua]n out|negative|overdue|exceeded)|(?:exceeded|used)[^.\n]{0,30}\b(?:credits|balance)\b|(?:spend(?:ing)?|\bkey) (?:limit|cap)\b|(?<!thinking )(?<!reasoning )budget (?:has been |was )?exceeded|exceed\w* (?:its|the|your) (?:\w+ )?budget|"
    r"past invoices?|in arrears|overdue[- ](?:payment|balance)|good standing|payment (?:is )?required|"
    r"billing[^.\n]{0,30}(?:limit|not active|disabled|to be enabled)|enable billing|account balance|余额不足|欠费"
)
_MAYBE_MONEY = r"usage limits?\b|plan and billing|current quota"
"""Words of rate limits, too: Google's is "exceeded your current quota, check your plan and billing"."""
_RATES = r"rate[ -]?limit|too many (?:concurrent |\w+ )?requests|(?:per|/) ?(?:minute|min|second|hour|day)\b|\b[tr]p[md]\b|throttl"
_REFUSAL = (
    r"content[ _-]?(?:\w+ )?(?:polic(?:y|ies)|filter(?:ing|ed|s)?|moderation|violation)|(?:usage|safety|acceptable use|responsible "
    r"ai) polic(?:y|ies)|(?:in|not )appropriate content|content exists risk|\b(?:flagged|moderat(?:ed|ion))\b|"
    r"(?:blocked|rejected|filtered|declined|refused|violat\w+)[^.\n]{0,60}\b(?:safety|polic(?:y|ies)|moderation|risk|"
    r"guardrails?|guidelines|terms|harm\w*|sensitive|prohibited)\b|(?:safety|guardrails?)[^.\n]{0,60}\b(?:reject|block|refus|"
    r"interven|trigger)\w*|(?:sensitive|harmful|unsafe|prohibited) (?:content|words?|information)|(?:in|out)put (?:new_)?sensitive\b|敏感|不安全|违规"
)
_KEY = (
    r"\bkey\b.{0,40}\b(?:not valid|invalid|expired|revoked|disabled|deactivated|suspended|leaked)\b|"
    r"\b(?:api|access|secret|subscription)[ -]?key\b.{0,40}\b(?:not found|missing|required)\b|"
    r"\b(?:invalid|incorrect|unknown|expired|missing|no such|wrong)\b.{0,40}\b(?:(?:\w+[ -])?key|(?:access|api|auth|bearer|expired|security) "
    r"token|credentials)\b|not authenticated|not authorized|unauthorized|authentication (?:fail|method\b)|security token|"
    r"\bsignature\b.{0,60}\bnot match|\w_API_?KEY\b|\bapi_?key\b.{0,60}\b(?:must be|set|provide)|"
    r"\b(?:no|not|locate|find|load)\b.{0,40}\bcredentials\b|\bcredentials\b.{0,40}\b(?:not|missing)\b|"
    r"\b(?:organization|account|team|project|workspace)(?: \S+)? (?:has been|is|was) (?:restricted|disabled|suspended|deactivated|banned)\b"
)
_NO_MODEL = (
    r"\bmodel\b['\"`\s:,\w./@-]{0,80}?(?:not found|does(?: not|n.?t) exist|not exist|is not available|not deployed|is not a valid|"
    r"(?:has been|was|is) (?:decommissioned|deprecated|retired|removed|sunset|discontinued|shut down)|"
    r"no longer available|identifier is invalid)|(?:no such|unknown|invalid) model\b|not a valid model\b|"
    r"\b(?:requested model|model (?:id|name))\b['\"`\s:,\w./@-]{0,80}?(?:is not|isn.?t) supported|access to (?:the )?model"
)
_WORDS: dict[ErrorKind, str] = {
    "model_refusal": _REFUSAL,
    "no_money": f"{_MONEY}|{_MAYBE_MONEY}",
    "picture_limit": f"{_near(_PICTURE, _TOO_MUCH)}|图[片像][^\\n]{{0,20}}(?:[过超]大|超[过出]|过多)",
    "context_window": f"{_near(_INPUT, _TOO_MUCH)}|{_LARGE_REQUEST}|"
    r"(?:输入|上下文|消息|prompt)[^\n]{0,20}(?:[过超]长|超[过出])",
    "auth": _KEY,
    "not_found": _NO_MODEL,
    "rate_limit": _RATES,
    "overloaded": r"overloaded|at capacity|capacity exceeded|server (?:is )?busy|no (?:available )?capacity",
}
_PATTERNS = {kind: re.compile(words, re.IGNORECASE) for kind, words in _WORDS.items()}
_SURELY_MONEY = re.compile(_MONEY, re.IGNORECASE)
_ABOUT_RATES = re.compile(_RATES, re.IGNORECASE)
_ABOUT_TOKENS = re.compile(r"\btokens\b|\bcontext\b", re.IGNORECASE)
_ABOUT_OUTPUT = re.compile(
    r"max(?:imum)?[ _](?:\w+[ _])?tokens|(?:output|completion) tokens", re.IGNORECASE
)
_ABOUT_INPUT = re.compile(
    r"\bcontext\b|\b(?:prompt|messages|conversation|inputs)\b|\binput[ _](?:tokens|length)|\bprompt_|total",
    re.IGNORECASE,
)
_ABOUT_FORM = re.compile(
    r"\binput should be\b|\bschema\b|tool_(?:use|result|call)s?\b|\btools?\b|cache_control|\bmetadata\b|stop sequences?\b|function declarations?\b|"
    r"\b(?:system|developer) (?:message|prompt)s?\b|roles?\b.{0,20}\b(?:must|alternate)|"
    r"(?:unknown|unexpected|unsupported|unrecognized|missing|required|extra) (?:\w+ )?(?:parameter|argument|field|inputs?|key)",
    re.IGNORECASE,
)
_ABOUT_OTHER_FIELD = re.compile(
    r"invalid '(?:[\w.\[\]-]*\.)?(?!(?:messages|inputs?|content|text|output|prompt|arguments)\b)[a-z_]+(?:\[\d+\])?'",
    re.IGNORECASE,
)
"""A field of a request that holds none of its conversation."""
_ABOUT_SETTING = re.compile(
    r"\b(?:parameter|setting|configuration|policy|filter|threshold)\b[^.\n]{0,60}"
    r"(?:not valid|invalid|not supported|does not exist|not found|must be)",
    re.IGNORECASE,
)
_SURELY_TOO_LONG = re.compile(
    r"(?:prompt|input|conversation|messages?|context|tokens?)\b[^.\n]{0,60}(?:too (?:long|large|many)|exceed|(?:longer|greater|larger|more) than (?:the|its|\d))|"
    r"exceed[^.\n]{0,60}\b(?:context|tokens?)\b|maximum (?:context|prompt|input) length|too many tokens",
    re.IGNORECASE,
)


def error_kind(status: int | None, body: object, *, text: str = "") -> ErrorKind:
    """Return the kind of a provider's error.

    Args:
        status: HTTP status of the answer, None if it had none.
        body: Its content: JSON as read, or its text or bytes.
        text: Other words on it, such as the message of an exception.

    >>> error_kind(400, {"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}})
    'context_window'
    >>> error_kind(429, {"error": {"code": "insufficient_quota"}}), error_kind(429, {})
    ('no_money', 'rate_limit')
    """
    failed = status is None or status >= 500 or status < 400  # classes of HTTP statuses
    codes, words, is_json = _read(body, text)
    general = [_GENERAL[code] for code in sorted(codes) if code in _GENERAL]
    found = [kind for kind in _CODES if codes & _PLAIN_CODES[kind] and (failed or kind != "server")]
    if found and found[0] in _AGENTS_OR_USERS:
        return found[0]
    if not found and (status is None or status < 400):
        found = general
    spoken = _spoken(status, found, general, words)
    if spoken is not None:
        return spoken
    if found and found[0] != "server":
        return found[0]
    if status == 403 and not is_json and not codes:  # a firewall's page tells nothing about a key
        return "unknown"
    return _STATUSES.get(status or 0, "server" if failed else "bad_request")


def _spoken(
    status: int | None, found: list[ErrorKind], general: list[ErrorKind], words: str
) -> ErrorKind | None:
    """Return the kind by the words, for errors that no code and no status describes better."""
    about_rates = "rate_limit" in {*found, *general} or _ABOUT_RATES.search(words) is not None
    if status == 429 or about_rates:  # HTTP
        if _SURELY_MONEY.search(words) and not _ABOUT_RATES.search(words):
            return "no_money"
        maybe = not about_rates and re.search(_MAYBE_MONEY, words, re.IGNORECASE)
        return "no_money" if maybe else found[0] if found else "rate_limit"
    vague = all(each == "server" or (each == "auth" and status == 403) for each in found)
    if status in {401, 402, 529} or not vague:
        return None
    for kind, pattern in _PATTERNS.items():
        if pattern.search(words) and _holds(kind, status, words):
            return kind
    return None


def _holds(kind: ErrorKind, status: int | None, words: str) -> bool:
    """Return whether words that speak of a kind are not about something else."""
    sure = _SURELY_TOO_LONG.search(words) is not None
    if kind == "picture_limit":
        return not (sure and _ABOUT_TOKENS.search(words)) and status not in {403, 404}
    if kind == "context_window":
        about_output = _ABOUT_OUTPUT.search(words) and not _ABOUT_INPUT.search(words)
        failed = status is None or status >= 500  # a server's own words are read with more care
        plain = not failed and status not in {403, 404} and not _ABOUT_FORM.search(words)
        return not about_output and not _ABOUT_OTHER_FIELD.search(words) and (sure or plain)
    if kind == "model_refusal":
        return _ABOUT_SETTING.search(words) is None
    if kind in {"auth", "not_found", "overloaded"}:
        return status in {400, 403, 404, 412, 422}
    return True


def _plain(code: str) -> str:
    return re.sub(r"[^a-z0-9]", "", code.lower())


_PLAIN_CODES = {kind: {_plain(code) for code in codes.split()} for kind, codes in _CODES.items()}


def _read(body: object, text: str) -> tuple[set[str], str, bool]:
    """Return the codes and the words of an answer, and whether it is JSON."""
    if isinstance(body, bytes):
        body = body[:_MOST_TEXT].decode("utf-8", "replace")
    data = _json(body)
    strings = [text]
    written: list[str] = []
    for name, value in _strings(data if data is not None else body):
        strings.append(value)
        if _plain(name) in _CODE_FIELDS:
            written.append(value.rpartition("#")[2])  # Amazon's have a name space before them
    words = "\n".join(each for each in strings if each)[:_MOST_TEXT]
    written += _WRITTEN_CODE.findall(words)
    # others have a class before a dot
    codes = {_plain(part) for code in written for part in (code, code.partition(".")[0])}
    return codes, _SAYS_NOTHING.sub(" ", words), data is not None


def _json(body: object) -> Any:
    if not isinstance(body, str):
        return body if isinstance(body, dict | list) else None
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict | list) else None


def _strings(data: object) -> Iterator[tuple[str, str]]:
    """Yield the texts in an answer with the names of their fields."""
    left: list[tuple[str, object, int]] = [("", data, 0)]
    given = 0
    while left and given < _MOST_STRINGS:
        name, value, depth = left.pop()
        if isinstance(value, str):
            given += 1
            yield name, value
        elif isinstance(value, dict) and depth < _DEPTH:
            left += [(str(key), each, depth + 1) for key, each in value.items()]
        elif isinstance(value, list) and depth < _DEPTH:
            left += [(name, each, depth + 1) for each in value]
