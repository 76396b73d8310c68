"""How Chromium is started: the options a caller has and the command line they make."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_SHARED_MEMORY_NEEDED = 512 * 1024 * 1024

_ALWAYS = (
    "--no-first-run",
    "--no-default-browser-check",
    "--no-service-autorun",
    "--disable-search-engine-choice-screen",
    # Pages restored from memory make no requests, so a recorder would miss the navigation.
    "--disable-back-forward-cache",
    # Nothing but the pages under test may talk to the network.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-client-side-phishing-detection",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-component-extensions-with-background-pages",
    "--disable-field-trial-config",
    "--disable-sync",
    "--metrics-recording-only",
    "--no-pings",
    "--safebrowsing-disable-auto-update",
    # Background tabs must run like the one in front: an agent uses several.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-ipc-flooding-protection",
    # No question that waits for a person.
    "--disable-hang-monitor",
    "--disable-infobars",
    "--disable-popup-blocking",
    "--disable-prompt-on-repost",
    "--hide-crash-restore-bubble",
    "--noerrdialogs",
    "--password-store=basic",
    "--use-mock-keychain",
    "--deny-permission-prompts",
    # A crash is reported by us; the crash handler would outlive the browser.
    "--disable-breakpad",
    "--disable-crash-reporter",
    # The same pixels on every machine.
    "--force-color-profile=srgb",
    "--mute-audio",
)

_DISABLED_FEATURES = (
    "AutofillServerCommunication",
    "CertificateTransparencyComponentUpdater",
    "DialMediaRouteProvider",
    "GlobalMediaControls",
    "MediaRouter",
    "OptimizationHints",
    "Translate",
    # An http:// site must be asked over HTTP: scores depend on the recorded URL.
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    # Sites of one benchmark may mix loopback, private and public addresses.
    "LocalNetworkAccessChecks",
    # Pages of the address bar, two renderers for each window: half of a short trial's CPU time.
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxPopup",
)


@dataclass(frozen=True)
class ChromiumOptions:
    """A caller's choices for a Chromium.

    Attributes:
        executable: The program; None finds one.
        headless: Whether it runs without a window.
        window: Width and height in pixels.
        language: The preferred language that pages see.
        timezone: The time zone that pages see, e.g. `America/Denver`; None is the machine's. Has no
            effect on Windows.
        host_resolver_rules: Chromium's own syntax, for example `MAP shop.test 127.0.0.1:8000`.
        use_system_proxy: Whether proxies of the system and the environment apply.
        ignore_certificate_errors: Whether self-signed certificates are accepted.
        sandbox: None switches the sandbox off for root only, who cannot use it.
        extra_arguments: Further command-line switches; `--disable-features` is merged.
        start_url: URL of the first tab.
        temporary_root: Parent folder of the profile; None is the system's temporary folder.
        hidden: Files and folders that it cannot read, on a machine that can hide them.
        startup_s: Seconds it may take to answer.
        close_s: Seconds it may take to close by itself before it is killed.
    """

    executable: Path | None = None
    headless: bool = True
    window: tuple[int, int] = (1280, 720)
    language: str = "en-US"
    timezone: str | None = None
    host_resolver_rules: str | None = None
    use_system_proxy: bool = False
    ignore_certificate_errors: bool = False
    sandbox: bool | None = None
    extra_arguments: tuple[str, ...] = ()
    start_url: str = "about:blank"
    temporary_root: Path | None = None
    hidden: tuple[Path, ...] = ()
    startup_s: float = 60.0
    close_s: float = 3.0


def command_line(executable: Path, profile: Path, options: ChromiumOptions) -> list[str]:
    """Return the whole command that starts Chromium with its own `profile`."""
    extra, features = _split_features(options.extra_arguments)
    return [
        str(executable),
        *_ALWAYS,
        f"--disable-features={','.join((*_DISABLED_FEATURES, *features))}",
        f"--user-data-dir={profile}",
        f"--window-size={options.window[0]},{options.window[1]}",
        f"--lang={options.language}",
        f"--accept-lang={options.language}",
        *_chosen(options),
        *extra,
        options.start_url,
    ]


def temporary_root(executable: Path, options: ChromiumOptions) -> Path:
    """Return where the profile goes: a snap sees no `/tmp` but its own."""
    if options.temporary_root is not None:
        return options.temporary_root
    if executable.resolve().parts[1:2] == ("snap",) or executable.parts[1:2] == ("snap",):
        return Path.home() / "snap" / "chromium" / "common"
    return Path(tempfile.gettempdir())


def _chosen(options: ChromiumOptions) -> Iterable[str]:
    if options.headless:
        yield "--headless=new"
    if options.host_resolver_rules:
        yield f"--host-resolver-rules={options.host_resolver_rules}"
    if not options.use_system_proxy:
        yield "--no-proxy-server"
    if options.ignore_certificate_errors:
        yield "--ignore-certificate-errors"
    if not _sandboxed(options):
        yield "--no-sandbox"
    if _shared_memory_is_small():
        yield "--disable-dev-shm-usage"


def _sandboxed(options: ChromiumOptions) -> bool:
    if options.sandbox is not None:
        return options.sandbox
    return getattr(os, "geteuid", lambda: 1)() != 0


def _shared_memory_is_small() -> bool:
    """Return whether tabs would crash because /dev/shm is too small; Docker gives 64 MB."""
    try:
        return shutil.disk_usage("/dev/shm").total < _SHARED_MEMORY_NEEDED  # noqa: S108
    except OSError:
        return False


def _split_features(arguments: Iterable[str]) -> tuple[list[str], list[str]]:
    """Take `--disable-features` out: of two Chromium would only read the last."""
    others: list[str] = []
    features: list[str] = []
    for argument in arguments:
        name, _, value = argument.partition("=")
        if name == "--disable-features":
            features += value.split(",")
        else:
            others.append(argument)
    return others, features
