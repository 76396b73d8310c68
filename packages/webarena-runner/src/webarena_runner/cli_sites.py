"""The commands about sites: `config`, `sites`, `auth`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bench_core import exit_codes
from bench_core.cli import CommandUndecided, FiniteRange, json_option, option, render_table, stacked
from bench_core.errors import EnvironmentFaultError

if TYPE_CHECKING:
    from webarena_runner.config import EnvironmentConfig

# Listed here, because `--help` must not import the modules that have them.
SITES = ["gitlab", "map", "reddit", "shopping", "shopping_admin", "wikipedia"]
_DEFAULT_AUTH = "auth"


environment_options = stacked(
    option("Where it runs", "--config", "config_file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
           help="YAML or JSON file with the URLs of the sites."),
    option("Where it runs", "--host", metavar="HOST", help="All sites are on HOST at their usual ports."),
)  # fmt: skip
"""The options that locate the sites."""

_site_options = stacked(
    environment_options,
    click.option("--site", "names", type=click.Choice(SITES), multiple=True,
                 help="Only this site; repeat it for several."),
)  # fmt: skip
_timeout_option = click.option(
    "--timeout", type=FiniteRange(min=1), default=600.0, show_default=True, metavar="SECONDS",
    help="Longest wait until a site can be used.",
)  # fmt: skip
_folder_option = click.option(
    "--auth", "folder", type=click.Path(file_okay=False, path_type=Path), default=_DEFAULT_AUTH,
    show_default=True, metavar="DIR", help="Folder of the stored logins.",
)  # fmt: skip


@click.group()
def config() -> None:
    """Write or show the configuration of the sites."""


@config.command()
@click.option(
    "--host", default="localhost", show_default=True, metavar="HOST", help="Host of all sites."
)
@click.option("--out", "-o", type=click.Path(dir_okay=False, path_type=Path), default="sites.yaml",
              show_default=True, metavar="FILE", help="The file to write; it must not exist.")  # fmt: skip
def init(host: str, out: Path) -> None:
    """Write a configuration file for all six sites, for you to edit."""
    from webarena_runner.config import config_template

    if not host or "/" in host:
        raise click.BadParameter(
            f"{host!r}: give the name or address alone, as in shop.example", param_hint="--host"
        )
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(config_template(host))
    except FileExistsError:
        raise click.UsageError(f"{out} exists: choose another name with --out") from None
    click.echo(f"Wrote {out}; check it with `webarena-runner doctor --config {out}`")


@config.command()
@environment_options
@click.option(
    "--official", is_flag=True, help="Print the format of webarena-verified's configuration."
)
@json_option
def show(*, official: bool, as_json: bool, **where: Any) -> None:
    """Show the configuration from file and variables, with passwords blanked."""
    found = _config(**where)
    if official or as_json:
        click.echo(json.dumps(found.official() if official else found.described(), indent=2))
        return
    import yaml

    click.echo(yaml.safe_dump(found.described(), sort_keys=False, allow_unicode=True).rstrip())


@click.group()
def sites() -> None:
    """Show, start, stop and reset the sites.

    Sites on this machine are managed with Docker by webarena-verified's container manager; other
    sites can be reset by the `reset_hook` of the configuration.
    """


@sites.command()
@_site_options
@json_option
def status(names: tuple[str, ...], *, as_json: bool, **where: Any) -> None:
    """Show for each site whether it answers and how it is reset; exit code 1 if one is down."""
    from webarena_runner.site_control import site_status

    found = _config(**where)
    statuses = [site_status(each, name) for name, each in _copies(found, names)]
    if as_json:
        click.echo(json.dumps([each.model_dump(mode="json") for each in statuses], indent=2))
    else:
        rows = [
            (each.site, each.container, each.reset_by, each.url, each.fault or "answers")
            for each in statuses
        ]
        click.echo(render_table(("site", "container", "reset by", "url", "state"), rows))
    if any(each.fault for each in statuses):
        raise click.exceptions.Exit(exit_codes.FELL_SHORT)


@sites.command()
@_site_options
@_timeout_option
def start(names: tuple[str, ...], timeout: float, **where: Any) -> None:
    """Recreate the sites' containers and wait until they can be used.

    It first prints the disk and memory needed and free, and refuses sites that do not fit.
    """
    from webarena_runner.site_control import start_site
    from webarena_runner.site_needs import site_needs

    found = _config(**where)
    needs = site_needs(found, _names(found, names))
    click.echo(needs.text(), err=True)
    for warning in needs.check():
        click.echo(f"Warning: {warning}", err=True)
    for name, each in _copies(found, names):
        click.echo(f"{_called(each, name)}: started in {start_site(each, name, timeout):.1f} s")


@sites.command()
@_site_options
def stop(names: tuple[str, ...], **where: Any) -> None:
    """Remove the sites' containers with all changes."""
    from webarena_runner.site_control import stop_site

    found = _config(**where)
    for name, each in _copies(found, names):
        stop_site(each, name)
        click.echo(f"{_called(each, name)}: stopped")


