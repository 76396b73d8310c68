"""Run a command without a network: this machine's loopback is all it can reach.

    python -m nox_support.offline COMMAND...

On Linux it gets a network namespace of its own. Where the machine refuses that, its proxies lead nowhere.
"""

from __future__ import annotations

import os
import shutil
import socket
import struct
import subprocess
import sys

__all__ = ["main", "offline"]

_ISOLATE = ["unshare", "--user", "--map-root-user", "--net", "--"]
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 0x1
_NOWHERE = "http://127.0.0.1:9"
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")


def offline(command: list[str]) -> tuple[list[str], dict[str, str]]:
    """Return the command that runs `command` without a network, and variables for its environment."""
    if shutil.which("unshare") is not None:
        tried = subprocess.run([*_ISOLATE, "true"], check=False, capture_output=True)  # noqa: S603  # fixed words
        if tried.returncode == 0:
            return [*_ISOLATE, sys.executable, __file__, *command], {}
    nowhere = {each: _NOWHERE for name in _PROXIES for each in (name, name.upper())}
    return command, {**nowhere, "no_proxy": "127.0.0.1,localhost", "PIP_NO_INDEX": "1"}


def main(command: list[str]) -> None:
    """Become `command`, in a namespace whose loopback is up and that has no other way out."""
    import fcntl  # Linux has it, and only there is this called

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14s", b"lo", 0, b"")
        answer = fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request)
        (flags,) = struct.unpack("16xH14x", answer)
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH14s", b"lo", flags | _IFF_UP, b""))
    os.execvp(command[0], command)  # noqa: S606  # our own words


if __name__ == "__main__":
    main(sys.argv[1:])
