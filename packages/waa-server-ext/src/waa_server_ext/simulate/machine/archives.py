"""The errors that reading a damaged ZIP archive may raise."""

from __future__ import annotations

import lzma
import zipfile
import zlib

UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,  # cut off
    OSError,  # bzip2, and names that no folder takes
    RuntimeError,  # encrypted, or a method that zipfile does not know
    ValueError,
)
