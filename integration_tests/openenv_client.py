"""Passes calls on to the real OpenEnv client; run by an interpreter that has it. See `served_sessions`."""

from __future__ import annotations

import json
import sys


def main(url: str, token: str, timeout_s: str) -> None:
    """Read calls as JSON lines, `["reset", {...}]` or `["step", {...}]`; write for each what came back."""
    from openenv.core.generic_client import GenericEnvClient  # not where it is checked

    headers = {"Authorization": f"Bearer {token}"}
    client = GenericEnvClient(url, headers=headers, message_timeout_s=float(timeout_s)).sync()
    with client as env:
        for line in sys.stdin:
            name, data = json.loads(line)
            try:
                result = env.reset(**data) if name == "reset" else env.step(data)
                said = {
                    "done": result.done,
                    "reward": result.reward,
                    "observation": result.observation,
                }
            except (RuntimeError, TimeoutError, OSError) as error:
                said = {"error": f"{type(error).__name__}: {error}"}
            sys.stdout.write(f"{json.dumps(said)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
