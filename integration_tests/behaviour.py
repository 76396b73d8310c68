"""Records what Proctor does, so that two states of its code can be compared.

    python -m integration_tests.behaviour record FOLDER [PART ...]
    python -m integration_tests.behaviour compare BEFORE AFTER

`record` uses the commands that are first on PATH, so a later version of this program records an earlier state of the
code, too. Parts are `help`, `invocations`, `demos`, `rescores`, `reports` and `faults`; some minutes in all. What
differs between any two runs - times, places, identifiers, the code's own digests - is left out of the comparison.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.testing import CliRunner
from integration_tests.test_wrong_invocations import wrong_invocations

from waa_client.world.launch import built_in_world

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HERE = Path(__file__).parent
COMMANDS = (
    "bench-core", "bench-report", "llm-judge", "multireal-harness", "waa-client", "waa-server-ext", "webarena-runner",
)  # fmt: skip
RUNNERS = {"multireal": "multireal-harness", "waa": "waa-client", "webarena": "webarena-runner"}
ROUNDS = 3
"""How often each trial is rescored: two hundred in all."""
FORMATS = "html,md,json,csv,latex,junit"
_VARIES = re.compile(
    r"(^|_)(s|ms|at|time|started|ended|seconds|duration|pid|host|port|url|urls|run_id|versions?|git|python|platform|"
    r"sha256|digest|checksum|hash|files|command|cpu|memory|bytes|size|latency|hours)$"
)
_RESULTS = {"results.jsonl", "run.json", "tasks.jsonl", "evaluation.json", "report.json"}
_WORDS = (
    (re.compile(r"^ *\d+/\d+ .*$", re.MULTILINE), "PROGRESS"),
    (re.compile(r"\d{4}\\?-\d\d\\?-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?"), "TIME"),
    (re.compile(r"\b[\w-]+-\d{8}-\d{6}-[0-9a-f]{6}\b"), "RUN"),
    (re.compile(r"\b[0-9a-f]{12,64}\b"), "HEX"),
    (re.compile(r"(127\.\d+\.\d+\.\d+|localhost):\d+"), "PLACE"),
    (re.compile(r"(/[\w.@+-]+){2,}/?"), "PATH"),
    (re.compile(r"\b\d+(\.\d+)? ?(ms|s|min|m|h|MB|KB|GB)\b"), "QUANTITY"),
)


def record(folder: Path, parts: Sequence[str]) -> None:
    """Record each part in a folder of its name."""
    for part in parts or PARTS:
        shutil.rmtree(folder / part, ignore_errors=True)
        (folder / part).mkdir(parents=True)
        PARTS[part](folder / part)
        sys.stdout.write(f"{part}\n")


def record_help(folder: Path) -> None:
    """Record the help of every command."""

    def walk(command: click.Command, context: click.Context) -> None:
        name = context.command_path.replace(" ", "_")
        (folder / f"{name}.txt").write_text(command.get_help(context))
        for part in command.list_commands(context) if isinstance(command, click.Group) else ():
            below = command.get_command(context, part)
            assert below is not None
            walk(below, click.Context(below, info_name=part, parent=context))

    for name in COMMANDS:
        main = _main(name)
        walk(main, click.Context(main, info_name=name, max_content_width=100))


def record_invocations(folder: Path) -> None:
    """Record what wrong command lines end with."""
    for number, wrong in enumerate(wrong_invocations()):
        words = shlex.split(re.sub(r"\{[^}]*\}", str(folder / "none"), wrong.command))
        done = CliRunner().invoke(_main(words[0]), words[1:], prog_name=words[0])
        lines = [f"$ {wrong.command}", f"exit code {done.exit_code}", done.output]
        (folder / f"{number:03d}.txt").write_text("\n".join(lines))


def _main(name: str) -> click.Command:
    (point,) = entry_points(group="console_scripts", name=name)
    main: click.Command = point.load()
    return main


def record_demos(folder: Path) -> None:
    """Record the demos' run folders, what they print, and their exit codes."""
    for benchmark, command in RUNNERS.items():
        done = run([command, "demo", "--out", folder / benchmark])
        (folder / f"{benchmark}.txt").write_text(f"exit code {done.returncode}\n{done.stdout}")


