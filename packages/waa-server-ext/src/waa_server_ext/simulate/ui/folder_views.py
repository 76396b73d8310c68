"""The look of a folder in File Explorer, which Windows remembers for each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class FolderView:
    """One folder's layout (columns or icons) and order."""

    layout: str = "Large icons"
    sort: str = "Name"
    descending: bool = False
