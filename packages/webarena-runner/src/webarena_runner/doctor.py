"""The checks of `webarena-runner doctor`, each with a way to fix its findings."""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from functools import partial
from importlib.metadata import requires, version
from pathlib import Path

from bench_core.browser import ChromiumOptions, browser_checks, launch_chromium
from bench_core.cli.doctor import (
    Check,
    CheckResult,
    agent_checks,
    failed,
    installed,
    ok,
    sealing_checks,
    warned,
)
from bench_core.errors import BenchError, InputError
from bench_core.models import paid_checks, price_checks
from bench_core.play import play_checks
from bench_core.protocols import TrialContext
from bench_core.run_folder import package_versions
from webarena_runner.capacity import default_workers
from webarena_runner.config import EnvironmentConfig, shared_cookie_hosts
from webarena_runner.provenance import PACKAGES
from webarena_runner.recording import HarRecorder
from webarena_runner.reference_solutions.scorability import dataset_checksum, shipped_notes
from webarena_runner.site_checks import site_faults
from webarena_runner.site_facts import SITE_FACTS
from webarena_runner.tabs import open_tabs
from webarena_runner.tasks import load_tasks
from webarena_runner.world.launch import built_in_world, environment_of, real_environment
from webarena_runner.world.messages import Request, Response, html
from webarena_runner.world.server import SiteServer

_GIB = 1024**3
# Measured: the folder of a trial has 1 to 5 MB, mostly screenshots and recorded traffic.
_MB_PER_TRIAL = 5
_SITE_S = 10.0


def checks(
    *,
    world: str = "real",
    config_file: Path | None = None,
    host: str | None = None,
    agent: str | None = None,
    model: str | None = None,
    paid: bool = False,
    play: bool = False,
) -> list[Check]:
    """Return the checks for runs on these sites, of this agent with this model."""
    found = [
        Check("packages", partial(installed, PACKAGES)),
        Check("pinned versions", _pins),
        Check(
            "tasks",
            lambda: ok(f"{len(load_tasks())} in webarena-verified {version('webarena-verified')}"),
        ),
        *browser_checks(),
        Check("HTTP is recorded", _recording),
        Check("disk", _disk),
        *sealing_checks(),
        Check(
            "memory",
            partial(
                ok,
                f"room for {default_workers()} trials at once, which is what `run` uses by default",
            ),
        ),
        Check("scorable tasks", _scorability),
        *agent_checks(agent, model),
        *price_checks(model),
    ]
    if model is not None:
        found.append(Check(f"model {model}", partial(_model, model)))
    found += paid_checks(model, paid=paid)
    found += play_checks(model, agent, wanted=play)
    if world == "built-in":
        return [*found, Check("built-in sites", _built_in)]
    try:
        config = real_environment(config_file, host).config
    except InputError as error:
        if config_file is None and host is None:
            way_out = "`webarena-runner config init --host NAME` writes where they are, or try --world built-in"
            return [*found, Check("sites", partial(warned, str(error), way_out))]
        way_out = "`webarena-runner config init` writes a file to be edited"
        return [*found, Check("sites", partial(failed, str(error), way_out))]
    found += [Check(f"site {name}", partial(site_check, config, name)) for name in config.sites]
    return [*found, Check("session cookies", partial(_cookies, config))]


def _pins() -> CheckResult:
    """Compare with webarena-verified's exact pins; other versions gave the same scores on all 812 tasks."""
    listed = "\n".join(requires("webarena-verified") or ())
    pins = dict(re.findall(r"^([\w.-]+)==([\w.]+)$", listed, re.MULTILINE))
    versions = package_versions(pins)
    wrong = [
        f"{name} {versions.get(name)} instead of {pinned}"
        for name, pinned in pins.items()
        if versions.get(name) != pinned
    ]
    if wrong:
        return warned(
            f"not what webarena-verified was tested with: {', '.join(wrong)}",
            "for numbers to publish, install into an environment of its own and let pip choose",
        )
    return ok("as webarena-verified pins them")


