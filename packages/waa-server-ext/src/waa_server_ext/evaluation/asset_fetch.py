"""Listing the reference files that tasks need, and fetching them into a folder of assets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import Field

from bench_core.records import Record
from waa_server_ext.evaluation.assets import AssetStore
from waa_server_ext.evaluation.downloads import DownloadError, Downloads, HostRule, HttpStatusError
from waa_server_ext.evaluation.evaluators import EvaluatorSettings
from waa_server_ext.evaluation.tasks import TaskFolder


class FetchReport(Record):
    """The outcome of `assets fetch`.

    Attributes:
        held: URLs that were in the folder already.
        failed: URL to the reason.
    """

    fetched: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    failed: dict[str, str] = Field(default_factory=dict)


def needed_urls(tasks: TaskFolder) -> dict[str, list[str]]:
    """Return the URLs of setup and gold files, each with the tasks that need it."""
    needed: dict[str, list[str]] = {}
    for name in tasks.names():
        for url in dict.fromkeys(_urls(tasks.load(name))):
            needed.setdefault(url, []).append(name)
    return needed


def hosts_of(urls: Iterable[str]) -> tuple[str, ...]:
    """Return the hosts of `urls`, sorted."""
    return tuple(sorted({host for url in urls if (host := urlsplit(url).hostname)}))


def fetch_assets(
    tasks: TaskFolder,
    folder: Path,
    *,
    refresh: bool = False,
    allow_hosts: Iterable[str] = (),
    say: Callable[[str], None] = lambda _line: None,
) -> FetchReport:
    """Fetch the files that the tasks need and `folder` lacks; all of them with `refresh`.

    A file that cannot be fetched is reported and the rest are fetched; running it again continues.

    Raises:
        InputError: The folder of tasks is empty.
    """
    tasks.require_tasks()
    store, urls = AssetStore(folder), needed_urls(tasks)
    settings = EvaluatorSettings(cache=folder)
    rule = HostRule.of(settings, "localhost", (*allow_hosts, *hosts_of(urls)))
    fetched, held, failed = [], [], {}
    for number, url in enumerate(urls, start=1):
        if not refresh and store.read(url) is not None:
            held.append(url)
            continue
        try:
            asset = store.add(url, Downloads(settings, rule).fetch(url))
        except (DownloadError, HttpStatusError) as error:
            failed[url] = str(error)
            say(f"[{number}/{len(urls)}] FAILED {error}")
        else:
            fetched.append(url)
            say(f"[{number}/{len(urls)}] {asset.size:>10,} bytes  {url}")
    return FetchReport(fetched=tuple(fetched), held=tuple(held), failed=failed)


def _urls(task: Mapping[str, Any]) -> Iterator[str]:
    steps = task.get("config")
    evaluator = task.get("evaluator")
    evaluator = evaluator if isinstance(evaluator, dict) else {}
    for step in [*_list(steps), *_list(evaluator.get("postconfig"))]:
        if isinstance(step, dict) and step.get("type") == "download":
            for file in _list((step.get("parameters") or {}).get("files")):
                yield from _web(file.get("url") if isinstance(file, dict) else None)
    for part in ("result", "expected"):
        for getter in _list(evaluator.get(part)):
            if isinstance(getter, dict) and getter.get("type") == "cloud_file":
                for path in _list(getter.get("path")):
                    yield from _web(path)


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _web(url: Any) -> Iterator[str]:
    if isinstance(url, str) and url.startswith(("http://", "https://")):
        yield url
