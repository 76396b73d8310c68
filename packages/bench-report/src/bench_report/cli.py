"""The command line of bench-report; a command imports what it needs when it runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bench_core.cli.groups import runner_group
from bench_core.cli.options import json_option
from bench_report.__about__ import __version__

if TYPE_CHECKING:
    from bench_report.model import Report

__all__ = ["main"]

_FORMATS = ("html", "md", "json")
_SCREENSHOTS = ("auto", "embed", "link", "none")


def _parse_formats(_ctx: click.Context, _parameter: click.Parameter, value: str) -> tuple[str, ...]:
    """Split at commas and refuse unknown names."""
    names = tuple(name.strip().lower() for name in value.split(",") if name.strip())
    if not names or any(name not in _FORMATS for name in names):
        raise click.BadParameter(f"{value!r}: give one or more of {', '.join(_FORMATS)}")
    return names


@runner_group("bench-report", __version__)
def main() -> None:
    """Turn Proctor run folders into reports with honest intervals."""


@main.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option(
    "--out",
    "-o",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the report.  [default: <first RUN>/report]",
)
@click.option(
    "--format",
    "formats",
    callback=_parse_formats,
    default=",".join(_FORMATS),
    show_default=True,
    metavar="FORMAT[,FORMAT...]",
    help="What to write.",
)
@click.option("--title", help="Title of the report.")
@click.option(
    "--count-errors-as-failures",
    is_flag=True,
    help="Let trials without a score enter all rates as failures.",
)
@click.option(
    "--mix", is_flag=True, help="Allow runs that cannot be compared, and mark the report."
)
@click.option(
    "--screenshots",
    type=click.Choice(_SCREENSHOTS),
    default="auto",
    show_default=True,
    help="Keep screenshots inside the page, link to them or leave them out; auto embeds up to 8 MB.",
)
@json_option
def build(runs: tuple[Path, ...], out: Path | None, **options: Any) -> None:
    """Write a report of one or more run folders, also while they are being written.

    Several runs stand side by side, the first one is the baseline of the comparison.
    """
    from bench_report.write import build_report  # noqa: PLC0415  # loads statistics and templates

    as_json = options.pop("as_json")
    report, files = build_report(runs, out or runs[0] / "report", **options)
    if as_json:
        click.echo(json.dumps({"files": [str(file) for file in files], "title": report.title}))
        return
    for line in _told(report):
        click.echo(line)
    for file in files:
        click.echo(f"  {file}")


@main.command()
def schema() -> None:
    """Print the JSON Schema of report.json."""
    from bench_core.schemas import schema_text  # noqa: PLC0415  # pydantic, as above
    from bench_report.model import Report  # noqa: PLC0415  # as above

    click.echo(schema_text(Report), nl=False)


def _told(report: Report) -> list[str]:
    """Say each run's headline and every serious caveat in a line."""
    from bench_core.terminal import plain_text  # noqa: PLC0415  # as above
    from bench_report.numbers import rate_words  # noqa: PLC0415  # as above

    lines = [f"{plain_text(run.label)}: {rate_words(run.summary.success)}" for run in report.runs]
    serious = (each.text for each in report.caveats if each.severity == "critical")
    return lines + [f"  ! {plain_text(text)}" for text in dict.fromkeys(serious)]
