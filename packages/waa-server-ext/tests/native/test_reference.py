"""The pages written from the declarations say what the declarations say."""

from __future__ import annotations

from pathlib import Path

import pytest

from waa_server_ext.native.reference import fidelity_table, reference_page
from waa_server_ext.native.registry import declared

DOCS = Path(__file__).resolve().parents[4] / "docs"


@pytest.mark.skipif(not DOCS.is_dir(), reason="the documentation is not part of the package")
def test_the_reference_page_is_up_to_date() -> None:
    page = DOCS / "reference" / "waa-evaluators.md"
    assert page.read_text(encoding="utf-8") == reference_page()


@pytest.mark.skipif(not DOCS.is_dir(), reason="the documentation is not part of the package")
def test_the_guide_has_the_fidelity_table() -> None:
    assert fidelity_table() in (DOCS / "waa-evaluators.md").read_text(encoding="utf-8")


def test_every_declaration_says_what_it_is_and_how_it_fails() -> None:
    for kind in ("getter", "metric"):
        for name, each in declared(kind).items():  # type: ignore[arg-type]  # one of two literals
            assert each.summary.endswith("."), name
            assert each.failure, name
