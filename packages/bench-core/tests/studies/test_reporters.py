"""Reports of studies are made by what is installed for them."""

from __future__ import annotations

import pytest

from bench_core.discovery import load_plugin
from bench_core.errors import UnknownPluginError


def test_without_a_reporter_of_studies_the_error_names_what_adds_it() -> None:
    with pytest.raises(UnknownPluginError, match="pip install bench-report"):
        load_plugin("reporter", "study", find=lambda _kind: ())
