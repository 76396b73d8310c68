from __future__ import annotations

import base64
import html
import io
import json
import logging
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bench_core.redaction import MARKER, RedactingFilter, Redactor

if TYPE_CHECKING:
    from collections.abc import Iterator

KEY = 'k3y"with\\odd/chars&+ü=end'
PLAIN = "planted-secret-4711"

text = st.text(st.characters(exclude_categories=["Cs"]))
# words that make up keys, their neighbours and the marker, to meet the corner cases
fragments = st.lists(
    st.sampled_from(
        [
            "sk-", "sk-ant-api03-", "AIza", "ghp_", "hf_", "xoxb-", "AKIA", "Bearer ", "Basic ",
            "eyJ", ".", "x-api-key: ", "authorization", '": "', "\\n", "%20", "\\", '"', "'", " ",
            "\n", "abcdefghijklmnop", "0123456789ABCDEF", "_", "-", "=", "[", "]", "REDACTED",
            MARKER, "task", "secret12", "t12sec", "é",
        ]
    ),
    max_size=25,
).map("".join)  # fmt: skip
values = st.lists(st.sampled_from(["secret12", "t12secre", "REDACTED]", "[REDACTED]", "ijklmnop"]))

KEYS = {
    "anthropic": "sk-ant-api03-AbCdEfGh_IjKlMn-0123456789",
    "openai": "sk-proj-AbCdEfGhIjKlMnOpQrSt0123",
    "openai-old": "sk-AbCdEfGhIjKlMnOpQrSt0123",
    "google": "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "github": "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "github-fine": "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz",
    "gitlab": "glpat-AbCdEfGhIjKlMnOpQrSt",
    "huggingface": "hf_AbCdEfGhIjKlMnOpQrStUvWxYz",
    "slack": "xoxb-123456789012-abcdefGHIJKL",
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "groq": "gsk_AbCdEfGhIjKlMnOpQrStUvWx",
    "gitlab-deploy": "gldt-AbCdEfGhIjKl0123MnOp",
    "docker": "dckr_pat_AbCdEfGhIjKl0123MnOpQrStU",
    "vault": "hvs.AbCdEfGhIjKl0123MnOpQrStUvWx",
    "google-oauth": "GOCSPX-AbCdEfGhIjKl0123MnOpQrStU",
    "slack-session": "xoxc-1234567890-abcdefGHIJKL",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS.keys())
@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "key={}&x=1",
        '"{}"',
        "line\n{}\nline",
        "\\n{}\\n",
        "a%20{}%0A",
        "({})",
        "my_{}",
        "é{}é",
    ],
)
def test_key_shapes_are_removed_wherever_they_stand(key: str, around: str) -> None:
    assert Redactor().redact(around.format(key)) == around.format(MARKER)


