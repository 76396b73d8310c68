from __future__ import annotations

from pathlib import Path

from bench_core.browser import ChromiumOptions
from bench_core.browser.options import command_line, temporary_root

CHROME = Path("/opt/chrome")
PROFILE = Path("/profile")


def line(options: ChromiumOptions | None = None) -> list[str]:
    return command_line(CHROME, PROFILE, options or ChromiumOptions())


def disabled_features(options: ChromiumOptions) -> list[str]:
    switches = [each for each in line(options) if each.startswith("--disable-features=")]
    assert len(switches) == 1
    return switches[0].partition("=")[2].split(",")


def test_no_port_is_opened_and_the_profile_is_ours() -> None:
    assert "--user-data-dir=/profile" in line()
    assert not any("remote-debugging-port" in each for each in line())


def test_pages_are_never_restored_without_a_request() -> None:
    assert "--disable-back-forward-cache" in line()


def test_the_address_bar_has_no_pages_of_its_own() -> None:
    assert {"WebUIOmniboxAimPopup", "WebUIOmniboxPopup"} <= set(
        disabled_features(ChromiumOptions())
    )


def test_proxies_apply_only_when_asked_for() -> None:
    assert "--no-proxy-server" in line()
    assert "--no-proxy-server" not in line(ChromiumOptions(use_system_proxy=True))


def test_the_sandbox_can_be_chosen() -> None:
    assert "--no-sandbox" in line(ChromiumOptions(sandbox=False))
    assert "--no-sandbox" not in line(ChromiumOptions(sandbox=True))


def test_features_that_the_caller_disables_join_ours_in_one_switch() -> None:
    extra = ("--disable-features=One,Two", "--enable-automation")
    features = disabled_features(ChromiumOptions(extra_arguments=extra))
    assert features[-2:] == ["One", "Two"]
    assert "HttpsUpgrades" in features
    assert "--enable-automation" in line(ChromiumOptions(extra_arguments=extra))


def test_resolver_rules_and_certificates_reach_the_command_line() -> None:
    options = ChromiumOptions(
        host_resolver_rules="MAP shop.test 127.0.0.1:81", ignore_certificate_errors=True
    )
    assert {
        "--host-resolver-rules=MAP shop.test 127.0.0.1:81",
        "--ignore-certificate-errors",
    } <= set(line(options))


def test_a_snap_gets_its_profile_where_it_can_see_it() -> None:
    snap = Path("/snap/bin/chromium")
    assert temporary_root(snap, ChromiumOptions()) == Path.home() / "snap/chromium/common"
    mine = ChromiumOptions(temporary_root=Path("/mine"))
    assert temporary_root(snap, mine) == Path("/mine")
