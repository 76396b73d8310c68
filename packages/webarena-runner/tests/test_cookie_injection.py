from __future__ import annotations

import pytest

from bench_core.browser import launch_chromium
from bench_core.errors import EnvironmentFaultError
from webarena_runner.login.browser_login import inject_cookies

pytestmark = pytest.mark.browser

SESSION = {"name": "PHPSESSID", "value": "abc", "domain": "reddit.localhost", "path": "/"}


async def test_kept_cookies_are_silent_and_dropped_ones_are_named_without_their_value() -> None:
    async with launch_chromium() as chromium:
        await inject_cookies(chromium.ws_url, [SESSION])
        dropped = {**SESSION, "name": "old", "value": "s3cret", "expires": 0}
        with pytest.raises(EnvironmentFaultError, match=r"old of reddit\.localhost") as caught:
            await inject_cookies(chromium.ws_url, [dropped])
        assert "s3cret" not in str(caught.value)


async def test_browser_that_is_gone_is_an_environment_fault() -> None:
    async with launch_chromium() as chromium:
        url = chromium.ws_url
    with pytest.raises(EnvironmentFaultError, match="cookies cannot be set"):
        await inject_cookies(url, [SESSION])
