"""Compare what HarRecorder and Playwright's own HAR have of one drive through a hard site.

Playwright drives both times. Run it in an environment that holds webarena-runner with its `bench` group::

    python packages/webarena-runner/benchmarks/bench_hard_site.py --out recordings
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import zipfile
from collections import Counter
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import async_playwright

from bench_core.browser import ChromiumOptions, find_chromium, launch_chromium
from webarena_runner.recording import HarRecorder

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))
from hard_site import drive, hard_site  # needs the path above


class Driver:
    """A page of Playwright's."""

    def __init__(self, page: Any) -> None:
        self._page = page
        self.run = page.evaluate

    async def go(self, url: str) -> None:
        """Open a page."""
        await self._page.goto(url)

    async def choose(self, file: Path) -> None:
        """Choose a file."""
        await self._page.set_input_files("[type=file]", file)

    async def loaded(self, url: str) -> None:
        """Wait until a page has loaded."""
        there = f"location.href === {json.dumps(url)} && document.readyState === 'complete'"
        for _ in range(300):
            with suppress(PlaywrightError):  # between two documents
                if await self.run(there):
                    return
            await asyncio.sleep(0.1)
        raise TimeoutError(url)


async def measure() -> dict[str, tuple[list[Any], dict[str, Any]]]:
    """Return what the server saw and what was recorded, of a drive with each recorder."""
    found = {}
    async with async_playwright() as playwright:
        for name, record in (("HarRecorder", _ours), ("Playwright (trace)", _theirs)):
            with tempfile.TemporaryDirectory(prefix="hard-site-") as scratch:
                folder = Path(scratch)
                (folder / "chosen.txt").write_text("what the file contains")
                with hard_site(folder) as site:
                    found[name] = (site.seen, await record(playwright, site, folder))
    return found


async def _ours(playwright: Any, site: Any, folder: Path) -> dict[str, Any]:
    options = ChromiumOptions(ignore_certificate_errors=True)
    async with launch_chromium(options) as chromium, HarRecorder(chromium.cdp_url) as recorder:
        browser = await playwright.chromium.connect_over_cdp(chromium.cdp_url)
        page = await browser.contexts[0].new_page()
        await drive(Driver(page), site, folder / "chosen.txt")
        return (await recorder.stop(10)).document


async def _theirs(playwright: Any, site: Any, folder: Path) -> dict[str, Any]:
    """Take Playwright's HAR entries from a trace, as BrowserGym does for the evaluator.

    With `record_har_path` Playwright 1.65.2 does not end its context after this drive: four minutes were waited.
    """
    path = folder / "trace.zip"
    browser = await playwright.chromium.launch(
        executable_path=find_chromium(),
        args=["--no-sandbox", "--ignore-certificate-errors"],
        chromium_sandbox=False,
    )
    context = await browser.new_context(ignore_https_errors=True)
    await context.tracing.start(snapshots=True)
    await drive(Driver(await context.new_page()), site, folder / "chosen.txt")
    await context.tracing.stop(path=path)
    await browser.close()
    with zipfile.ZipFile(path) as trace:
        lines = trace.read("trace.network").decode().splitlines()
        entries = [json.loads(line)["snapshot"] for line in lines]
        for entry in entries:  # bodies are files beside them
            posted = entry["request"].get("postData", {})
            if name := posted.get("_file"):
                posted["text"] = trace.read(name).decode(errors="replace")
    creator = {"name": "Playwright", "version": ""}
    return {"log": {"version": "1.2", "creator": creator, "entries": entries}}


def rows(seen: list[Any], document: dict[str, Any]) -> dict[str, int]:
    """Count what one recording has of what the server saw."""
    log = document["log"]
    server = Counter((each.method, each.url) for each in seen)
    keys = [(each["request"]["method"], each["request"]["url"]) for each in log["entries"]]
    named = {each["url"] for each in log.get("_unreported", ())}
    missing = server - Counter(keys)
    posted = {(each.method, each.url): each.body for each in seen if each.body}
    bodies = Counter(
        key
        for key, each in zip(keys, log["entries"], strict=True)
        if key in posted
        and each["request"].get("postData", {}).get("text", "").encode() == posted[key]
    )
    began = [each["startedDateTime"] for each in log["entries"]]
    return {
        "requests at the server": sum(server.values()),
        "entries": len(keys),
        "of them without an entry": sum(missing.values()),
        "and not named either": sum(n for (_, url), n in missing.items() if url not in named),
        "request bodies at the server": len(posted),
        "recorded as they were": len(bodies),
        "entries before an earlier one": sum(a > b for a, b in pairwise(began)),
        "entries with a negative time": sum(each["time"] < 0 for each in log["entries"]),
    }


@click.command(help=__doc__)
@click.option("--out", type=click.Path(path_type=Path), help="Keep both recordings in this folder.")
def main(out: Path | None) -> None:
    """Print one row for each count."""
    found = asyncio.run(measure())
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        for name, (_, document) in found.items():
            (out / f"{name}.har").write_text(json.dumps(document), encoding="utf-8")
    counts = {name: rows(*each) for name, each in found.items()}
    print(f"| | {' | '.join(counts)} |\n|---|{'---|' * len(counts)}")
    for row in next(iter(counts.values())):
        print(f"| {row} | {' | '.join(str(each[row]) for each in counts.values())} |")


if __name__ == "__main__":
    main()
