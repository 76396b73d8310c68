"""The sandbox of a Wine machine: its own files, processes, network and screen, nothing of this computer's.

Programs under Wine are Linux processes of this user, and WAA's server runs whatever it is sent. So neither the
user's files nor the network can be reached from inside; two sockets in a folder lead in.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from bench_core.errors import InputError

DEBIAN_PACKAGES = {
    "wine": "wine wine64",
    "Xvfb": "xvfb",
    "openbox": "openbox",
    "bwrap": "bubblewrap",
    "socat": "socat",
    "unshare": "util-linux",
}
"""The required programs, and the Debian packages that contain them."""

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64")
_SETTINGS = ("/etc/alternatives", "/etc/fonts", "/etc/ld.so.cache", "/etc/xdg")
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",  # noqa: S108  # the sandbox' own
    "USER": "Docker",  # the user of WAA's image, whose name appears in tasks' paths
    "LOGNAME": "Docker",
    "WINEPREFIX": "/machine",
    "WINEDEBUG": "-all",
    "WINEDLLOVERRIDES": "mscoree,mshtml=",  # do not ask whether to download them
    "DISPLAY": ":0",
    "LANG": "C.UTF-8",
}
# Writes to the machine are kept in memory and disappear with the last process.
_OVERLAY = """
set -e
mount -t tmpfs tmpfs /mnt
mkdir /mnt/changes /mnt/work /mnt/machine
mount -t overlay overlay -o lowerdir=.,upperdir=/mnt/changes,workdir=/mnt/work,userxattr /mnt/machine
exec "$@"
"""


def require_programs() -> None:
    """Refuse a computer that cannot run Wine machines.

    Raises:
        InputError: The system is not Linux, or programs are missing.
    """
    if not sys.platform.startswith("linux"):
        raise InputError("a machine under Wine needs Linux")
    missing = [each for each in DEBIAN_PACKAGES if shutil.which(each) is None]
    if missing:
        packages = " ".join(DEBIAN_PACKAGES[each] for each in missing)
        raise InputError(
            f"a machine under Wine needs {', '.join(missing)}: `apt-get install {packages}`"
        )


def building_command(prefix: Path, *command: str) -> list[str]:
    """Return the command line that runs `command` in a machine whose changes are kept."""
    return [*_bubblewrap(str(prefix)), *command]


def desktop_command(sockets: Path) -> list[str]:
    """Return the command line of a desktop with WAA's server; run it in the folder of the machine.

    Args:
        sockets: Gets the sockets `5000` and `9222`, which lead to these ports inside.
    """
    script = Path(__file__).with_name("desktop.sh")
    inside = ["--bind", str(sockets), "/sockets", "--ro-bind", str(script), "/desktop.sh"]
    sandbox = [*_bubblewrap("/mnt/machine", *inside), "sh", "/desktop.sh"]
    return [
        "unshare", "--user", "--map-root-user", "--mount", "sh", "-c", _OVERLAY, "sh", *sandbox
    ]  # fmt: skip


def _bubblewrap(prefix: str, *more: str) -> list[str]:
    read = [part for each in _SYSTEM for part in ("--ro-bind", each, each)]
    read += [part for each in _SETTINGS for part in ("--ro-bind-try", each, each)]
    variables = [part for name, value in _ENVIRONMENT.items() for part in ("--setenv", name, value)]
    return [
        "bwrap", "--unshare-all", "--die-with-parent", "--hostname", "WAA", *read, "--proc", "/proc",
        "--dev", "/dev", "--tmpfs", _ENVIRONMENT["HOME"], "--bind", prefix, "/machine", *more, "--clearenv", *variables,
    ]  # fmt: skip
