"""File Explorer's wording of a file's type, time and size."""

from __future__ import annotations

import datetime as dt
import ntpath

from waa_server_ext.simulate.machine.filesystem import FileEntry


def type_name(entry: FileEntry) -> str:
    """Return File Explorer's name for this type of file."""
    known = {".txt": "Text Document", ".docx": "Microsoft Word Document", ".png": "PNG File",
             ".jpg": "JPG File", ".zip": "Compressed (zipped) Folder", ".lnk": "Shortcut"}  # fmt: skip
    extension = ntpath.splitext(entry.name)[1].casefold()
    if entry.is_folder:
        return "File folder"
    return known.get(extension, f"{extension[1:].upper()} File".strip())


def shown_time(timestamp: float) -> str:
    """Return a file time as File Explorer shows it."""
    when = dt.datetime.fromtimestamp(timestamp, tz=dt.timezone.utc)
    return f"{when.month}/{when.day}/{when.year} {when.hour % 12 or 12}:{when.minute:02d} {'AM' if when.hour < 12 else 'PM'}"  # noon


def shown_size(size: int) -> str:
    """Return a size as File Explorer shows it."""
    return f"{(size + 1023) // 1024:,} KB"
