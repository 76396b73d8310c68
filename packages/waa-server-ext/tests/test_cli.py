"""The command says what it can do without loading what does it."""

from __future__ import annotations

import subprocess
import sys

from click.testing import CliRunner

import waa_server_ext
from waa_server_ext.cli import main


def test_version_names_the_distribution() -> None:
    result = CliRunner().invoke(main, ["--version"])
    assert result.exit_code == 0
    assert result.output == f"waa-server-ext, version {waa_server_ext.__version__}\n"


def test_help_loads_neither_flask_nor_httpx_nor_pydantic() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from waa_server_ext.cli import main;"
        "CliRunner().invoke(main, ['--help']);"
        "print([m for m in ('flask', 'httpx', 'pydantic', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[]\n"


def test_an_unknown_command_is_a_usage_error() -> None:
    result = CliRunner().invoke(main, ["score"])
    assert result.exit_code == 2
