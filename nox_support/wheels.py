"""Wheels are built once: `dist/sources.json` says from which sources the files beside it are."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from nox_support.packages import packages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from nox_support.packages import Package

__all__ = ["components", "distributions", "forget", "record", "sbom", "stale", "wheel"]

_RECORD = "sources.json"
_BUILT_FROM = ("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "src", "tests")


def stale(dist: Path, root: Path) -> list[Package]:
    """Return the packages whose files in `dist` are missing or of other sources."""
    known = _read(dist)
    return [
        each
        for each in packages(root)
        if known.get(each.name) != _digest(each) or len(distributions(each, dist)) != len(_KINDS)
    ]


def record(dist: Path, built: Iterable[Package]) -> None:
    """Note that the files in `dist` of the packages `built` are of today's sources."""
    known = _read(dist) | {each.name: _digest(each) for each in built}
    (dist / _RECORD).write_text(json.dumps(known, indent=2, sort_keys=True) + "\n")


def forget(package: Package, dist: Path) -> None:
    """Remove the files of all versions of `package` from `dist`."""
    for each in dist.glob(f"{package.module}-*"):
        each.unlink()


_KINDS = ("-py3-none-any.whl", ".tar.gz")


def distributions(package: Package, dist: Path) -> list[Path]:
    """Return the wheel and the sdist of the package's version, those of them that exist."""
    stem = f"{package.module}-{package.version}"
    return [path for kind in _KINDS if (path := dist / f"{stem}{kind}").is_file()]


def wheel(package: Package, dist: Path) -> Path:
    """Return where the wheel of the package's version is or will be."""
    return dist / f"{package.module}-{package.version}{_KINDS[0]}"


def sbom(package: Package, dist: Path) -> Path:
    """Return where the list of what the wheel brings is or will be: beside it, as CycloneDX."""
    return dist / f"{package.module}-{package.version}.cdx.json"


def components(sbom: Path) -> int:
    """Return how many packages a CycloneDX list has."""
    return len(json.loads(sbom.read_text(encoding="utf-8"))["components"])


def _read(dist: Path) -> dict[str, str]:
    path = dist / _RECORD
    return dict(json.loads(path.read_text())) if path.is_file() else {}


def _digest(package: Package) -> str:
    digest = hashlib.sha256()
    for path in _sources(package.folder):
        digest.update(path.relative_to(package.folder).as_posix().encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _sources(folder: Path) -> Iterator[Path]:
    for name in _BUILT_FROM:
        top = folder / name
        files = sorted(top.rglob("*")) if top.is_dir() else [top]
        yield from (each for each in files if each.is_file() and "__pycache__" not in each.parts)
