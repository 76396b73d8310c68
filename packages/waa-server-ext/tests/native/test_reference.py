"""The pages written from the declarations say what the declarations say."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from waa_server_ext.native.registry import declared

PACKAGE = Path(__file__).resolve().parents[2]
DOCS = PACKAGE.parents[1] / "docs"


@pytest.fixture
def written() -> Any:
    """What writes the pages."""
    return runpy.run_path(str(PACKAGE / "differential" / "reference.py"))


@pytest.mark.skipif(not DOCS.is_dir(), reason="the documentation is not part of the package")
def test_the_reference_page_is_up_to_date(written: Any) -> None:
    page = DOCS / "reference" / "waa-evaluators.md"
    assert page.read_text(encoding="utf-8") == written["reference_page"]()


@pytest.mark.skipif(not DOCS.is_dir(), reason="the documentation is not part of the package")
def test_the_guide_has_the_fidelity_table(written: Any) -> None:
    assert written["fidelity_table"]() in (DOCS / "waa-server.md").read_text(encoding="utf-8")


def test_every_declaration_says_what_it_is_and_how_it_fails() -> None:
    for kind in ("getter", "metric"):
        for name, each in declared(kind).items():  # type: ignore[arg-type]  # one of two literals
            assert each.summary.endswith("."), name
            assert each.failure, name