@pytest.mark.parametrize(
    ("line", "clean"),
    [
        ("Authorization: Bearer abc.def-123456", f"Authorization: Bearer {MARKER}"),
        ("authorization=Basic dXNlcjpwYXNz", f"authorization=Basic {MARKER}"),
        ("x-api-key: 0123456789abcdef", f"x-api-key: {MARKER}"),
        ("{'X-Goog-Api-Key': 'abcdef012345'}", f"{{'X-Goog-Api-Key': '{MARKER}'}}"),
        ('{\\"api-key\\": \\"abcdef012345\\"}', f'{{\\"api-key\\": \\"{MARKER}\\"}}'),
        ("(b'x-api-key', b'...')", "(b'x-api-key', b'...')"),
        ("curl -H 'Authorization: token abcdefgh1'", f"curl -H 'Authorization: token {MARKER}'"),
    ],
)
def test_what_follows_a_header_of_keys_is_removed(line: str, clean: str) -> None:
    assert Redactor().redact(line) == clean


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("https://a.test/x?sig=abcDEF0123456789xyz&se=1", "https://a.test/x?sig={}&se=1"),
        ("x?X-Amz-Signature=0123456789abcdef0123&a=b", "x?X-Amz-Signature={}&a=b"),
        ("https://a.test/#token=abcDEF0123456789xyz", "https://a.test/#token={}"),
        ("password=Zq81xcvbn&username=u", "password={}&username=u"),
        ('{"api_key": "Zq81xcvbn"}', '{{"api_key": "{}"}}'),
        ('{\\"password\\": \\"Zq81xcvbn\\"}', '{{\\"password\\": \\"{}\\"}}'),
        ("aws_secret_access_key = abcDEF0123456789", "aws_secret_access_key = {}"),
        ("//registry.test/:_authToken=abcDEF0123456789", "//registry.test/:_authToken={}"),
        ("Server=s;Uid=u;Pwd=Zq81xcvbn;", "Server=s;Uid=u;Pwd={};"),
        ("X-Vault-Token: abcdefghijkl", "X-Vault-Token: {}"),
        ("https://api.telegram.org/bot123456789:AbCdEfGhIjKlMnOpQrStUvWxYz01234/x",
         "https://api.telegram.org/bot123456789:{}/x"),
        ("https://discord.com/api/webhooks/12/AbCdEfGhIjKlMnOpQrStUvWxYz01234",
         "https://discord.com/api/webhooks/12/{}"),
    ],
)  # fmt: skip
def test_what_stands_where_a_secret_does_is_removed(line: str, kept: str) -> None:
    assert Redactor().redact(line) == kept.format(MARKER)
    assert Redactor().redact(kept.format(MARKER)) == kept.format(MARKER)


@pytest.mark.parametrize(
    "lines", ["\n{}\n{}\n", "\\n{}\\n{}\\n", "\\\\n{}\\\\n{}", "<br>{}<br>{}", "%0A{}%0A{}"]
)
def test_the_body_of_a_private_key_is_removed_however_its_lines_end(lines: str) -> None:
    first, second = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
    found = Redactor().redact(f"-----BEGIN PRIVATE KEY-----{lines.format(first, second)}")
    assert first not in found
    assert second not in found


@pytest.mark.parametrize(
    "harmless",
    [
        "hf_hub_download_with_retries",
        "wandb_project_name_for_experiments",
        "https://a.test/x?key=ArrowDown&token=yes",
        "password: must have at least eight characters",
        "api_key=os.environ",
        "input_tokens=123456789",
        "?keyword=sony+playstation5+bundle+2023",
        "task-management-for-large-organisations",
        "disk-usage-monitoring-service-name",
        "the bearer of good news",
        "a basic understanding",
        "it mixes Economy and Basic Economy.",
        "a Bearer Shares company; Basic Training.",
        "sk-1",
        "0 keys, 12 tokens, max_tokens=4096",
        "https://example.test/path?q=1",
        "",
    ],
)
def test_ordinary_text_stays_as_it_is(harmless: str) -> None:
    assert Redactor([PLAIN]).redact(harmless) == harmless


FORMS = {
    "as it is": KEY,
    "in JSON": json.dumps(KEY),
    "in JSON, not ASCII": json.dumps(KEY, ensure_ascii=False),
    "in JSON inside JSON": json.dumps(json.dumps({"key": KEY})),
    "in a query": quote_plus(KEY),
    "in a path": quote(KEY),
    "URL-encoded": quote(KEY, safe=""),
    "URL-encoded in lower case": "k3y%22with%5codd%2fchars%26%2b%c3%bc%3dend",
    "in HTML": html.escape(KEY),
    "as Python shows it": repr(KEY),
    "in hexadecimal": KEY.encode().hex(),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())
@pytest.mark.parametrize("evidence", [False, True])
def test_known_values_are_removed_in_every_form(form: str, *, evidence: bool) -> None:
    clean = Redactor([KEY]).redact(f"before {form} after", evidence=evidence)
    assert MARKER in clean
    assert "odd" not in clean
    assert KEY.encode().hex() not in clean


@given(before=st.binary(max_size=9), after=st.binary(max_size=9), url_safe=st.booleans())
def test_known_values_are_removed_from_base64_at_any_offset(
    before: bytes, after: bytes, *, url_safe: bool
) -> None:
    code = base64.urlsafe_b64encode if url_safe else base64.b64encode
    blob = code(before + PLAIN.encode() + after).decode()
    clean = Redactor([PLAIN]).redact(f"Basic-ish {blob} end", evidence=True)
    assert MARKER in clean
    for piece in clean.split(MARKER):
        assert b"planted" not in _decoded(piece)


