"""The traffic that a task's definition expects, as entries of a HAR."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote, urlencode

from bench_core.records import Task
from webarena_runner.config import EnvironmentConfig
from webarena_runner.patterns import is_pattern
from webarena_runner.reference_solutions.examples import example
from webarena_runner.tasks import start_urls, task_sites

# The headers by which the evaluator recognises a navigation.
_NAVIGATION = {
    "Accept": "text/html,application/xhtml+xml",
    "Sec-Fetch-Dest": "document",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-User": "?1",
}
_FORM = "application/x-www-form-urlencoded"
_JSON = "application/json"
_STEP = re.compile(r"\.([^.\[\]]+)|\['([^']+)'\]|\[(\d+)\]|\[\?\(@\.(\w+) == (\d+)\)\]")
"""A step of a path: `.key`, `['key']`, `[0]` or `[?(@.key == 1)]`."""


def traffic_for(
    task: Task, config: EnvironmentConfig, *, rendered_bodies: bool = True
) -> list[dict[str, Any]]:
    """Return entries of the start pages, and then of each request that the definition expects.

    Args:
        task: The task, with its definition.
        config: The URLs of the sites.
        rendered_bodies: Whether `__SITE__` in a request's body becomes the site's URL.

    Raises:
        ValueError: A pattern for which no example is found.
        InputError: A site of the task is not configured.
    """
    urls = config.render(start_urls(task), task_sites(task))
    definitions: Any = task.config["eval"]
    expected = [
        each
        for each in definitions
        if each["evaluator"] == "NetworkEventEvaluator" and not each.get("should_not_exist")
    ]
    writer = _EntryWriter(config, urls[0].rstrip("/"), rendered_bodies=rendered_bodies)
    return [*(navigation(url) for url in urls), *(writer.request(each) for each in expected)]


def navigation(url: str) -> dict[str, Any]:
    """Return the entry of a document opened by a user."""
    return _entry("GET", url, dict(_NAVIGATION), 200)


class _EntryWriter:
    """Writer of requests to the sites of one configuration."""

    def __init__(self, config: EnvironmentConfig, origin: str, *, rendered_bodies: bool) -> None:
        self._config = config
        self._origin = origin
        self._rendered_bodies = rendered_bodies

    def request(self, wanted: dict[str, Any]) -> dict[str, Any]:
        expected = wanted["expected"]
        method = expected.get("http_method", "GET")
        headers = {**(_NAVIGATION if method == "GET" else {}), **self._headers(expected)}
        entry = _entry(method, self._url(expected), headers, expected.get("response_status", 200))
        if expected.get("post_data"):
            schema = (wanted.get("post_data_schema") or {}).get("properties", {})
            entry["request"]["postData"] = _content(self._body(expected["post_data"]), schema)
        if expected.get("response_content"):
            entry["response"]["content"] = _content(expected["response_content"], None)
        entry["response"]["cookies"] = [
            {"name": name, "value": quote(_first(value), safe="")}
            for name, value in (expected.get("response_cookies") or {}).items()
        ]
        return entry

    def _url(self, expected: dict[str, Any]) -> str:
        wanted = expected["url"]
        wanted = wanted[0] if isinstance(wanted, list) else wanted
        if is_pattern(wanted) and wanted.startswith("^.*/"):
            wanted = f"^{re.escape(self._origin)}{wanted[3:]}"
        rendered = _rendered(wanted, self._config)
        url = example(rendered, filler="1") if is_pattern(rendered) else str(rendered)
        if expected.get("query_params"):
            url += ("&" if "?" in url else "?") + _query(expected["query_params"])
        return url

    def _headers(self, expected: dict[str, Any]) -> dict[str, str]:
        wanted = _rendered(expected.get("headers") or {}, self._config)
        return {name: _first(value) for name, value in wanted.items()}

    def _body(self, wanted: dict[str, Any]) -> dict[str, Any]:
        rendered: dict[str, Any] = _rendered(wanted, self._config)
        return rendered if self._rendered_bodies else wanted


def _entry(method: str, url: str, headers: dict[str, str], status: int) -> dict[str, Any]:
    moment = "2024-01-01T00:00:00.000Z"
    named = [{"name": name, "value": value} for name, value in headers.items()]
    sizes = {"headersSize": -1, "bodySize": -1}
    return {
        "startedDateTime": moment,
        "time": 1,
        "request": {
            "method": method, "url": url, "httpVersion": "HTTP/1.1", "cookies": [],
            "headers": named, "queryString": [], **sizes,
        },
        "response": {
            "status": status, "statusText": "", "httpVersion": "HTTP/1.1", "cookies": [],
            "headers": [], "content": {"size": 0, "mimeType": "text/html", "text": ""},
            "redirectURL": "", **sizes,
        },
        "cache": {},
        "timings": {"send": 0, "wait": 1, "receive": 0},
    }  # fmt: skip


def _rendered(value: Any, config: EnvironmentConfig) -> Any:
    """Replace `__SITE__` by the sites' URLs, escaped where the value is a pattern."""
    if isinstance(value, dict):
        return {key: _rendered(each, config) for key, each in value.items()}
    if isinstance(value, list):
        return [_rendered(each, config) for each in value]
    if not isinstance(value, str):
        return value
    for name, site in config.sites.items():
        url = re.escape(site.url) if is_pattern(value) else site.url
        value = value.replace(f"__{name.upper()}__", url)
    return value


