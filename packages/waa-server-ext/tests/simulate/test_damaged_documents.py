"""Documents that are damaged are shown as such."""

from __future__ import annotations

import io
import zipfile

from hypothesis import given
from hypothesis import strategies as st

from waa_server_ext.simulate.apps.office import document_text


def document(method: int) -> bytes:
    written = io.BytesIO()
    lines = "".join(f"<w:p>line {number * 7919 % 997}</w:p>" for number in range(100))
    with zipfile.ZipFile(written, "w", method) as archive:
        archive.writestr("word/document.xml", f"<w:document xmlns:w='x'>{lines}</w:document>")
    return written.getvalue()


WHOLE = [
    document(each)
    for each in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
]


def test_whole_documents_are_shown() -> None:
    assert [document_text(each, ".docx").startswith("line 0\n") for each in WHOLE] == [True] * 4


@given(
    st.sampled_from(WHOLE),
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=4),
    st.floats(0, 1),
)
def test_law_damaged_documents_give_a_text(
    whole: bytes, changes: list[tuple[float, int]], kept: float
) -> None:
    damaged = bytearray(whole)
    for place, value in changes:
        damaged[int(place * len(damaged))] = value
    assert isinstance(document_text(bytes(damaged), ".docx"), str)
    assert isinstance(document_text(bytes(damaged[: int(len(damaged) * kept)]), ".docx"), str)
