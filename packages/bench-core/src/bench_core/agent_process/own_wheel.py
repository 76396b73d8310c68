"""The running bench-core as a wheel, so that another environment gets the same one."""

from __future__ import annotations

import base64
import functools
import hashlib
import io
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from bench_core.__about__ import __version__
from bench_core.errors import InputError

_ROOT = Path(__file__).parents[1]
_OLDEST = (1980, 1, 1, 0, 0, 0)
"""One date for all files, so that the same program gives the same wheel."""
_WHEEL = "Wheel-Version: 1.0\nGenerator: bench-core\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@functools.cache
def own_wheel() -> tuple[str, bytes]:
    """Return the name and the content of a wheel of the bench-core that this process imported.

    It is made from the installed files, without network or build tools, even if bench-core was installed from a
    working copy.

    Raises:
        InputError: bench-core is not installed.
    """
    try:
        installed = metadata.distribution("bench-core")
    except metadata.PackageNotFoundError:
        raise InputError("bench-core is not installed here, so it cannot be elsewhere") from None
    info = f"bench_core-{__version__}.dist-info"
    files = dict(_modules())
    files[f"{info}/METADATA"] = _metadata(installed).encode()
    files[f"{info}/entry_points.txt"] = (installed.read_text("entry_points.txt") or "").encode()
    files[f"{info}/WHEEL"] = _WHEEL.encode()
    record = "".join(f"{name},{_hash(content)},{len(content)}\n" for name, content in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, _OLDEST), content, zipfile.ZIP_DEFLATED)
    return f"bench_core-{__version__}-py3-none-any.whl", wheel.getvalue()


def _modules() -> Iterator[tuple[str, bytes]]:
    for path in sorted(_ROOT.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(_ROOT.parent).as_posix(), path.read_bytes()


def _metadata(installed: metadata.Distribution) -> str:
    """Return the metadata as installed, with the version of the files: a working copy may be ahead."""
    text = installed.read_text("METADATA") or ""
    head, separator, body = text.partition("\n\n")
    lines = [
        f"Version: {__version__}" if line.startswith("Version:") else line
        for line in head.splitlines()
    ]
    return "\n".join(lines) + separator + body


def _hash(content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
    return f"sha256={digest.rstrip(b'=').decode()}"
