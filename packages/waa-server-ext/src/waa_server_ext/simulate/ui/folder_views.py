"""How File Explorer shows a folder, which Windows remembers for each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class FolderView:
    """How one folder is shown: which columns or icons, and in which order."""

    layout: str = "Large icons"
    sort: str = "Name"
    descending: bool = False
