"""The simulated machine's files: Windows paths, attributes, times and a recycle bin."""

from __future__ import annotations

import ntpath
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from waa_server_ext.simulate.machine.clock import SimulatedClock

HOME = "C:\\Users\\Docker"
READ_ONLY = 0x1  # FILE_ATTRIBUTE_READONLY
HIDDEN = 0x2  # FILE_ATTRIBUTE_HIDDEN
MAX_BYTES = 64 * 2**20
"""Bytes that all files may hold together; writing more fails like a full disk."""

_MAX_ENTRIES = 50_000
_MAX_RECYCLED = 1_000
_MAX_PATH = 32_000  # the limit of an NT path
_RESERVED = '<>"|?*'


def normal(path: str, cwd: str = HOME) -> str:
    r"""Return an absolute path with backslashes and no dots.

    >>> normal("C:/Users/Docker/Documents/../Desktop/")
    'C:\\Users\\Docker\\Desktop'
    >>> normal("notes.txt")
    'C:\\Users\\Docker\\notes.txt'
    """
    if len(path) > _MAX_PATH:
        raise OSError(206, "The filename or extension is too long", path[:80])
    return ntpath.normpath(ntpath.join(cwd, path.strip().strip("\0")))


@dataclass(frozen=True)
class FileEntry:
    """A file (with `data`) or a folder (`data` is `None`); `size` may exceed the stored bytes."""

    path: str
    data: bytes | None
    modified: float
    created: float
    attributes: int = 0
    size: int = 0
    tags: tuple[str, ...] = ()
    readers: tuple[str, ...] = ()

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return self.data is None

    @property
    def name(self) -> str:
        """The last part of its path."""
        return ntpath.basename(self.path) or self.path


@dataclass(frozen=True)
class Recycled:
    """An item in the recycle bin, with everything below it."""

    origin: str
    entries: tuple[FileEntry, ...] = field(repr=False)
    deleted: float = 0.0


