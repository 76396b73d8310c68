"""OpenDocument texts: highlighting."""

from __future__ import annotations

from waa_server_ext.native.documents import paragraph_texts, same_texts
from waa_server_ext.native.opendocument_text import TEXT, body, yellow_styles
from waa_server_ext.native.registry import metric


@metric("docs.py", needs=("defusedxml", "docx"))
def check_highlighted_words(file_path1: str | None, file_path2: str | None) -> int:
    """Whether two documents have the same text and nothing is highlighted in yellow.

    Fails as: 0 for None and for a damaged or changed document.

    Oddities: Only yellow counts, only on spans, and only the first style with it.
    """
    texts = paragraph_texts(file_path1, file_path2) if file_path1 and file_path2 else None
    if texts is None or not same_texts(*texts):
        return 0
    yellow = set(yellow_styles(str(file_path1)))
    used = (span.get(f"{TEXT}style-name") for span in body(str(file_path1)).iter(f"{TEXT}span"))
    return int(not any(name in yellow for name in used))