def record_rescores(folder: Path) -> None:
    """Record the rescores of the stored runs and of the demos, where they were recorded."""
    world = built_in_world()()
    options = {"waa": ["--evaluate", asyncio.run(world.start()).urls["evaluate"]]}
    for place in _runs(HERE / "stored_runs", folder.parent / "demos"):
        benchmark = json.loads((place / "run.json").read_text())["benchmark"]
        copy = folder / f"{place.parents[1].name}-{benchmark}-{place.name}"
        shutil.copytree(place, copy)
        for number in range(ROUNDS):
            done = run(
                [
                    RUNNERS[benchmark],
                    "rescore",
                    copy,
                    "--name",
                    f"round-{number}",
                    *options.get(benchmark, []),
                ]
            )
            printed = f"exit code {done.returncode}\n{done.stdout}"
            (folder / f"{copy.name}-{number}.txt").write_text(printed)
    world.close()


def record_reports(folder: Path) -> None:
    """Record the stored runs' reports in every format."""
    runs = sorted(_runs(HERE / "stored_runs"))
    done = run(["bench-report", "build", *runs, "--mix", "--format", FORMATS, "--out", folder])
    (folder / "printed.txt").write_text(
        f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    )


def record_faults(folder: Path) -> None:
    """Record the run folders of the fault matrix, which its tests leave behind."""
    words = [
        "-q",
        "-p",
        "no:cacheprovider",
        "--basetemp",
        folder,
        "integration_tests/test_fault_matrix.py",
    ]
    done = run([sys.executable, "-m", "pytest", *words])
    (folder / "outcome.txt").write_text(done.stdout[-2000:])


PARTS = {
    "help": record_help, "invocations": record_invocations, "demos": record_demos,
    "rescores": record_rescores, "reports": record_reports, "faults": record_faults,
}  # fmt: skip


def run(words: Sequence[str | Path], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, in a terminal of one width."""
    environment = {
        **os.environ,
        "COLUMNS": "120",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "PYTHONHASHSEED": "0",
    }
    command = [str(each) for each in words]
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=1800
    )


def compare(before: Path, after: Path) -> Iterator[str]:
    """Yield the lines in which two recordings differ, and the files that only one of them has."""
    files = [{each.relative_to(place) for each in _recorded(place)} for place in (before, after)]
    for name in sorted(files[0] ^ files[1]):
        yield f"only {'before' if name in files[0] else 'after'}: {name}"
    for name in sorted(files[0] & files[1]):
        yield from difflib.unified_diff(
            comparable(before / name), comparable(after / name), f"before/{name}", f"after/{name}", "", "", 0, ""
        )  # fmt: skip


def comparable(path: Path) -> list[str]:
    """Return the lines of a file without what differs between any two runs."""
    text = path.read_text("utf-8", "replace")
    if path.suffix in {".json", ".jsonl"}:
        try:
            records = [
                json.loads(each)
                for each in (text.splitlines() if path.suffix == ".jsonl" else [text])
            ]
        except ValueError:
            pass
        else:
            text = "\n".join(
                json.dumps(_lasting(each), indent=1, sort_keys=True) for each in records
            )
            if path.name == "results.jsonl":  # in the order of their ends
                text = "\n".join(sorted(text.splitlines()))
    for pattern, word in _WORDS:
        text = pattern.sub(word, text)
    return text.splitlines()


def _lasting(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _lasting(each) for key, each in value.items() if not _VARIES.search(key)}
    if isinstance(value, list):
        return [_lasting(each) for each in value]
    return round(value, 4) if isinstance(value, float) else value


def _runs(*folders: Path) -> list[Path]:
    return [
        each.parent
        for folder in folders
        for each in folder.rglob("run.json")
        if "rescores" not in each.parts
    ]


def _recorded(folder: Path) -> Iterator[Path]:
    """Yield what is compared: texts, and of run folders what is a result."""
    for each in folder.rglob("*"):
        text = each.suffix in {".txt", ".csv", ".tex", ".md", ".xml"}
        slow = each.name.startswith("stacks-")  # what a slow trial was doing
        if each.name in _RESULTS or (text and not slow and "trials" not in each.parts):
            yield each


def main(arguments: Sequence[str] | None = None) -> int:
    """Record or compare; the exit code is 1 where two recordings differ."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    tasks = parser.add_subparsers(dest="task", required=True)
    recording = tasks.add_parser("record")
    recording.add_argument("folder", type=Path)
    recording.add_argument("parts", nargs="*", metavar="PART", choices=[*PARTS, []])
    comparing = tasks.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    asked = parser.parse_args(arguments)
    if asked.task == "record":
        record(asked.folder.resolve(), asked.parts)
        return 0
    differences = list(compare(asked.before, asked.after))
    sys.stdout.write("\n".join(differences or ["no difference"]) + "\n")
    return int(bool(differences))


if __name__ == "__main__":
    sys.exit(main())