def _decoded(piece: str) -> bytes:
    letters = "".join(each for each in piece if each.isalnum() or each in "+/-_")
    letters = letters[: len(letters) // 4 * 4]
    return base64.b64decode(letters.replace("-", "+").replace("_", "/"))


def test_basic_credentials_with_a_known_password_are_removed_from_evidence() -> None:
    header = base64.b64encode(f"admin:{PLAIN}".encode()).decode()
    clean = Redactor([PLAIN]).redact(f"Authorization: Basic {header}", evidence=True)
    assert base64.b64encode(PLAIN.encode()).decode()[:12] not in clean
    assert MARKER in clean


def test_evidence_keeps_what_only_looks_like_a_key() -> None:
    page = 'csrf=sk-AbCdEfGhIjKlMnOpQrSt0123; "authorization": "Bearer sitetoken123"'
    assert Redactor([PLAIN]).redact(page, evidence=True) == page


@given(fragments | text, values)
@example("]ecret12", ["REDACTED]"])
@example("sk-sk-abcdefghijklmnop.sk-abcdefghijklmnop", [])
def test_redacting_twice_changes_nothing_more(line: str, known: list[str]) -> None:
    redactor = Redactor(known)
    once = redactor.redact(line)
    assert redactor.redact(once) == once
    evidence = redactor.redact(line, evidence=True)
    assert redactor.redact(evidence, evidence=True) == evidence


@given(st.lists(fragments, max_size=4), values)
def test_a_line_of_json_is_cleaned_as_its_values_are(lines: list[str], known: list[str]) -> None:
    redactor = Redactor(known)
    clean = redactor.redact_line(json.dumps(lines, ensure_ascii=False))
    assert json.loads(clean) == redactor.redact_json(lines)


@given(fragments, st.sampled_from(["secret-of-mine", "s3cr3t/with+odd=chars"]))
def test_a_known_value_never_survives(around: str, value: str) -> None:
    assert value not in Redactor([value]).redact(around + value + around)
    assert value not in Redactor([value]).redact(around + value + around, evidence=True)


@pytest.mark.parametrize(
    "unit",
    [
        "sk-",
        "sk-ant-",
        "eyJ",
        "eyJaaaaaaaaa.",
        "Bearer ",
        "authorization:",
        "\\",
        "A",
        "x-api-key",
        "%20",
    ],
)
def test_long_hostile_text_is_one_pass(unit: str) -> None:
    # quadratic work on a megabyte would outlast any test run
    clean = Redactor([PLAIN]).redact(unit * (1_000_000 // len(unit)))
    assert PLAIN not in clean


def test_structured_headers_lose_their_value_whatever_it_looks_like() -> None:
    value = {
        "headers": [{"name": "Authorization", "value": "short"}, {"name": "Accept", "value": "a"}],
        "X-Api-Key": "abc",
        "usage": {"tokens": 3},
    }
    assert Redactor().redact_json(value) == {
        "headers": [{"name": "Authorization", "value": MARKER}, {"name": "Accept", "value": "a"}],
        "X-Api-Key": MARKER,
        "usage": {"tokens": 3},
    }
    assert Redactor().redact_json(value, evidence=True) == value


def test_names_that_are_keys_are_removed_and_nothing_is_lost() -> None:
    clean = Redactor([PLAIN]).redact_json({PLAIN: 1, f"{PLAIN} ": 2, "x": [PLAIN, None, 1.5]})
    assert clean == {MARKER: 1, f"{MARKER} ": 2, "x": [MARKER, None, 1.5]}
    both = Redactor([PLAIN, "other-secret-0815"]).redact_json({PLAIN: 1, "other-secret-0815": 2})
    assert sorted(both.values()) == [1, 2]


def test_variables_are_known_by_name_and_by_what_they_hold() -> None:
    redactor = Redactor.from_environment(
        {
            "OPENAI_API_KEY": "value-of-openai",
            "GITHUB_TOKEN": "value-of-github",
            "DB_PASSWORD": " value-of-database\n",
            "AWS_SECRET_ACCESS_KEY": "value-of-aws",
            "PROVIDER_API_KEY_2": "value-of-second",
            "HOME": "value-of-home",
            "TOKENIZERS_PARALLELISM": "value-of-tokenizers",
            "EMPTY_TOKEN": "",
            "SHORT_TOKEN": "abc1234",
            "DULL_SECRET": "xxxxxxxxxxxx",
            "COMMON_PASSWORD": "changeme",
            "PORT_TOKEN": "1234567890",
            "CLOUD_CREDENTIALS": __file__,
            "HTTPS_PROXY": "http://user:value-of-proxy@proxy.test:1",
            "POSTGRES_DSN": "host=h user=u password=value-of-postgres",
            "MY_CREDS": "value-of-creds",
            "DB_PASSWORD_OLD": "value-of-old",
        }
    )
    names = ["openai", "github", "database", "aws", "second", "proxy", "postgres", "creds", "old",
             "home", "tokenizers"]  # fmt: skip
    line = " ".join(f"value-of-{name}" for name in names)
    kept = "value-of-home value-of-tokenizers"
    assert redactor.redact(line) == f"{(MARKER + ' ') * 9}{kept}"
    assert redactor.redact(__file__) == __file__
    assert redactor.redact("abc1234 xxxxxxxxxxxx changeme 1234567890") == (
        "abc1234 xxxxxxxxxxxx changeme 1234567890"
    )


def test_a_redactor_does_not_show_what_it_knows() -> None:
    assert PLAIN not in repr(Redactor([PLAIN]))


@pytest.fixture
def log() -> Iterator[tuple[logging.Logger, io.StringIO]]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.addFilter(RedactingFilter(Redactor([PLAIN])))
    logger = logging.getLogger("bench_core.tests.redaction")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.addHandler(handler)
    yield logger, stream
    logger.removeHandler(handler)


def test_logs_lose_keys_in_message_arguments_and_traceback(
    log: tuple[logging.Logger, io.StringIO],
) -> None:
    logger, stream = log
    logger.warning("sent %s with %r", PLAIN, {"x-api-key": "0123456789abc"})
    try:
        raise ValueError(f"server said {PLAIN}")  # noqa: TRY301  # a traceback is what is tested
    except ValueError:
        logger.exception("failed", stack_info=True)
    written = stream.getvalue()
    assert PLAIN not in written
    assert "0123456789abc" not in written
    assert f"sent {MARKER} with" in written
    assert f"ValueError: server said {MARKER}" in written


def test_logging_keeps_every_record(log: tuple[logging.Logger, io.StringIO]) -> None:
    logger, stream = log
    logger.info("100% done")
    assert stream.getvalue() == "100% done\n"


@pytest.mark.parametrize("value", ["", "k", "ab", "abc"])
def test_a_value_too_short_to_be_a_secret_changes_nothing(value: str) -> None:
    assert Redactor([value]).redact("a back door, abc") == "a back door, abc"


@pytest.mark.parametrize(
    "secret",
    ["correct horse battery", "plainwordsonly", "K3y+with/signs="],
    ids=["words", "small letters", "signs"],
)
def test_a_line_of_a_log_loses_a_known_value_that_looks_like_no_key(secret: str) -> None:
    line = json.dumps({"task_id": "t1", "error": f"login with {secret} failed"})
    clean = json.loads(Redactor([secret]).redact_line(line))
    assert clean == {"task_id": "t1", "error": f"login with {MARKER} failed"}


def test_what_names_a_record_is_kept_whatever_it_looks_like() -> None:
    record = {"task_id": "sk-ant-api03-abcdefghijkl", "error": "sk-ant-api03-abcdefghijkl"}
    clean = Redactor().redact_json(record, keep=frozenset({"task_id"}))
    assert clean == {"task_id": "sk-ant-api03-abcdefghijkl", "error": MARKER}
