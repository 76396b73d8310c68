"""Finding vanilla's code in a checkout, and identifying its tree and commit."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path
from typing import Literal

from bench_core.errors import InputError
from bench_core.records import Record
from waa_server_ext.vm.client import VM_PORT, vm_address

_CLIENT = Path("src/win-arena-container/client")
_ENVIRONMENT = Path("desktop_env/envs/desktop_env.py")
_KNOWN = {
    "0ab48783fb7fc0d47c61a7b3ec23ac9b3fe3d8eacaa9327e7e0f4484ba19e655": "2927fe5",
    "4a238bf0546fd22d70a5fdd15e71f5fa58e93d16c94c63054a5df1d469b48dff": "6d39ed8",
}
"""Digests of published trees to their commits, for copies without a repository."""
_SEARCHED = (Path(), _CLIENT, Path("client"), Path("win-arena-container/client"))


class Checkout(Record):
    """A tree of vanilla's code.

    Attributes:
        client: The folder that contains `desktop_env`, vanilla's working directory.
        fidelity: `v2` for WindowsAgentArena-V2, else `orig`.
        commit: Of the repository, or of the published tree with the same digest; else `None`.
        digest: SHA-256 over the Python files of `desktop_env`, which identifies the code that runs.
    """

    root: Path
    client: Path
    fidelity: Literal["v2", "orig"]
    tree: str
    commit: str | None
    digest: str


def find_checkout(folder: Path) -> Checkout:
    """Return the tree in `folder`: a checkout's root, or the `client` folder in it.

    Raises:
        InputError: It does not contain `desktop_env`.
    """
    folder = folder.expanduser().resolve()
    client = next((folder / p for p in _SEARCHED if (folder / p / _ENVIRONMENT).is_file()), None)
    if client is None:
        raise InputError(
            f"{folder} is not a Windows Agent Arena checkout: there is no "
            f"{_CLIENT / _ENVIRONMENT} in it; clone microsoft/WindowsAgentArena or "
            f"GAIR-NLP/WindowsAgentArena-V2 and give that folder"
        )
    source = (client / _ENVIRONMENT).read_text(encoding="utf-8", errors="replace")
    is_v2 = "def resize_action" in source  # V2 rescales coordinates, upstream does not
    digest = _digest(client / "desktop_env")
    return Checkout(
        root=folder,
        client=client,
        fidelity="v2" if is_v2 else "orig",
        tree="WindowsAgentArena-V2" if is_v2 else "WindowsAgentArena",
        commit=_commit(client) or _KNOWN.get(digest),
        digest=digest,
    )


def task_folder(checkout: Checkout) -> Path | None:
    """Return the folder of the checkout's own tasks, None if it has none."""
    folder = checkout.client / "evaluation_examples_windows"
    return folder if (folder / "examples").is_dir() else None


def only_host(vm: str) -> str:
    """Return the host of `vm`; vanilla cannot choose the port.

    Raises:
        InputError: `vm` has another port than 5000, or is not an address.
    """
    try:
        host, port = vm_address(vm)
    except ValueError as error:
        raise InputError(str(error)) from error
    if port != VM_PORT:
        raise InputError(
            f"vanilla evaluators speak to port {VM_PORT} only, which vanilla has hard-coded: "
            f"forward it (socat TCP-LISTEN:{VM_PORT},bind=127.0.0.2,fork TCP:{vm}) and use --vm "
            f"127.0.0.2, or leave --waa-checkout out for evaluators that take any port"
        )
    return host


def _commit(folder: Path) -> str | None:
    command = ["git", "-C", str(folder), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(  # noqa: S603  # a fixed command
            command, capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 and _is_own(folder) else None


def _is_own(folder: Path) -> bool:
    """Whether the repository is the checkout's own, not one that a copy happens to lie in."""
    return any((each / ".git").exists() for each in (folder, *list(folder.parents)[:3]))


def _digest(folder: Path) -> str:
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*.py"), key=lambda path: path.as_posix()):
        whole.update(path.relative_to(folder).as_posix().encode() + b"\0")
        whole.update(path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return whole.hexdigest()
