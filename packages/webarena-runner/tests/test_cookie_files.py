"""What a login's file holds is never in a message about it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from bench_core.errors import InputError
from webarena_runner.login.cookie_files import read_cookies

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_that_is_no_login_is_named_without_its_cookies(tmp_path: Path) -> None:
    secret = "planted-0123456789"
    (tmp_path / "gitlab.json").write_text(json.dumps({"site": "gitlab", "cookies": secret}))
    with pytest.raises(InputError) as raised:
        read_cookies(tmp_path, "gitlab")
    message = str(raised.value)
    assert "gitlab.json is not a login: field url is missing" in message
    assert "webarena-runner auth capture" in message
    assert secret not in message
    assert "validation error" not in message
