"""How the documentation is built: `nox -s docs`."""

from __future__ import annotations

import re
from importlib import metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "Proctor"
author = "The Proctor developers"
project_copyright = "The Proctor developers"
version = release = metadata.version("bench-core")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
]
exclude_patterns = ["_build", "_templates", "schemas"]
templates_path = ["_templates"]

html_theme = "furo"
html_title = "Proctor"

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_class_signature = "mixed"
autodoc_default_options = {
    "members": True,
    "exclude-members": "model_config, model_fields, model_computed_fields, model_post_init",
}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
python_maximum_signature_line_length = 88

suppress_warnings = [
    "ref.python",  # some names are offered by a package and by the module that defines them
]

_CODE = re.compile(r"(?<![`:])`([^`]+)`(?![`_])")


def setup(app: Sphinx) -> None:
    """Read docstrings as they are written: code stands in single backticks, as in Markdown."""
    app.connect("autodoc-process-docstring", _quote_code, priority=100)  # before napoleon


def _quote_code(*event: Any) -> None:
    lines: list[str] = event[-1]
    lines[:] = [_CODE.sub(r"``\1``", line) for line in lines]