class FileSystem:
    """Files and folders by case-insensitive Windows path.

    Methods raise the errors of Python's own functions on Windows: FileNotFoundError,
    FileExistsError, IsADirectoryError, PermissionError, OSError for a bad name or a full disk.
    """

    def __init__(self, clock: SimulatedClock) -> None:
        self._clock = clock
        self._entries: dict[str, FileEntry] = {}
        self.bin: list[Recycled] = []
        self._held = 0
        self._put(FileEntry("C:\\", None, clock.timestamp(), clock.timestamp()))

    def find(self, path: str) -> FileEntry | None:
        """Return the entry at `path`, or `None`."""
        return self._entries.get(_key(path))

    def entry(self, path: str) -> FileEntry:
        """Return the entry at `path`."""
        found = self.find(path)
        if found is None:
            raise FileNotFoundError(2, "No such file or directory", path)
        return found

    def exists(self, path: str) -> bool:
        """Return whether anything is at `path`."""
        return self.find(path) is not None

    def is_folder(self, path: str) -> bool:
        """Return whether a folder is at `path`."""
        found = self.find(path)
        return found is not None and found.is_folder

    def is_file(self, path: str) -> bool:
        """Return whether a file is at `path`."""
        found = self.find(path)
        return found is not None and not found.is_folder

    def read(self, path: str) -> bytes:
        """Return a file's bytes; the part of a sparse file that is not stored reads as zeros."""
        found = self.entry(path)
        if found.data is None:
            raise PermissionError(13, "Permission denied", path)
        if found.size > MAX_BYTES:
            raise OSError(12, "Cannot allocate memory", path)  # sparse: more than memory holds
        return found.data + bytes(max(found.size - len(found.data), 0))

    def write(self, path: str, data: bytes, *, size: int | None = None) -> FileEntry:
        """Create or replace a file; its folder must exist."""
        path = _checked(path)
        self._need_folder(ntpath.dirname(path), path)
        old, now = self.find(path), self._tick()
        if old is not None and old.is_folder:
            raise PermissionError(13, "Permission denied", path)
        if old is not None and old.attributes & READ_ONLY:
            raise PermissionError(13, "Permission denied", path)
        grown = self._held - (len(old.data or b"") if old else 0) + len(data)
        if grown > MAX_BYTES or len(self._entries) > _MAX_ENTRIES:
            raise OSError(28, "No space left on device", path)
        size = len(data) if size is None else size
        if old is None:
            return self._put(FileEntry(path, data, now, now, size=size))
        return self._put(replace(old, data=data, modified=now, size=size))

    def make_folder(self, path: str, *, parents: bool = False, exist_ok: bool = False) -> FileEntry:
        """Create a folder, with `parents` also those above it."""
        path = _checked(path)
        old = self.find(path)
        if old is not None:
            if exist_ok and old.is_folder:
                return old
            raise FileExistsError(17, "Cannot create a file when that file already exists", path)
        above = ntpath.dirname(path)
        if parents and not self.exists(above):
            self.make_folder(above, parents=True)
        self._need_folder(above, path)
        if len(self._entries) > _MAX_ENTRIES:
            raise OSError(28, "No space left on device", path)
        now = self._tick()
        return self._put(FileEntry(path, None, now, now))

    def children(self, path: str) -> list[FileEntry]:
        """Return the direct entries of a folder, sorted by name."""
        if not self.entry(path).is_folder:
            raise NotADirectoryError(20, "The directory name is invalid", path)
        prefix = _prefix(path)
        inside = (e for k, e in self._entries.items() if k.startswith(prefix))
        depth = prefix.count("\\")
        direct = [e for e in inside if _key(e.path).count("\\") == depth and _key(e.path) != prefix]
        return sorted(direct, key=lambda each: each.name.casefold())

    def below(self, path: str) -> Iterator[FileEntry]:
        """Yield everything in a folder, at any depth, parents first."""
        prefix = _prefix(path)
        yield from sorted(
            (e for k, e in self._entries.items() if k.startswith(prefix) and k != prefix),
            key=lambda each: each.path.casefold(),
        )

    def remove(self, path: str, *, recursive: bool = False) -> None:
        """Delete a file, an empty folder, or with `recursive` a folder and everything in it."""
        found = self.entry(path)
        inside = list(self.below(found.path)) if found.is_folder else []
        if inside and not recursive:
            raise OSError(41, "The directory is not empty", path)
        for each in (*reversed(inside), found):
            self._drop(each)
        self._touch_parent(found.path)

    def move(self, source: str, target: str) -> str:
        """Move or rename to the path `target`, which must be free; return the new path."""
        found, target = self.entry(source), _checked(target)
        same = _key(found.path) == _key(target)
        if not same and self.exists(target):
            raise FileExistsError(17, "Cannot create a file when that file already exists", target)
        if not same and _key(target).startswith(_prefix(found.path)):
            raise PermissionError(13, "The destination folder is a subfolder of the source", target)
        self._need_folder(ntpath.dirname(target), target)
        moved = [found, *(self.below(found.path) if found.is_folder else ())]
        for each in moved:
            self._drop(each)
        for each in moved:
            self._put(replace(each, path=target + each.path[len(found.path) :]))
        self._touch_parent(found.path)
        self._touch_parent(target)
        return target

    def copy(self, source: str, target: str) -> str:
        """Copy a file or a folder with its contents to the free path `target`."""
        found, target = self.entry(source), _checked(target)
        if _key(target).startswith(_prefix(found.path)):
            raise PermissionError(13, "The destination folder is a subfolder of the source", target)
        for each in (found, *(self.below(found.path) if found.is_folder else ())):
            place = target + each.path[len(found.path) :]
            if each.data is None:
                self.make_folder(place, exist_ok=True)
            else:
                self.write(place, each.data, size=each.size)
                self.update(place, modified=each.modified, tags=each.tags)
        return target

    def update(
        self,
        path: str,
        *,
        attributes: int | None = None,
        tags: tuple[str, ...] | None = None,
        readers: tuple[str, ...] | None = None,
        modified: float | None = None,
    ) -> FileEntry:
        """Change the attributes, tags, readers or time of a file or folder."""
        old = self.entry(path)
        return self._put(
            replace(
                old,
                attributes=old.attributes if attributes is None else attributes,
                tags=old.tags if tags is None else tags,
                readers=old.readers if readers is None else readers,
                modified=old.modified if modified is None else modified,
            )
        )

    def recycle(self, path: str) -> Recycled:
        """Move a file or folder to the recycle bin."""
        found = self.entry(path)
        entries = (found, *(self.below(found.path) if found.is_folder else ()))
        kept = Recycled(found.path, entries, self._tick())
        self.remove(path, recursive=True)
        self.bin.append(kept)
        while _held_by(self.bin) > MAX_BYTES or len(self.bin) > _MAX_RECYCLED:
            self.bin.pop(0)  # a full bin forgets the oldest
        return kept

    def restore(self, item: Recycled) -> str:
        """Restore an item from the recycle bin to its original path."""
        self.make_folder(ntpath.dirname(item.origin), parents=True, exist_ok=True)
        if self.exists(item.origin):
            raise FileExistsError(17, "A file with this name already exists", item.origin)
        self.bin.remove(item)
        for each in item.entries:
            self._put(each)
        self._touch_parent(item.origin)
        return item.origin

    def free_name(self, folder: str, name: str, *, pattern: str = "{stem} ({n}){ext}") -> str:
        """Return a path in `folder` for `name`, numbered if the name is taken."""
        path = ntpath.join(normal(folder), name)
        stem, ext = ntpath.splitext(name)
        number = 2
        while self.exists(path):
            path = ntpath.join(normal(folder), pattern.format(stem=stem, ext=ext, n=number))
            number += 1
        return path

    def entries(self) -> list[FileEntry]:
        """Return all entries, parents first."""
        return sorted(self._entries.values(), key=lambda each: each.path.casefold())

    def restore_entry(self, entry: FileEntry) -> None:
        """Insert an entry unchanged, with the folders above it; for scenes and snapshots."""
        above = ntpath.dirname(entry.path)
        if not self.exists(above):
            self.make_folder(above, parents=True)
        self._put(entry)

    def _need_folder(self, folder: str, path: str) -> None:
        if not self.is_folder(folder):
            raise FileNotFoundError(2, "No such file or directory", path)

    def _put(self, entry: FileEntry) -> FileEntry:
        key = _key(entry.path)
        old = self._entries.get(key)
        self._held += len(entry.data or b"") - (len(old.data or b"") if old else 0)
        self._entries[key] = entry
        return entry

    def _drop(self, entry: FileEntry) -> None:
        self._held -= len(entry.data or b"")
        self._entries.pop(_key(entry.path), None)

    def _touch_parent(self, path: str) -> None:
        above = self.find(ntpath.dirname(path))
        if above is not None:
            self._put(replace(above, modified=self._clock.timestamp()))

    def _tick(self) -> float:
        self._clock.advance(0.001)
        return self._clock.timestamp()


def _held_by(bin_: list[Recycled]) -> int:
    return sum(len(entry.data or b"") for item in bin_ for entry in item.entries)


def _key(path: str) -> str:
    return normal(path).casefold()


def _prefix(path: str) -> str:
    key = _key(path)
    return key if key.endswith("\\") else key + "\\"


def _checked(path: str) -> str:
    path = normal(path)
    name = ntpath.basename(path)
    if any(char in _RESERVED or ord(char) < ord(" ") for char in name) or ":" in path[2:]:
        raise OSError(22, "The filename, directory name, or volume label syntax is incorrect", path)
    if len(path) > _MAX_PATH:
        raise OSError(206, "The filename or extension is too long", path[:80])
    return path
