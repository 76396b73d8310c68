"""The work of the command `serve`."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench_core.discovery import locate_plugin
from bench_core.files import require_writable, write_atomic
from bench_core.serving import ServerToken
from bench_core.sessions.nemo_gym import OPEN_PATHS as NEMO_GYM_PATHS
from bench_core.sessions.nemo_gym import NemoGymServer, dataset_lines
from bench_core.sessions.openenv import OPEN_PATHS as OPENENV_PATHS
from bench_core.sessions.openenv import OpenEnvServer
from bench_core.sessions.records import SessionSettings
from bench_core.sessions.serving import Limits, serve
from bench_core.sessions.websocket import require_websockets

TOKEN_VARIABLE = "BENCH_SESSION_TOKEN"  # noqa: S105  # the name of a variable
"""The environment variable with the token of clients, if users set one."""


def serve_sessions(
    protocol: str,
    benchmark: str,
    settings: dict[str, Any],
    say: Callable[[str], object],
    *,
    host: str,
    port: int,
    sessions: int,
    open_to_all: bool = False,
) -> None:
    """Serve until a signal.

    Args:
        protocol: `openenv` or `nemo-gym`.
        benchmark: The name of an installed benchmark.
        settings: Fields of `SessionSettings`.
        say: Receives the messages for the user.
        host: Address to listen on.
        port: 0 for a free one.
        sessions: How many at once.
        open_to_all: Ask for no token, on loopback.

    Raises:
        UnknownPluginError: No installed distribution offers the benchmark.
        InputError: The address is not free, or is open to others without a token.
        MissingExtraError: OpenEnv is asked for and `websockets` is not installed.
    """
    locate_plugin("benchmark", benchmark)  # a wrong name is said now, and not to the first client
    given = SessionSettings.model_validate(settings)
    limits = Limits(sessions=sessions)
    token = ServerToken.choose(TOKEN_VARIABLE, host=host, without=open_to_all)

    async def main() -> None:
        server: OpenEnvServer | NemoGymServer
        if protocol == "openenv":
            require_websockets()
            server, paths = OpenEnvServer(benchmark, given, limits), OPENENV_PATHS
        else:
            server, paths = NemoGymServer(benchmark, given, limits), NEMO_GYM_PATHS
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, ended.set)
        where: dict[str, Any] = {"host": host, "port": port, "token": token.value}
        async with serve(server.handle, open_paths=paths, limits=limits, **where) as url:
            with token.handed(url) as asked:
                say(f"serving {benchmark} at {url}, {sessions} sessions at once; Ctrl-C stops")
                say(asked)
                await ended.wait()
        await server.close()

    asyncio.run(main())


def write_dataset(benchmark: str, settings: dict[str, Any], path: Path) -> int:
    """Write NeMo Gym's data set of a benchmark's tasks and return their number.

    Raises:
        InputError: The settings do not fit the benchmark.
    """
    require_writable(path)
    lines = list(dataset_lines(benchmark, SessionSettings.model_validate(settings)))
    write_atomic(path, "".join(f"{each}\n" for each in lines).encode())
    return len(lines)
