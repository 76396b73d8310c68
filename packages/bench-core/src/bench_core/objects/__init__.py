"""Folders of an object store, such as S3; needs the extra `objects`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench_core.objects.folder import ObjectFolder


def opened(url: str) -> ObjectFolder:
    """Return the folder at `scheme://bucket/prefix`; its keys come from the environment.

    Raises:
        ImportError: The extra is not installed.
        EnvironmentFaultError: The environment says nothing of the store, or its settings do not fit.
    """
    from bench_core.objects.folder import opened_folder  # loads the library

    return opened_folder(url)
