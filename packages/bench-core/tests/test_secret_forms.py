"""A known secret does not survive in any of its encodings, and shapes of keys do not survive anywhere."""

from __future__ import annotations

import base64
import gzip
import html
import json
import quopri
import zlib
from email.quoprimime import header_encode
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from bench_core import redaction
from bench_core.cli.options import run_options
from bench_core.redaction import MARKER, Redactor, remember_secrets
from bench_core.run_folder import describe_artifacts
from bench_core.run_folder.left_files import keep_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SECRET = 'pa55-w\u00f6rd"<of>/mine&+\\x'


def mime(data: bytes, width: int) -> str:
    text = base64.b64encode(data).decode()
    return "\n".join(text[at : at + width] for at in range(0, len(text), width))


def each_byte(form: str) -> Callable[[str], str]:
    return lambda text: "".join(form.format(each) for each in text.encode())


def each_letter(form: str) -> Callable[[str], str]:
    return lambda text: "".join(form.format(ord(each)) for each in text)


ENCODINGS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "percent": lambda s: quote(s, safe=""),
    "percent, path": quote,
    "percent, form": quote_plus,
    "percent, all": each_byte("%{:02X}"),
    "percent, all, lower": each_byte("%{:02x}"),
    "percent, twice": lambda s: quote(quote(s, safe=""), safe=""),
    "percent, all, twice": lambda s: quote(each_byte("%{:02X}")(s)),
    "JSON": lambda s: json.dumps(s)[1:-1],
    "JSON, letters kept": lambda s: json.dumps(s, ensure_ascii=False)[1:-1],
    "JSON in JSON": lambda s: json.dumps(json.dumps(s)[1:-1])[1:-1],
    "u, all": each_letter("\\u{:04x}"),
    "u, all, upper": each_letter("\\u{:04X}"),
    "u in braces": each_letter("\\u{{{:x}}}"),
    "x": each_byte("\\x{:02x}"),
    "Python": lambda s: repr(s)[1:-1],
    "HTML": html.escape,
    "HTML, numbers": each_letter("&#{};"),
    "HTML, hexadecimal": each_letter("&#x{:x};"),
    "HTML in JSON": lambda s: json.dumps(html.escape(s))[1:-1],
    "hexadecimal": lambda s: s.encode().hex(),
    "hexadecimal, upper": lambda s: s.encode().hex().upper(),
    "hexadecimal, colons": lambda s: s.encode().hex(":"),
    "hexadecimal, UTF-16": lambda s: s.encode("utf-16-le").hex(),
    "base64": lambda s: base64.b64encode(s.encode()).decode(),
    "base64, URL": lambda s: base64.urlsafe_b64encode(s.encode()).decode(),
    "base64, percent": lambda s: quote(base64.b64encode(s.encode()).decode(), safe=""),
    "base64, UTF-16": lambda s: base64.b64encode(s.encode("utf-16-le")).decode(),
    "base64, twice": lambda s: base64.b64encode(base64.b64encode(b"user:" + s.encode())).decode(),
    "base64, lines": lambda s: mime(b"x" * 50 + s.encode() + b"y" * 50, 76),
    "base64, lines in JSON": lambda s: json.dumps(mime(b"x" * 40 + s.encode(), 64))[1:-1],
    "quoted-printable": lambda s: quopri.encodestring(s.encode(), quotetabs=True).decode(),
    "octal": each_byte("\\{:03o}"),
    "percent, three times": lambda s: quote(quote(quote(s, safe=""), safe=""), safe=""),
    "JSON, letters kept, three times": lambda s: json.dumps(
        {"a": json.dumps({"b": json.dumps({"c": s}, ensure_ascii=False)}, ensure_ascii=False)},
        ensure_ascii=False,
    ),
    "capitals": str.upper,
    "small letters": str.lower,
    "case exchanged": str.swapcase,
    "bytes": lambda s: repr(s.encode()),
    "base64 of gzip": lambda s: base64.b64encode(gzip.compress(s.encode())).decode(),
    "base64 of gzip, level 1": lambda s: base64.b64encode(gzip.compress(s.encode(), 1)).decode(),
    "base64 of zlib": lambda s: base64.b64encode(zlib.compress(s.encode())).decode(),
    "base64 of zlib, URL": lambda s: base64.urlsafe_b64encode(zlib.compress(s.encode())).decode(),
    "JSON, three times": lambda s: json.dumps(json.dumps(json.dumps(s)[1:-1])[1:-1])[1:-1],
    "HTML, numbers of four digits": each_letter("&#{:04};"),
    "HTML, hexadecimal of four digits": each_letter("&#x{:04X};"),
    "HTML, numbers without semicolons": each_letter("&#{}"),
    "Python, escaped": lambda s: s.encode("unicode_escape").decode(),
    "bytes of Python": lambda s: repr(s.encode())[2:-1],
    "CSV": lambda s: s.replace('"', '""'),
    "base32": lambda s: base64.b32encode(s.encode()).decode().rstrip("="),
    "base32, small letters": lambda s: base64.b32encode(s.encode()).decode().rstrip("=").lower(),
    "base85": lambda s: base64.b85encode(s.encode()).decode(),
    "Ascii85": lambda s: base64.a85encode(s.encode()).decode(),
    "reversed": lambda s: s[::-1],
    "quoted-printable, all": each_byte("={:02X}"),
    "quoted-printable, lines": lambda s: quopri.encodestring(b"x" * 64 + s.encode()).decode(),
    "quoted-printable in a header": lambda s: header_encode(s.encode(), "utf-8"),
    "base64, UTF-16, the other order": lambda s: base64.b64encode(s.encode("utf-16-be")).decode(),
    "percent in base64": lambda s: base64.b64encode(b"p=" + quote(s, safe="").encode()).decode(),
    "JSON in base64": lambda s: base64.b64encode(json.dumps({"k": s}).encode()).decode(),
}


