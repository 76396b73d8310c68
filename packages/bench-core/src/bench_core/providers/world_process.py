"""The process of a built-in world: starts it, says where it answers, stops it when asked to end."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from bench_core.discovery import load_plugin
from bench_core.files import write_atomic


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the world `name` until SIGTERM: `NAME FILE_FOR_URLS OPTIONS_AS_JSON`."""
    name, urls, options = sys.argv[1:] if arguments is None else arguments
    asyncio.run(_serve(name, Path(urls), json.loads(options)))


async def _serve(name: str, urls: Path, options: dict[str, object]) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    world = load_plugin("world", name)(**options)
    try:
        info = await world.start()
        write_atomic(urls, json.dumps(info.urls).encode())
        await ended.wait()
    finally:
        await world.stop()


if __name__ == "__main__":
    main()
