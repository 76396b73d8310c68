"""The forms that a known secret takes in URLs, JSON, HTML, scripts, mails and headers."""

from __future__ import annotations

import base64
import html
import json
import quopri
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple
from urllib.parse import quote, quote_plus

_LINE_END = r"(?:\r?\n|\\r\\n|\\n)?"
"""The end of a line of base64; inside JSON it is escaped."""
_SOFT_ENDS = ("=\n", "=\r\n", "=\\n", "=\\r\\n")
"""The same in quoted-printable."""
_SOFT_END = f"(?:{'|'.join(map(re.escape, _SOFT_ENDS))})?"
_PIECE = 32
"""Half of the shortest line of base64 in use (64, PEM): of two pieces in a row, one has no line's end."""


class Wrapped(NamedTuple):
    """Base64 or quoted-printable of a secret that may be broken into lines.

    Attributes:
        signs: If `pattern` matches and the text has not the whole in one line, one of these is in it.
        pattern: Matches it with and without line ends.
    """

    signs: tuple[str, ...]
    pattern: re.Pattern[str]


def forms_of(value: str) -> Iterator[str]:
    """Yield `value` as it is and in its encodings, some twice encoded; a form may come twice."""
    encoded = value.encode("utf-8", "surrogatepass")
    # without its last byte, which is zero, it is also in the other order of bytes
    wide = value.encode("utf-16-le", "surrogatepass")[:-1]
    texts = [value, *_apply(_ESCAPES, value)]
    yield from texts
    for text in texts:
        yield from _apply(_ESCAPES, text)
    yield from _apply(_RARER_ESCAPES, value)
    yield from _rarer_whole(value, encoded)
    for whole in _whole(value, encoded):
        yield whole
        yield quote(whole, safe="")
        yield _json_inner(whole, ascii_only=True)
    for data in (encoded, wide):
        yield from _hexadecimal(data)
        for offset in range(3):
            for coded in _inside_base64(data, offset):
                yield coded
                yield quote(coded, safe="")
                yield coded.replace("/", "\\/")
    # of an encoded form or a JSON document
    yield from _compressed(encoded)
    for text in dict.fromkeys(each(value) for each in _IN_BASE64):
        for offset in range(3 if text != value else 0):
            yield from _inside_base64(text.encode("utf-8", "surrogatepass"), offset)
    # of base64 in base64, as of a header in a stored request
    for offset in range(3):
        inner = base64.b64encode(bytes(3 - offset) + encoded)[4:].rstrip(b"=")
        for outer in range(3):
            yield from _inside_base64(inner[1:-1], outer)


def _compressed(encoded: bytes) -> Iterator[str]:
    """Yield base64 of a value compressed by gzip and zlib, without their headers and checksums."""
    if len(encoded) < _SHORTEST_WRAPPED:
        return
    for level in (1, 6, 9):
        packer = zlib.compressobj(level, wbits=-zlib.MAX_WBITS)
        packed = packer.compress(encoded) + packer.flush()
        for offset in range(3):
            yield from _inside_base64(packed, offset)