@pytest.mark.parametrize("encode", ENCODINGS.values(), ids=ENCODINGS.keys())
@pytest.mark.parametrize("evidence", [False, True])
def test_a_known_secret_is_removed_in_every_encoding(
    encode: Callable[[str], str], *, evidence: bool
) -> None:
    clean = Redactor([SECRET]).redact(f"before {encode(SECRET)} after", evidence=evidence)
    assert MARKER in clean
    assert clean.startswith("before ")
    assert clean.endswith(" after")


@pytest.mark.parametrize("name", [".env", "screenshots/1.png", "trajectory.jsonl", "a/b.toml"])
def test_no_encoding_stays_in_a_file_that_an_agent_leaves(tmp_path: Path, name: str) -> None:
    stage, trial = tmp_path / "stage", tmp_path / "trial"
    path = stage / name
    path.parent.mkdir(parents=True)
    trial.mkdir()
    path.write_text("".join(f"before {each(SECRET)} after\n" for each in ENCODINGS.values()))
    assert keep_files(stage, trial, redactor=Redactor([SECRET])) == ()
    (kept,) = describe_artifacts(trial)
    left = (trial / kept.path).read_text()
    assert left.count(MARKER) >= len(ENCODINGS)
    assert all(f" {each(SECRET)} " not in left for each in ENCODINGS.values())


def test_there_are_more_than_25_encodings() -> None:
    assert len(ENCODINGS) > 25


@given(
    before=st.binary(max_size=200), after=st.binary(max_size=200),
    width=st.sampled_from([64, 76]), end=st.sampled_from(["\n", "\r\n", "\\n", "\\r\\n"]),
)  # fmt: skip
def test_base64_in_lines_is_removed_at_any_offset(
    before: bytes, after: bytes, width: int, end: str
) -> None:
    secret = b"a-secret-of-mine-which-is-long-enough-for-two-lines-of-base64-0123456789"
    text = mime(before + secret + after, width).replace("\n", end)
    clean = Redactor([secret.decode()]).redact(text, evidence=True)
    # the characters at its ends are shared with its neighbours
    core = base64.b64encode(bytes(len(before) % 3) + secret).decode()[4:-4]
    assert MARKER in clean
    assert core[:20] not in clean.replace(end, "")
    assert core[-20:] not in clean.replace(end, "")


SHAPES = {
    "Stripe": ("sk_live_51AbCdEfGhIjKl", "{}"),
    "Google OAuth": ("ya29.a0AfH6SMBx-AbCdEfGhIjKlMnOp", "{}"),
    "npm": ("npm_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789", "//registry:_authToken={}"),
    "PyPI": ("pypi-AgEIcHlwaS5vcmcCJDAxMjM0NTY3LTg5YWI", "password = {}"),
    "SendGrid": ("SG.AbCdEfGhIjKlMnOpQrStUv.AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfG", "{}"),
    "Slack": ("xoxb-123456789012-abcdefGHIJKL", "{}"),
    "Slack hook": ("T00000000/B00000000/XXXXXXXXXXXX", "https://hooks.slack.com/services/{}"),
    "GitLab header": ("aVerySecretToken", "PRIVATE-TOKEN: {}"),
    "query": ("0123456789abcdef", "GET /x?api_key={}&page=2"),
    "query, escaped": ("0123456789abcdef", "GET /x?page=2\\u0026access_token={}"),
    "query in a query": ("0123456789abcdef", "/login?next=%2Fx%3Fapi_key%3D{}"),
    "URL in a query": ("hunter2hunter2", "/go?to=https%3A%2F%2Fadmin%3A{}%40shop.test%2Fx"),
    "URL": ("hunter2hunter2", "postgres://admin:{}@db.test:5432/shop"),
    "cookie": ("session=0123456789abcdef; theme=dark", "Cookie: {}"),
    "set-cookie": ("sid=0123456789abcdef; Path=/", "set-cookie: {}"),
    "PEM": (
        "\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\nAgEAAoIBAQC7VJTUt9Us8cKj\n",
        "-----BEGIN PRIVATE KEY-----{}-----END PRIVATE KEY-----",
    ),
    "PEM with headers": (
        "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF\n\nMIIEvQIBADANBgkq\n",
        "-----BEGIN RSA PRIVATE KEY-----{}-----END RSA PRIVATE KEY-----",
    ),
    "PGP": (
        "\nVersion: GnuPG v2.2\n\nlQOYBFxQ5nABCADh2Jd0\n=x3Zt\n",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----{}-----END PGP PRIVATE KEY BLOCK-----",
    ),
    "PEM in JSON": (
        "\\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\\n",
        "-----BEGIN RSA PRIVATE KEY-----{}-----END RSA PRIVATE KEY-----",
    ),
}


