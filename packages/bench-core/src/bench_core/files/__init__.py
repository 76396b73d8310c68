"""Files that are there entirely or not at all, that only grow, or that one process holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench_core.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from bench_core.files.append_log import AppendLog, GroupSync
    from bench_core.files.atomic import (
        folder_name,
        free_name,
        ignores_case,
        is_temporary,
        require_writable,
        sweep_temporary,
        sweep_temporary_below,
        sync_folder,
        write_atomic,
    )
    from bench_core.files.checksums import (
        add_checksum,
        checksum_holds,
        count_lines,
        file_sha256,
        lines_sha256,
    )
    from bench_core.files.inside import (
        file_inside,
        open_inside,
        plain_files,
        read_inside,
        refuse_linked,
        refuse_links,
        refuse_unusual,
    )
    from bench_core.files.locks import FileLock, lock_folder, lock_for_writing
    from bench_core.files.temporary import sweep_leftovers, temporary_folder

__all__ = [
    "AppendLog",
    "FileLock",
    "GroupSync",
    "add_checksum",
    "checksum_holds",
    "count_lines",
    "file_inside",
    "file_sha256",
    "folder_name",
    "free_name",
    "ignores_case",
    "is_temporary",
    "lines_sha256",
    "lock_folder",
    "lock_for_writing",
    "open_inside",
    "plain_files",
    "read_inside",
    "refuse_linked",
    "refuse_links",
    "refuse_unusual",
    "require_writable",
    "sweep_leftovers",
    "sweep_temporary",
    "sweep_temporary_below",
    "sync_folder",
    "temporary_folder",
    "write_atomic",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "append_log": ("AppendLog", "GroupSync"),
        "atomic": (
            "folder_name",
            "free_name",
            "ignores_case",
            "is_temporary",
            "require_writable",
            "sweep_temporary",
            "sweep_temporary_below",
            "sync_folder",
            "write_atomic",
        ),
        "checksums": (
            "add_checksum",
            "checksum_holds",
            "count_lines",
            "file_sha256",
            "lines_sha256",
        ),
        "inside": (
            "file_inside",
            "open_inside",
            "plain_files",
            "read_inside",
            "refuse_linked",
            "refuse_links",
            "refuse_unusual",
        ),
        "locks": ("FileLock", "lock_folder", "lock_for_writing"),
        "temporary": ("sweep_leftovers", "temporary_folder"),
    },
)
