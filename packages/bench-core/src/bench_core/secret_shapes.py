"""The shapes of keys: the prefixes of providers, and the values after names of headers or settings."""

from __future__ import annotations

import re
from dataclasses import dataclass

# A key starts where a word does. Inside JSON and URLs the letter before it may belong to an
# escape (`\nsk-...`, `%20sk-...`).
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=\\u[0-9A-Fa-f]{4})|(?<=%[0-9A-Fa-f]{2}))"
_WORD = r"[A-Za-z0-9_-]"


@dataclass(frozen=True)
class Shape:
    """A pattern whose group 1 is the secret, tried only if one of `anchors` occurs.

    Anchors are in small letters and found in any case, unless the shape is `exact`. Secrets run to the
    end of the word, so that text after a key never starts another.
    """

    anchors: tuple[str, ...]
    pattern: re.Pattern[str]
    exact: bool = False

    def may_be_in(self, text: str, lowered: str) -> bool:
        """Return whether an anchor occurs in `text`; `lowered` is the same in small letters."""
        there = text if self.exact else lowered
        return any(anchor in there for anchor in self.anchors)


def _prefixed(
    *prefixes: str, length: int, anchors: tuple[str, ...] = (), mixed: bool = False
) -> Shape:
    """Return the shape of words with a prefix; `mixed` ones have a digit or capital after it."""
    heads = "|".join(re.escape(each) for each in prefixes)
    # names of functions and settings begin alike
    rest = r"(?=[a-z_.-]*[A-Z0-9])" if mixed else ""
    return Shape(
        anchors or prefixes,
        re.compile(f"{_START}((?:{heads}){rest}{_WORD}{{{length},}})"),
        exact=True,
    )