@sites.command()
@_site_options
@_timeout_option
def reset(names: tuple[str, ...], timeout: float, **where: Any) -> None:
    """Reset the sites to their initial state, once no trial uses them."""
    import asyncio  # with the rest
    from functools import partial

    from bench_core.scheduling import FileLocks
    from webarena_runner.reset import Resets, parse_policies
    from webarena_runner.site_control import reset_site

    found = _config(**where)
    chosen = _names(found, names)
    policies = parse_policies(["before-run"], chosen)
    resets = Resets(found, policies, do=partial(reset_site, timeout_s=timeout))
    resets.require_reset_methods(chosen)
    asyncio.run(resets.before_run(chosen, FileLocks()))
    for each in resets.done:
        name = f"{each.site} at {each.url}" if each.url else each.site
        click.echo(f"{name}: reset in {each.seconds:.1f} s")


@click.group()
def auth() -> None:
    """Store logins in files, and check them."""


@auth.command()
@_site_options
@_folder_option
def capture(names: tuple[str, ...], folder: Path, **where: Any) -> None:
    """Log in to the sites and store the cookies, readable only by you."""
    from webarena_runner.login.cookie_files import write_cookies
    from webarena_runner.login.http_login import log_in

    found = _config(**where)
    for name in _with_accounts(found, names):
        path = write_cookies(folder, log_in(found.site(name), name), found.site(name).url)
        click.echo(f"{name}: {path}")


@auth.command()
@_site_options
@_folder_option
@json_option
def check(names: tuple[str, ...], folder: Path, *, as_json: bool, **where: Any) -> None:
    """Check whether the stored logins still work; exit code 1 if one does not, 3 if a site does not answer."""
    from webarena_runner.login.http_login import is_logged_in, kept_login

    found = _config(**where)
    states = {}
    for name in _with_accounts(found, names):
        kept = kept_login(found.site(name), name, folder)
        try:
            fine = kept is not None and is_logged_in(found.site(name), kept)
        except EnvironmentFaultError as error:
            raise CommandUndecided(str(error)) from error
        states[name] = "works" if fine else "has ended" if kept else "is missing or too old"
        if not as_json:
            click.echo(f"{name}: the login {states[name]}")
    if as_json:
        click.echo(json.dumps(states, indent=2))
    if {*states.values()} - {"works"}:
        raise click.exceptions.Exit(exit_codes.FELL_SHORT)


def _config(*, config_file: Path | None, host: str | None) -> EnvironmentConfig:
    from webarena_runner.world.launch import real_environment

    return real_environment(config_file, host).config


def _copies(
    config: EnvironmentConfig, chosen: Sequence[str]
) -> list[tuple[str, EnvironmentConfig]]:
    """Return each site that is meant, with the configuration of each of its copies."""
    from webarena_runner.site_copies import copy_configs

    return [(name, each) for name in _names(config, chosen) for each in copy_configs(config, name)]


def _called(config: EnvironmentConfig, name: str) -> str:
    site = config.site(name)
    return f"{name} at {site.origin}" if site.copies else name


def _names(config: EnvironmentConfig, chosen: Sequence[str]) -> list[str]:
    for name in chosen:
        config.site(name)
    return sorted(chosen or map(str, config.sites))


def _with_accounts(config: EnvironmentConfig, chosen: Sequence[str]) -> list[str]:
    from webarena_runner.site_facts import SITE_FACTS  # with the rest

    return [n for n in _names(config, chosen) if SITE_FACTS[n].login_path is not None]
