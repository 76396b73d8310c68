"""How the documentation is built: `nox -s docs`."""

from __future__ import annotations

import enum
import importlib
import inspect
import re
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomllib
from pydantic import BaseModel

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
    "sphinx_copybutton",
]
exclude_patterns = ["_build", "_templates", "schemas"]
templates_path = ["_templates"]

html_theme = "furo"
html_title = "Proctor"

html_baseurl = "https://proctor-bench.readthedocs.io/en/latest/"
copybutton_prompt_text = "$ "

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_default_options = {
    "members": True,
    "exclude-members": "model_config, model_fields, model_computed_fields, model_post_init",
}
autodoc_member_order = "bysource"
add_module_names = False  # a page says from where its names are imported
autodoc_typehints = "signature"
python_maximum_signature_line_length = 88

suppress_warnings = [
    "ref.python",  # some names are offered by a package and by the module that defines them
]

_CODE = re.compile(r"(?<![`:])`([^`]+)`(?![`_])")


def setup(app: Sphinx) -> None:
    """Read docstrings as they are written, and show records by their fields."""
    app.connect("builder-inited", _load_public_names)
    app.connect("autodoc-process-docstring", _quote_code, priority=100)  # before napoleon
    app.connect("autodoc-process-docstring", _list_fields)
    app.connect("autodoc-process-signature", _omit_signature)
    app.connect("autodoc-skip-member", _skip_described_fields)


def _load_public_names(_: Sphinx) -> None:
    """Give packages the names they import when they are asked for: autodoc lists what is there.

    What two public modules offer is described in the more particular one.
    """
    pyprojects = Path(__file__).parents[1].glob("packages/*/pyproject.toml")
    texts = [tomllib.loads(each.read_text(encoding="utf-8")) for each in pyprojects]
    listed = [name for text in texts for name in text["tool"]["proctor"]["public-modules"]]
    described: set[int] = set()
    for each in sorted(listed, key=lambda name: (-name.count("."), name)):
        module = importlib.import_module(each)
        offered = {name: getattr(module, name) for name in getattr(module, "__all__", ())}
        own = {
            name: value
            for name, value in offered.items()
            if not callable(value) or id(value) not in described
        }
        described.update(map(id, own.values()))
        vars(module).update(own)
        module.__all__ = list(own)


def _quote_code(*event: Any) -> None:
    """Code stands in single backticks, as in Markdown."""
    lines: list[str] = event[-1]
    lines[:] = [_CODE.sub(r"``\1``", line) for line in lines]


def _list_fields(*event: Any) -> None:
    """Add the fields of a record with their types as they are in the source."""
    _, _, _, record, _, lines = event
    if not _is_record(record):
        return
    own = [name for name in record.__annotations__ if name in record.model_fields]
    lines += ["", *(_describe(record, name) for name in own), ""]


def _describe(record: type[BaseModel], name: str) -> str:
    field = record.model_fields[name]
    value = field.get_default(call_default_factory=True)
    shown = str(value) if isinstance(value, enum.Enum) else repr(value)
    default = "" if field.is_required() else f" = {shown}"
    return f"* ``{name}: {record.__annotations__[name]}{default}``"


def _omit_signature(*event: Any) -> tuple[str, str] | None:
    return ("", "") if _is_record(event[3]) else None


def _skip_described_fields(*event: Any) -> bool | None:
    """Leave out fields as members that signature and `Attributes` section have already.

    Each field of a NamedTuple has the docstring "Alias for field number 0", and a field whose default is
    a function has that of the function, so that autodoc would describe it again.
    """
    _, what, name, member, *_ = event
    # Python has no public name for the type of a NamedTuple's field.
    default = what == "class" and inspect.isbuiltin(member) and not name.startswith("_")
    return True if default or type(member).__name__ == "_tuplegetter" else None


def _is_record(documented: object) -> bool:
    return isinstance(documented, type) and issubclass(documented, BaseModel)
