from __future__ import annotations

import pytest

from webarena_runner.world.messages import Request
from webarena_runner.world.router import Router


def _posted(kind: str, body: bytes) -> Request:
    return Request("POST", "/", {"content-type": kind}, body)


def test_forms_are_read_urlencoded_and_multipart() -> None:
    multipart = (
        b'--x\r\nContent-Disposition: form-data; name="choice"\r\n\r\n1\r\n'
        b'--x\r\nContent-Disposition: form-data; name="token"\r\n\r\n\xc3\xa9=&\r\n--x--\r\n'
    )

    assert _posted("application/x-www-form-urlencoded", b"a%5Bb%5D=1+2&c=").form == {
        "a[b]": "1 2",
        "c": "",
    }
    assert _posted("multipart/form-data; boundary=x", multipart).form == {
        "choice": "1",
        "token": "é=&",
    }


def test_json_is_read_and_what_is_none_is_null() -> None:
    assert _posted("application/json", b'{"a": null}').json == {"a": None}
    assert _posted("application/json", b"{").json is None
    assert _posted("application/json", b"{}").form == {}


def test_cookies_and_query_are_read() -> None:
    request = Request("GET", "/p?q=a+b&empty=", {"cookie": "one=1; two=2"})

    assert (request.path, request.query) == ("/p", {"q": "a b", "empty": ""})
    assert request.cookies == {"one": "1", "two": "2"}


def test_broken_cookies_are_none() -> None:
    assert Request("GET", "/", {"cookie": "\x7f[=]"}).cookies == {}


@pytest.mark.parametrize(
    ("method", "path", "found"),
    [
        ("GET", "/f/books", ("forum", {"name": "books"})),
        ("GET", "/f/books/", ("forum", {"name": "books"})),
        ("GET", "/f/machine%20learning", ("forum", {"name": "machine learning"})),
        ("GET", "/a/b/c.html", ("page", {"path": "a/b/c"})),
        ("GET", "/.html", None),
        ("POST", "/f/books", None),
        ("GET", "/f/a/b", None),
    ],
)
def test_routes_match_methods_and_segments(
    method: str, path: str, found: tuple[str, dict[str, str]] | None
) -> None:
    routes = Router()
    routes.get("/f/{name}")("forum")  # type: ignore[type-var]  # any object can be routed to
    routes.get("/{path:path}.html")("page")  # type: ignore[type-var]

    assert routes.find(method, path) == found