def _first(value: Any) -> str:
    """Return the first alternative, or an example if it is a pattern."""
    while isinstance(value, list):
        value = value[0]
    return example(value) if is_pattern(value) else str(value)


def _query(wanted: dict[str, Any]) -> str:
    pairs = []
    for name, values in wanted.items():
        listed = values if isinstance(values, list) else [values]
        pairs += [(name, _first(each)) for each in listed]
    return urlencode(pairs)


def _content(wanted: dict[str, Any], schema: dict[str, Any] | None) -> dict[str, Any]:
    """Return a body with the wanted fields: a form if they are flat, else JSON.

    Args:
        wanted: By name, by a pattern of the name (`$.^name$`) or by a path (`$.items[0].name`).
        schema: The types of the fields of a request, None for a response, which is JSON.
    """
    fields = {
        _name(name.strip()): _field(value, (schema or {}).get(name, {}))
        for name, value in wanted.items()
    }
    flat = all(isinstance(each, str) for each in fields.values())
    if flat and schema is not None and not any(name.startswith("$") for name in fields):
        return _body(_FORM, urlencode(fields))
    body: Any = {}
    for name, value in fields.items():
        body = _put(body, _path(name), value)
    return _body(_JSON, json.dumps(body))


def _body(kind: str, text: str) -> dict[str, Any]:
    return {"mimeType": kind, "text": text, "params": [], "size": len(text)}


def _name(name: str) -> str:
    return example(name[2:]) if is_pattern(name[2:]) and name.startswith("$.") else name


def _field(value: Any, schema: Any) -> Any:
    if isinstance(value, list) and schema.get("type") != "array":
        return _field(value[0], schema)
    return example(value) if is_pattern(value) else value


def _path(name: str) -> list[Any]:
    """Return the keys, indexes and conditions (key, value) of a path, or just the name."""
    if not name.startswith("$"):
        return [name]
    path: list[Any] = []
    for key, quoted, index, condition, number in _STEP.findall(name):
        if condition:
            path.append((condition, int(number)))
        else:
            path.append(int(index) if index else key or quoted)
    return path


def _put(body: Any, path: list[Any], value: Any) -> Any:
    """Return `body` with `value` at `path`; a condition makes one object for each listed value."""
    if not path:
        return value
    step, *rest = path
    if isinstance(step, str):
        fields = body if isinstance(body, dict) else {}
        return {**fields, step: _put(fields.get(step), rest, value)}
    items = list(body) if isinstance(body, list) else []
    if isinstance(step, tuple):
        return [*items, *(_put({step[0]: step[1]}, rest, each) for each in value)]
    items += [{}] * (step + 1 - len(items))
    items[step] = _put(items[step], rest, value)
    return items
