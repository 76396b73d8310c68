"""The commands of `study` that read finished runs: `report`, `export` and `reproduce`."""

from __future__ import annotations

import importlib
import json
import tempfile
from pathlib import Path

import click

from bench_core import exit_codes
from bench_core.cli.options import json_option
from bench_core.cli.tables import echo_wrapped, json_text
from bench_core.errors import InputError
from bench_core.terminal import plain_text

_STUDIES = "bench_core.studies"  # a tower: the base does not import it
_SHOWN = 50
_FOLDER = click.argument(
    "folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="STUDY"
)


@click.command()
@_FOLDER
@click.option("--out", "-o", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="Folder for the report.  [default: STUDY/report]")  # fmt: skip
@json_option
def report(folder: Path, out: Path | None, *, as_json: bool) -> None:
    """Write the report of STUDY: a page, Markdown, LaTeX tables and JSON, by the installed reporter."""
    from bench_core.discovery import load_plugin

    reporter = load_plugin("reporter", "study")()
    files = reporter.report([folder], out or folder / "report")
    if as_json:
        click.echo(json.dumps({"files": [str(file) for file in files]}))
        return
    for file in files:
        click.echo(f"  {file}")


@click.command()
@_FOLDER
@click.option("--out", "-o", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="The bundle, a .zip file.  [default: STUDY.zip]")  # fmt: skip
@click.option("--evidence", is_flag=True,
              help="Add the trials' evidence (end states, trajectories, screenshots), from which they can be "
                   "rescored.")  # fmt: skip
@click.option("--remove", "words", multiple=True, metavar="TEXT",
              help="Also remove this text, such as the name of a laboratory; repeat it for several.")  # fmt: skip
@json_option
def export(
    folder: Path, out: Path | None, *, evidence: bool, words: tuple[str, ...], as_json: bool
) -> None:
    """Write an anonymous bundle of STUDY for reviewers: records and report, without keys or personal paths.

    Screenshots are not searched: text in them stays.
    """
    target = out or Path(f"{folder.resolve().name}.zip")
    bundle = importlib.import_module(f"{_STUDIES}.export").export_study(
        folder, target, evidence=evidence, words=words
    )
    if as_json:
        click.echo(json.dumps({"file": str(target), **bundle.model_dump(mode="json")}))
        return
    size = target.stat().st_size / 1e6
    click.echo(f"{target}: {len(bundle.files)} files, {size:.1f} MB")
    echo_wrapped(f"Without {', '.join(bundle.removed)}. Look through it before you hand it over.")
    if not evidence:
        echo_wrapped("Its trials cannot be scored again: --evidence adds what they left.")
    click.echo(f"Next: bench-core study reproduce {target}")


@click.command()
@click.argument(
    "bundle", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="BUNDLE"
)
@click.option("--out", "-o", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
              help="Keep the unpacked and rebuilt files in this new folder.  [default: remove them]")  # fmt: skip
@json_option
@click.pass_context
def reproduce(ctx: click.Context, /, bundle: Path, out: Path | None, *, as_json: bool) -> None:
    """Rescore a BUNDLE of `study export` offline, rebuild its report and list the differences.

    Exits with 0 if there are none, 1 if there are, 3 if there are none but some trials could not be rescored.
    """
    from bench_core.files.temporary import temporary_folder

    if out is not None and out.exists() and any(out.iterdir()):
        raise InputError(f"{out} is not empty: give a new folder with --out")
    with temporary_folder(), tempfile.TemporaryDirectory() as scratch:
        into = out or Path(scratch)
        into.mkdir(parents=True, exist_ok=True)
        found = importlib.import_module(f"{_STUDIES}.reproduction").reproduce(bundle, into)
    if as_json:
        click.echo(json_text(found))
    else:
        click.echo(f"{found.rescored:,} trials scored again as the bundle says")
        for reason, number in found.not_scored_again.items():
            echo_wrapped(f"{number:,} trials not scored again: {plain_text(reason)}")
        same = "the same, byte for byte" if found.same_report else "not the same"
        click.echo(f"the report's numbers: {same}")
        for each in found.differences[:_SHOWN]:
            echo_wrapped(f"DIFFERS: {plain_text(each)}")
        if (more := len(found.differences) - _SHOWN) > 0:
            click.echo(f"... and {more:,} more (--json has all)")
    if found.differences:
        ctx.exit(exit_codes.FELL_SHORT)
    if found.not_scored_again:
        ctx.exit(exit_codes.UNDECIDED)