def _recording() -> CheckResult:
    """Record one request of a page on this machine, as a trial would."""
    # over plain HTTP, which browser-use's own recording leaves out
    server = SiteServer(_OnePage(), "127.0.0.1")
    url = f"{server.origin}/doctor"

    async def record() -> bool:
        async with (
            launch_chromium(ChromiumOptions()) as chromium,
            HarRecorder(chromium.cdp_url) as recorder,
        ):
            await open_tabs(chromium.ws_url, [url])
            har = await recorder.stop()
        return any(entry["request"]["url"] == url for entry in har.entries)

    server.start()
    try:
        seen = asyncio.run(record())
    except BenchError as error:
        return failed(str(error), "start Chromium by hand, e.g. `chromium --headless about:blank`")
    finally:
        server.stop()
    if seen:
        return ok("one request to http://127.0.0.1, one entry in the HAR")
    return failed("a request over plain HTTP is missing in the HAR", "report this as a bug")


class _OnePage:
    def handle(self, _: Request) -> Response:
        return html("<!doctype html><title>doctor</title><p>doctor</p>")


def _scorability() -> CheckResult:
    """Check whether the notes on scorable tasks are those of the installed data set."""
    shipped = shipped_notes()
    if shipped.dataset != dataset_checksum():
        return warned(
            f"the notes on tasks that cannot score are of webarena-verified {shipped.evaluator}",
            "nothing to do: they are derived again when a run starts, in a few seconds",
        )
    never = len(shipped.count(each.task_id for each in load_tasks()).get("never", ()))
    return ok(f"{never} tasks cannot score 1.0; `webarena-runner scorability` shows which and why")


def _disk() -> CheckResult:
    free = shutil.disk_usage(Path.cwd()).free
    temporary = shutil.disk_usage(tempfile.gettempdir()).free
    trials = free // (_MB_PER_TRIAL * 1024 * 1024)
    found = f"{free / _GIB:.1f} GiB free here, enough for about {trials:,} trials"
    if temporary < _GIB:
        return failed(
            f"only {temporary / _GIB:.1f} GiB free in {tempfile.gettempdir()}",
            "free some: every Chromium has its profile there; or set TMPDIR",
        )
    if trials < len(load_tasks()):
        return warned(
            found, "free some, or pass --out on another disk: 812 trials take up to 4 GiB"
        )
    return ok(found)


def _model(model: str) -> CheckResult:
    from bench_core.browser_use import open_chat  # imports browser-use

    try:
        open_chat(TrialContext(run_id="doctor", folder=Path(), model=model))
    except InputError as error:
        return failed(str(error), "set the variable in the environment of the run")
    return ok("its adapter loads and its key is set")


def site_check(config: EnvironmentConfig, name: str) -> CheckResult:
    """Check one site by its known requests and its login."""
    site, faults = config.site(name), list(site_faults(config, name, _SITE_S))
    if faults:
        fixes = dict.fromkeys(filter(None, (each.fix for each in faults)))
        details = "; ".join(each.detail for each in faults)
        # before anything is downloaded
        if (note := SITE_FACTS[name].data_note) and any(each.is_down for each in faults):
            details = f"{details}; {note}"
        return failed(details, "; ".join(fixes) or f"look at the log of {name}")
    asked = ", ".join(each.name for each in SITE_FACTS[name].known)
    if site.credentials is None:
        return ok(f"{site.url} answers ({asked}); it has no accounts")
    return ok(f"{site.url} answers ({asked}), {site.credentials.username} is logged in")


def _cookies(config: EnvironmentConfig) -> CheckResult:
    shared = shared_cookie_hosts(config)
    if not shared:
        return ok("no two sites share a host and a cookie name")
    host, names = next(iter(shared.items()))
    return failed(
        f"{' and '.join(names)} share the host {host!r} and overwrite each other's session cookie; "
        "tasks on both are refused",
        "give them host names of their own, e.g. shopping.localhost and reddit.localhost",
    )


def _built_in() -> CheckResult:
    with built_in_world() as world:
        config = environment_of(world).config
        answers = {name: site_check(config, name) for name in config.sites}
    wrong = [f"{name}: {each.detail}" for name, each in answers.items() if each.status == "fail"]
    if wrong:
        return failed("; ".join(wrong), "report this as a bug")
    return ok(f"{', '.join(answers)} answer and accept their users")