@pytest.mark.parametrize(("secret", "around"), SHAPES.values(), ids=SHAPES.keys())
def test_shapes_of_keys_are_removed_from_text_and_kept_in_evidence(
    secret: str, around: str
) -> None:
    assert Redactor().redact(around.format(secret)) == around.format(MARKER)
    assert Redactor().redact(around.format(secret), evidence=True) == around.format(secret)


@pytest.mark.parametrize(
    "harmless",
    [
        "npm_config_user_agent_of_a_very_long_name_indeed",
        "install pypi-attestations-of-many-packages",
        "see http://127.0.0.1:8080/users/me@example.com",
        "cookie: a small cake",
        "The cookie banner was accepted: yes",
        "/search?key=value&token=abc",
        "/go?to=https%3A%2F%2Fshop.test%3A8080%2Fusers%2Fme%40example.com",
        "lost the PRIVATE KEY of the office - again, it seems",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n",
    ],
)
def test_what_is_no_key_stays(harmless: str) -> None:
    assert Redactor().redact(harmless) == harmless


@pytest.mark.parametrize(
    ("name", "value", "removed"),
    [
        ("STRIPE_KEY_LIVE", "abcdef123456", "abcdef123456"),
        ("SMTP_PASS", "abcdef123456", "abcdef123456"),
        ("DB_PWD", "abcdef123456", "abcdef123456"),
        ("DATABASE_URL", "postgres://shop:abc%2Fdef123@db/x", "abc/def123"),
        ("DATABASE_URL", "postgres://shop:abc%2Fdef123@db/x", "postgres://shop:abc%2Fdef123@db/x"),
        ("SENTRY_DSN", "https://0123456789abcdef0@sentry.test/1", "0123456789abcdef0"),
        ("MY_DSN", "host=db password=abcdef123456", "host=db password=abcdef123456"),
    ],
)
def test_more_variables_are_known_by_their_names(name: str, value: str, removed: str) -> None:
    redactor = Redactor.from_environment({name: value})
    assert redactor.redact(f"it is {removed} here", evidence=True) == f"it is {MARKER} here"


@pytest.mark.parametrize("name", ["DATABASE_URL", "SENTRY_DSN", "SHOP_URL"])
def test_an_address_without_a_login_is_no_secret(name: str) -> None:
    redactor = Redactor.from_environment({name: "http://shop.test:7770/start"})
    assert redactor.redact("at http://shop.test:7770/start") == "at http://shop.test:7770/start"


def test_what_is_remembered_is_known_to_every_later_redactor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(redaction, "_remembered", {})
    remember_secrets(["typed-by-the-agent"])
    clean = Redactor.from_environment({}).redact("it typed typed-by-the-agent", evidence=True)
    assert clean == f"it typed {MARKER}"


@pytest.mark.parametrize("in_file", [False, True])
def test_a_run_command_takes_secrets_that_no_variable_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, in_file: bool
) -> None:
    monkeypatch.setattr(redaction, "_remembered", {})
    kept = tmp_path / "secrets"
    kept.write_text("typed-by-the-agent\n\nanother-one\n", encoding="utf-8")

    @click.command()
    @run_options(agent="toy")
    def run(**_: object) -> None:
        # as a runner's parts make theirs, once the command has begun
        redactor = Redactor.from_environment({})
        click.echo(redactor.redact("typed-by-the-agent another-one", evidence=True))

    given = ["--redact", str(kept)] if in_file else ["--redact", "typed-by-the-agent"]
    output = CliRunner().invoke(run, given).output
    assert output == (f"{MARKER} {MARKER}\n" if in_file else f"{MARKER} another-one\n")


def test_a_run_command_refuses_a_secret_that_is_too_short() -> None:
    @click.command()
    @run_options(agent="toy")
    def run(**_: object) -> None:
        click.echo("began")

    result = CliRunner().invoke(run, ["--redact", "ab"])
    assert (result.exit_code, "too short" in result.output) == (2, True)


def test_a_value_that_would_blank_words_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_remembered", {})
    with pytest.raises(ValueError, match="too short"):
        remember_secrets(["abc"])