_ASSIGNED = (
    "api_key", "apikey", "access_key", "accesskey", "secret_key", "private_key", "accountkey",
    "access_token", "refresh_token", "id_token", "auth_token", "authtoken", "client_secret",
)  # fmt: skip
"""Names of settings that hold a secret, whatever follows them."""
_HEADERS = (
    "x-api-key", "x-goog-api-key", "api-key", "ocp-apim-subscription-key", "x-auth-token",
    "authorization", "proxy-authorization", "private-token", "job-token", "cookie", "set-cookie",
    "x-auth-key", "x-vault-token", "x-amz-security-token", "apikey",
)  # fmt: skip
HEADERS = frozenset(_HEADERS)
_KEY_HEADERS = [each for each in _HEADERS if "cookie" not in each]
SHAPES = (
    _prefixed("sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_", length=10),
    Shape(("ya29.",), re.compile(rf"(ya29\.{_WORD}{{20,}})")),
    # variables of npm's begin alike, but have words and underscores
    Shape(("npm_",), re.compile(r"(npm_[A-Za-z0-9]{36,})")),
    Shape(
        ("pypi-",),
        re.compile(
            rf"{_START}(pypi-(?={_WORD}{{0,40}}[A-Z])(?={_WORD}{{0,40}}[0-9]){_WORD}{{32,}})"
        ),
    ),
    Shape(("SG.",), re.compile(rf"(SG\.{_WORD}{{16,}}\.{_WORD}{{16,}})"), exact=True),
    Shape(
        ("hooks.slack.com",),
        re.compile(r"hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9/]{20,})"),
    ),
    Shape(
        tuple(
            f"{name}{sign}"
            for name in ("key", "token", "secret", "password", "sig", "signature")
            for sign in ("=", "%3d")
        ),
        re.compile(
            # also after `%3F`, `%26`, `&amp;` and an escaped `&`
            r"[?&;Ff6#](?:(?i:api[_-]?key|access[_-]?token|auth[_-]?token|private[_-]?token"
            r"|client[_-]?secret|password)(?:=|%3[Dd])(?=.{8})"
            # other things have these names, too
            r"|(?i:key|token|sig|x-amz-signature|x-goog-signature|x-amz-security-token)(?:=|%3[Dd])"
            r"(?=[A-Za-z_.~+/%-]{0,40}[0-9])(?=[A-Za-z0-9_\-.~+/%]{16}))([A-Za-z0-9_\-.~+/%]{8,})"
        ),
    ),
    Shape(
        (
            *_ASSIGNED,
            *(
                f"{name}{sign}"
                for name in ("password", "passwd", "pwd")
                for sign in ("=", " =", ":", '":', "':", '\\":')
            ),
        ),
        re.compile(
            rf"(?i:{'|'.join(_ASSIGNED)}|password|passwd|pwd)"
            r"""\\*["']?\s{0,3}[:=]\s{0,3}\\*["']?(?=[A-Za-z_.~+/=%-]{0,40}[0-9])(?=[0-9_.~+/=%-]{0,40}[A-Za-z])"""
            r"([A-Za-z0-9_\-.~+/=%]{8,})"
        ),
    ),
    Shape(
        ("discord.com/api/webhooks",),
        re.compile(r"discord\.com/api/webhooks/[0-9]{1,30}/([A-Za-z0-9_-]{30,})"),
    ),
    Shape(("telegram.org/bot",), re.compile(r"bot[0-9]{6,12}:([A-Za-z0-9_-]{30,})")),
    # a URL without a login is in almost every record
    Shape(("@",), re.compile(r"""://[^\s/:@"'<>\\]{0,64}:([^\s/@"'<>\\]{3,256})@""")),
    # a URL inside a URL
    Shape(
        ("%3a%2f%2f",),
        re.compile(
            r"%3A%2F%2F[\w.~-]{0,64}%3A((?:[\w.~!$*()+-]|%(?!40|2F|3A)[0-9A-F]{2}){3,256})%40",
            re.IGNORECASE,
        ),
    ),
    Shape(
        ("cookie",),
        re.compile(
            r"""[Cc][Oo][Oo][Kk][Ii][Ee]\\*["']?\s*:\s*\\*["']?([A-Za-z0-9_.-]{1,64}=[^\r\n"'\\]{4,})"""
        ),
    ),
    Shape(
        ("PRIVATE KEY", "PRIVATE%20KEY", "PRIVATE+KEY"),
        # letters that a line of a body, or of headers before it, may have; escaped inside JSON
        re.compile(
            r"PRIVATE(?: |%20|\+)KEY(?:(?: |%20|\+)BLOCK)?-----"
            r"((?:[A-Za-z0-9+/=:,.\s]|-(?!----)|\\+[nr]|%[0-9A-Fa-f]{2}|<br ?/?>){16,})"
        ),
        exact=True,
    ),
    _prefixed("sk-", "rk-", "pk-lf-", length=16),
    _prefixed("AIza", length=30),
    _prefixed("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", length=20),
    _prefixed(
        "glpat-",
        "gldt-",
        "glrt-",
        "glcbt-",
        "glptt-",
        length=16,
        mixed=True,
    ),
    _prefixed("hf_", length=20, mixed=True),
    _prefixed(
        "dckr_pat_",
        "hvs.",
        "ATATT3",
        "PMAK-",
        "NRAK-",
        "GOCSPX-",
        "AGE-SECRET-KEY-1",
        length=20,
        mixed=True,
    ),
    _prefixed(
        "xoxb-",
        "xoxp-",
        "xoxa-",
        "xoxr-",
        "xoxs-",
        "xoxe-",
        "xoxc-",
        "xoxd-",
        "xapp-",
        length=10,
        anchors=("xox", "xapp-"),
    ),
    _prefixed("AKIA", "ASIA", length=16),
    _prefixed("gsk_", "xai-", "tvly-", "r8_", "pplx-", "nvapi-", "wandb_", length=20, mixed=True),
    Shape(
        ("eyJ",),
        re.compile(rf"{_START}(eyJ{_WORD}{{8,}}\.{_WORD}{{8,}}\.{_WORD}{{8,}})"),
        exact=True,
    ),
    Shape(
        ("bearer", "basic"),
        # a word without digits or capitals inside it is the noun or adjective of a sentence
        re.compile(
            r"(?i:bearer|basic)(?:\s|%20|\+)+((?=[A-Za-z.\-]*[0-9_~+/=]|[A-Za-z.\-][a-z.\-]*[A-Z])[A-Za-z0-9_\-.~+/=]{8,})"
        ),
    ),
    Shape(
        (
            "api-key",
            "subscription-key",
            "auth",
            "private-token",
            "job-token",
            "vault-token",
            "security-token",
            "apikey",
        ),
        re.compile(
            rf"(?:{'|'.join(_KEY_HEADERS)})"
            r"""\\*["']?\s*[:=]\s*[bB]?\\*["']?(?:(?:bearer|basic|token|apikey)\s+)?"""
            r"([A-Za-z0-9_\-.~+/=]{8,})",
            re.IGNORECASE,
        ),
    ),
)
