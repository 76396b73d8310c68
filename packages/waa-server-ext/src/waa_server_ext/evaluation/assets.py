"""Reference files of tasks in a folder, by the URL that tasks name.

A folder of assets holds `assets.json` (URL to SHA-256, size and time of the download) and the files
under their digest in `files/`. Once it is filled, tasks are scored and set up without the web.
"""

from __future__ import annotations

import hashlib
import os
import threading
from datetime import datetime, timezone
from pathlib import Path

from pydantic import Field, NonNegativeInt, ValidationError

from bench_core.errors import RecordError
from bench_core.files import write_atomic
from bench_core.records import Record
from bench_core.records.problems import problems_of


class Asset(Record):
    """One file: its digest, its size and the time of its download."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size: NonNegativeInt
    fetched: datetime


class AssetIndex(Record):
    """The contents of `assets.json`."""

    schema_version: int = 1
    assets: dict[str, Asset] = Field(default_factory=dict)


class AssetStore:
    """The reference files in `folder`, which is created with the first file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[AssetStore], tuple[Path]]:
        """Pickle the folder's path only, so that another process reads the same folder."""
        return AssetStore, (self.folder,)

    def index(self) -> AssetIndex:
        """Return the index of the folder.

        Raises:
            RecordError: `assets.json` is damaged.
        """
        path = self.folder / "assets.json"
        try:
            return AssetIndex.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return AssetIndex()
        except ValidationError as error:
            raise RecordError(
                f"{path} does not fit: {problems_of(error, AssetIndex)}; remove it and "
                f"fetch again with `waa-server-ext assets fetch`"
            ) from error

    def read(self, url: str) -> bytes | None:
        """Return the file of `url`; None if it is missing or differs from the download."""
        asset = self.index().assets.get(url)
        if asset is None:
            return None
        try:
            data = (self.folder / "files" / asset.sha256).read_bytes()
        except FileNotFoundError:
            return None
        return data if hashlib.sha256(data).hexdigest() == asset.sha256 else None

    def add(self, url: str, data: bytes) -> Asset:
        """Store the file of `url`."""
        digest = hashlib.sha256(data).hexdigest()
        asset = Asset(sha256=digest, size=len(data), fetched=datetime.now(timezone.utc))
        files = self.folder / "files"
        files.mkdir(parents=True, exist_ok=True)
        if not (files / digest).exists():
            write_atomic(files / digest, data)
        with self._lock:
            index = self.index()
            changed = index.model_copy(update={"assets": {**index.assets, url: asset}})
            text = changed.model_dump_json(indent=2) + os.linesep
            write_atomic(self.folder / "assets.json", text.encode())
        return asset
