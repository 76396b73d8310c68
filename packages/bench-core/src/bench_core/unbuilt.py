"""The command line of a package whose name is taken and whose code is still to come."""

from __future__ import annotations

import click

__all__ = ["unbuilt_command"]


def unbuilt_command(distribution: str, version: str, purpose: str) -> click.Command:
    """Return a command that says `distribution` is not built yet and does nothing else.

    `--help` and `--version` exit with 0; everything else is a usage error (exit code 2), so that
    no script mistakes the package for one that works.

    >>> unbuilt_command("demo-runner", "0.1.0", "Run demos.").name
    'demo-runner'
    """
    notice = f"{distribution} {version} is not built yet: it has no commands."

    @click.command(
        name=distribution,
        help=f"{purpose}\n\n{notice}",
        context_settings={"ignore_unknown_options": True},
    )
    @click.version_option(version, prog_name=distribution)
    @click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="")
    def command(arguments: tuple[str, ...]) -> None:
        asked = f" {' '.join(arguments)!r} was not run." if arguments else ""
        raise click.UsageError(notice + asked)

    return command
