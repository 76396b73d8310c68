"""A release from beginning to end, on this machine: what users will do with it is done with it first.

`python -m nox_support.rehearsal` clones the repository, builds all seven packages as they are, uploads them to an
index on loopback, installs them from it, then releases the next minor version of all and a patch of one alone, in
the clone. Each version is built twice and must have the same bytes. Each package is installed alone, too, and shows
its demo without a network. Other packages come from pip's own index.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import venv
from pathlib import Path
from typing import TYPE_CHECKING

from nox_support import releasing, wheels
from nox_support.alone import DEMOS, MOST_MB, AloneError, megabytes, show
from nox_support.packages import ROOT, package, packages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nox_support.packages import Package

PATCHED = "llm-judge"
"""The package that gets a version of its own."""
MEASURED = ("webarena-runner", "bench-report")
"""What is installed to say how large an installation is."""
_STARTS_WITHIN_S = 60
_FRAGMENT = "Released in a rehearsal.\n"


def main() -> int:
    """Rehearse; print a line for each step; return 1 at the first that fails."""
    with tempfile.TemporaryDirectory(prefix="rehearsal-") as folder:
        try:
            _rehearse(Path(folder))
        except (AloneError, releasing.ReleaseError, subprocess.CalledProcessError) as error:
            output = getattr(error, "output", "") or ""
            print(f"{output}\nthe rehearsal failed: {error}", file=sys.stderr)
            return 1
    return 0


def _rehearse(folder: Path) -> None:
    clone = _clone(folder / "clone")
    with _index(folder / "index") as url:
        users = _Environment(folder / "user", url)
        _publish(packages(clone), folder, url)
        users.install(*(f"{each.name}=={each.version}" for each in packages(clone)))
        users.check(packages(clone))
        _publish(_released(releasing.ALL, "minor", clone), folder, url)
        for name, demos in DEMOS.items():
            alone = _Environment(folder / f"only-{name}", url)
            alone.install(name)
            alone.check([package(name, clone)])
            for each in demos:
                print(f"ran {show(each, alone.folder, folder / f'demo-{name}', alone.install)}")
        _measure(_Environment(folder / "measured", url))
        users.install("--upgrade", *(each.name for each in packages(clone)))
        users.check(packages(clone))
        _publish(_released(PATCHED, "patch", clone), folder, url)
        users.install("--upgrade", PATCHED)
        users.check(packages(clone))


def _measure(environment: _Environment) -> None:
    environment.install(*MEASURED)
    found = megabytes(environment.python)
    print(
        f"{' and '.join(MEASURED)} are {found:.0f} MB with all they bring; {MOST_MB} are the most"
    )
    if found > MOST_MB:
        raise AloneError(f"{' and '.join(MEASURED)} have become larger: {found:.0f} MB")


def _clone(folder: Path) -> Path:
    """Clone what is committed; a fragment stands for a change that the patch will tell of."""
    _run(["git", "clone", "-q", str(ROOT), str(folder)])
    for name, value in (("user.name", "Rehearsal"), ("user.email", "rehearsal@localhost")):
        _run(["git", "-C", str(folder), "config", name, value])
    return folder


def _released(name: str, step: str, clone: Path) -> list[Package]:
    """Release in the clone, where each package then has something to tell."""
    for each in packages(clone):
        if name in {each.name, releasing.ALL}:
            fragment = each.folder / "changelog.d" / "+rehearsal.fixed.md"
            fragment.parent.mkdir(exist_ok=True)
            fragment.write_text(_FRAGMENT, encoding="utf-8")
    _run(["git", "-C", str(clone), "add", "--force", "packages"])
    _run(["git", "-C", str(clone), "commit", "-qm", "Tell of a change"])
    released = releasing.release(name, step, clone)
    print(f"released {', '.join(map(releasing.tag_of, released))}")
    return released


def _publish(released: Iterable[Package], folder: Path, url: str) -> None:
    """Build each package twice, compare, check and upload."""
    for each in released:
        first, second = (_built(each, folder / f"{each.module}-{each.version}-{n}") for n in (1, 2))
        differing = [name for name in first if first[name] != second.get(name)]
        if differing:
            raise releasing.ReleaseError(f"built twice, other bytes: {', '.join(differing)}")
        files = [str(folder / f"{each.module}-{each.version}-1" / name) for name in first]
        _run([sys.executable, "-m", "twine", "check", "--strict", *files])
        login = ["--username", "anyone", "--password", "anything"]
        _run([sys.executable, "-m", "twine", "upload", "--repository-url", url, *login, *files])
        print(f"uploaded {each.name} {each.version}, the same bytes twice")


def _built(each: Package, out: Path) -> dict[str, str]:
    """Build wheel and sdist; return the digest of each by its name."""
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out)]
    _run([*build, str(each.folder)])
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in wheels.distributions(each, out)
    }


@contextlib.contextmanager
def _index(folder: Path) -> Iterator[str]:
    """Serve a package index on loopback that takes uploads."""
    folder.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    # without passwords: it listens on loopback and ends with the rehearsal
    open_to_all = ["-P", ".", "-a", "."]
    serve = ["run", "-i", "127.0.0.1", "-p", str(port), "--disable-fallback", *open_to_all]
    with subprocess.Popen(  # noqa: S603  # our own words
        [sys.executable, "-m", "pypiserver", *serve, str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as server:
        try:
            _await_answer(f"http://127.0.0.1:{port}/simple/")
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


def _await_answer(url: str) -> None:
    ends = time.monotonic() + _STARTS_WITHIN_S
    while not _answers(url):
        if time.monotonic() > ends:
            raise releasing.ReleaseError(f"the index at {url} does not answer")
        time.sleep(0.1)


def _answers(url: str) -> bool:
    try:
        urllib.request.urlopen(url, timeout=5).close()  # noqa: S310  # our own loopback
    except OSError:
        return False
    return True


class _Environment:
    """A virtual environment that also knows the index of the rehearsal."""

    def __init__(self, folder: Path, index: str) -> None:
        venv.create(folder, with_pip=True, symlinks=os.name != "nt")
        self.folder = folder
        self._bin = folder / ("Scripts" if os.name == "nt" else "bin")
        self.python = self._bin / "python"
        self._index = f"{index}/simple/"

    def install(self, *requirements: str) -> None:
        pip = [str(self.python), "-m", "pip", "--disable-pip-version-check", "install"]
        _run([*pip, "-q", "--extra-index-url", self._index, *requirements])
        _run([str(self.python), "-m", "pip", "check"])
        print(f"installed {' '.join(requirements)}")

    def check(self, expected: Iterable[Package]) -> None:
        """Have each package's command tell the version that was released."""
        for each in expected:
            told = _run([str(self._bin / each.name), "--version"]).strip()
            if told != f"{each.name}, version {each.version}":
                raise releasing.ReleaseError(f"{each.name} {each.version} says {told!r}")


def _run(command: list[str]) -> str:
    done = subprocess.run(  # noqa: S603  # our own words
        command, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