def wrapped_forms_of(value: str) -> Iterator[Wrapped]:
    """Yield patterns that find base64 and quoted-printable of `value` broken into lines."""
    encoded = value.encode("utf-8", "surrogatepass")
    for offset in range(3):
        coded = next(_inside_base64(encoded, offset))
        if len(coded) >= _SHORTEST_WRAPPED:
            size = min(_PIECE, len(coded) // 2)
            pattern = re.compile(f"({_LINE_END.join(map(re.escape, coded))})")
            yield Wrapped((coded[:size], coded[size : 2 * size]), pattern)
    for coded in dict.fromkeys((_quoted_printable(value), _printable(value))):
        units = re.findall("=[0-9A-F]{2}|.", coded, re.DOTALL)
        if len(units) >= _SHORTEST_WRAPPED:
            yield Wrapped(_SOFT_ENDS, re.compile(f"({_SOFT_END.join(map(re.escape, units))})"))


_SHORTEST_WRAPPED = 8


def _whole(value: str, encoded: bytes) -> Iterator[str]:
    """Yield forms in which every character is escaped, also those that need not be."""
    units = [ord(each) for each in value]
    yield "".join(f"%{each:02X}" for each in encoded)
    yield "".join(f"%{each:02x}" for each in encoded)
    yield "".join(f"\\x{each:02x}" for each in encoded)
    yield "".join(f"\\x{each:02X}" for each in encoded)
    wide = value.encode("utf-16-be", "surrogatepass")
    pairs = [wide[at : at + 2].hex() for at in range(0, len(wide), 2)]
    yield "".join(f"\\u{each}" for each in pairs)
    yield "".join(f"\\u{each.upper()}" for each in pairs)
    yield "".join(f"\\u{{{each:x}}}" for each in units)
    yield "".join(f"&#{each};" for each in units)
    yield "".join(f"&#x{each:x};" for each in units)
    yield "".join(f"&#x{each:X};" for each in units)
    yield "".join(f"\\{each:03o}" for each in encoded)


def _rarer_whole(value: str, encoded: bytes) -> Iterator[str]:
    """Yield the same in rarer notations, and texts that encode data."""
    units = [ord(each) for each in value]
    yield "".join(f"&#{each:04};" for each in units)
    yield "".join(f"&#x{each:04X};" for each in units)
    yield "".join(f"&#{each}" for each in units)
    yield "".join(f"={each:02X}" for each in encoded)
    yield from (
        base64.b85encode(encoded).decode("ascii"),
        base64.a85encode(encoded).decode("ascii"),
    )
    # of fewer bytes the letters are those of words
    if len(encoded) >= _SHORTEST_WRAPPED:
        yield from (value.upper(), value.lower(), value.swapcase())
        # letters that also depend on the following bytes are left out
        letters = base64.b32encode(encoded).decode("ascii")[: 8 * len(encoded) // 5]
        yield from (letters, letters.lower())


def _hexadecimal(data: bytes) -> Iterator[str]:
    for text in (data.hex(), data.hex(":"), data.hex(" ")):
        yield text
        yield text.upper()


def _json_inner(text: str, *, ascii_only: bool) -> str:
    return json.dumps(text, ensure_ascii=ascii_only)[1:-1]


def _lower_percent(text: str) -> str:
    return re.sub("%[0-9A-F]{2}", lambda match: match.group().lower(), text)


def _quoted_printable(text: str) -> str:
    data = quopri.encodestring(text.encode("utf-8", "surrogatepass"), quotetabs=True)
    return data.decode("ascii").replace("=\n", "")


def _printable(text: str) -> str:
    data = quopri.encodestring(text.encode("utf-8", "surrogatepass"))
    return data.decode("ascii").replace("=\n", "")


def _in_header(text: str) -> str:
    """Return the Q encoding of mails' headers (RFC 2047)."""
    data = text.encode("utf-8", "surrogatepass")
    kept = (
        chr(e) if (chr(e).isalnum() and e < _ASCII) or chr(e) in "!*+-/" else f"={e:02X}"
        for e in data
    )
    return "".join(kept).replace("=20", "_")


def _thrice(escape: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: escape(escape(escape(text)))


_ASCII = 128
_ESCAPES: tuple[Callable[[str], str], ...] = (
    lambda text: quote(text, safe="", errors="surrogatepass"),
    lambda text: quote(text, errors="surrogatepass"),
    lambda text: quote_plus(text, errors="surrogatepass"),
    lambda text: _lower_percent(quote(text, safe="", errors="surrogatepass")),
    lambda text: _json_inner(text, ascii_only=True),
    lambda text: _json_inner(text, ascii_only=False),
    lambda text: _json_inner(text, ascii_only=False).replace("/", "\\/"),
    lambda text: repr(text)[1:-1],
    html.escape,
    lambda text: html.escape(text).replace("&quot;", "&#34;").replace("&#x27;", "&#39;"),
    _quoted_printable,
)

_RARER_ESCAPES: tuple[Callable[[str], str], ...] = (
    _thrice(lambda text: quote(text, safe="", errors="surrogatepass")),
    _thrice(lambda text: _json_inner(text, ascii_only=True)),
    _thrice(lambda text: _json_inner(text, ascii_only=False)),
    lambda text: repr(text.encode("utf-8", "surrogatepass"))[2:-1],
    lambda text: text.encode("unicode_escape").decode("ascii"),
    lambda text: text.replace('"', '""'),
    lambda text: text.replace("'", "''"),
    lambda text: text.replace("'", "'\"'\"'"),
    lambda text: text[::-1],
    _printable,
    _in_header,
)
_IN_BASE64: tuple[Callable[[str], str], ...] = (
    lambda text: quote(text, safe="", errors="surrogatepass"),
    lambda text: quote_plus(text, errors="surrogatepass"),
    lambda text: _json_inner(text, ascii_only=True),
)


def _apply(escapes: Iterable[Callable[[str], str]], text: str) -> list[str]:
    return [escape(text) for escape in escapes]


def _inside_base64(value: bytes, offset: int) -> Iterator[str]:
    """Yield the forms of `value` in base64 when `offset` (modulo 3) bytes precede it.

    Characters that also depend on the neighbours are left out: fewer than two bytes of the value.
    """
    head = (8 * offset + 5) // 6
    whole = (8 * (offset + len(value))) // 6
    coded = base64.b64encode(bytes(offset) + value).decode("ascii")[head:whole]
    yield coded
    yield coded.replace("+", "-").replace("/", "_")
