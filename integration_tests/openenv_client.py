"""Plays actions through the real OpenEnv client; run by an interpreter that has it. See `test_interop`."""

from __future__ import annotations

import json
import sys


def main(url: str, token: str) -> None:
    """Read episodes as JSON lines, `[[reset], [action, ...]]`; write for each what its last frame said."""
    from openenv.core.generic_client import GenericEnvClient  # noqa: PLC0415  # not where it is checked

    headers = {"Authorization": f"Bearer {token}"}
    client = GenericEnvClient(url, headers=headers, message_timeout_s=600).sync()
    with client as env:
        for line in sys.stdin:
            reset, actions = json.loads(line)
            try:
                result = env.reset(**reset)
                for action in actions:
                    result = env.step(action)
                said = {"done": result.done, "reward": result.reward}
            except RuntimeError as error:
                said = {"error": str(error)}
            sys.stdout.write(f"{json.dumps(said)}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
