"""The reference files of the built-in tasks: our own, at the addresses the tasks name.

WAA's own files are not part of this package; tasks need only their kind, their name
and, for gold files, the look of a right answer.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from PIL import Image

from waa_server_ext.evaluation.assets import AssetStore

EXAMPLES = 17
"""Occurrences of "example" in the large file of the counting task."""

_TEXTS = {
    "draft.txt": "This is a draft.",
    "example_count_gold.txt": str(EXAMPLES),
    "secret.txt": "Nothing to see here.\n",
}
_FILLER = "The quick brown fox jumps over the lazy dog, and no one minds. "


def write_assets(tasks: Iterable[Mapping[str, Any]], folder: Path) -> AssetStore:
    """Write the files at all addresses that the tasks name into a folder of assets."""
    store = AssetStore(folder)
    for url in sorted({url for task in tasks for url in task_urls(task)}):
        data = reference_bytes(url)
        if data is not None:
            store.add(url, data)
    return store


def task_urls(value: Any) -> Iterator[str]:
    """Yield every address of a file in a task."""
    if isinstance(value, dict):
        for each in value.values():
            yield from task_urls(each)
    elif isinstance(value, list):
        for each in value:
            yield from task_urls(each)
    elif isinstance(value, str) and value.startswith(("http://", "https://")):
        yield value


def reference_bytes(url: str) -> bytes | None:
    """Return the file at an address; `None` if the simulation does not have one."""
    name = unquote(url).rsplit("/", 1)[-1]
    extension = name.rpartition(".")[2].casefold()
    if name in _TEXTS:
        return _TEXTS[name].encode()
    if name == "largefile.txt":
        lines = [
            _FILLER * 2 + (f"This is example {n // 4 + 1}." if n % 4 == 0 else "")
            for n in range(EXAMPLES * 4)
        ]
        return ("\n".join(lines) + "\n").encode()
    if extension == "txt":
        return f"Sample text for {name}.\n".encode()
    if extension in {"png", "jpg", "jpeg"}:
        return _picture(name, "PNG" if extension == "png" else "JPEG")
    return _document(name) if extension == "docx" else None


def _picture(name: str, kind: str) -> bytes:
    shade = (len(name) * 37) % 200
    color = "#000000" if "black" in name else "#ffffff" if "white" in name else (shade, 127, 127)
    data = io.BytesIO()
    Image.new("RGB", (64, 48), color).save(data, kind)
    return data.getvalue()


def _document(name: str) -> bytes:
    kinds = (
        '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument'
        '.wordprocessingml.document.main+xml"/></Types>'
    )
    links = (
        '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships'
        '/officeDocument" Target="word/document.xml"/></Relationships>'
    )
    body = (
        '<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
        f"<w:body><w:p><w:r><w:t>A document called {name}.</w:t></w:r></w:p></w:body></w:document>"
    )
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for path, text in (
            ("[Content_Types].xml", kinds),
            ("_rels/.rels", links),
            ("word/document.xml", body),
        ):
            archive.writestr(zipfile.ZipInfo(path), text)
    return data.getvalue()
