"""What cannot be read or written is exit code 2 in every command, never the 1 of a verdict."""

from __future__ import annotations

import gzip
import itertools
import json
import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest
from click.testing import CliRunner

from llm_judge import read_case, samples
from llm_judge.claims import task_digest
from waa_server_ext.built_in import SimulatedDesktopWorld

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROGRAMS = (
    "bench-core", "bench-report", "llm-judge", "multireal-harness", "waa-client", "waa-server-ext",
    "webarena-runner",
)  # fmt: skip
BIN = Path(sys.executable).parent
STORED = Path(__file__).parent / "stored_runs"
WAA_TASK = "notepad/366de66e-cbae-4d72-b042-26390db2b145-WOS"
REPLAY = f"replay:{samples.cassette()}"
NOWHERE = "http://127.0.0.1:9"

COMMANDS = """
bench-core check MISSING-RUN
bench-core machines list --folder MISSING-FOLDER
bench-core machines reap --folder MISSING-FOLDER
bench-core machines stop slot-1 --folder MISSING-FOLDER
bench-core repair MISSING-RUN
bench-core rescore webarena RUN:webarena
bench-core run multireal --out OUT-FOLDER
bench-core new agent my-agent --into OUT-FOLDER
bench-core new benchmark my-sums --into OUT-FOLDER
bench-core new inspect-task OUT-FILE
bench-core new judge my-judge --into OUT-FOLDER
bench-core new reporter my-report --into OUT-FOLDER
bench-core schema --out OUT-FOLDER
bench-core serve --nemo-gym webarena --dataset OUT-FILE
bench-core new study OUT-FILE
bench-core study check MISSING-FILE
bench-core study export FOLDER:study --out OUT-FILE
bench-core study plan MISSING-FILE
bench-core study report FOLDER:study --out OUT-FOLDER
bench-core study reproduce FILE:bundle.zip
bench-core study run MISSING-FILE --out OUT-FOLDER
bench-core study status MISSING-FOLDER
bench-core study verify MISSING-FOLDER
bench-core tasks webarena --checker strict --checker-audit FILE:state.json
bench-report build RUN:webarena --out OUT-FOLDER
bench-report compare RUN:webarena --against RUN:webarena
bench-report gate RUN:webarena --against RUN:webarena
bench-report gate RUN:webarena --against FILE:baseline.json
bench-report export inspect RUN:webarena --out OUT-ANY
bench-report export baseline RUN:webarena --out OUT-FILE
bench-report export comparison RUN:webarena --out OUT-FILE
bench-report export waa-baseline RUN:webarena --out OUT-FILE
bench-report export webarena RUN:webarena --out OUT-FILE
bench-report export atif RUN:webarena --out OUT-FOLDER
bench-report export every-eval-ever RUN:webarena --out OUT-FOLDER
bench-report export eval-results RUN:webarena --out OUT-FILE --dataset someone/something
bench-report export csv RUN:webarena --out OUT-FOLDER
bench-report export parquet RUN:webarena --out OUT-FOLDER
bench-report export template RUN:webarena --out OUT-FILE --template TEXT:page.j2
bench-report demo --out OUT-FOLDER
bench-report import inspect FILE:log.json --out OUT-FOLDER
bench-report import atif FOLDER:atif --out OUT-FOLDER
bench-report plan --tasks 10 --pilot RUN:webarena
bench-report notes export RUN:webarena --out OUT-FILE
bench-report notes import RUN:webarena FILE:notes.jsonl
bench-report notes merge RUN:webarena RUN:webarena
bench-report serve MISSING-RUN
bench-report watch --once MISSING-RUN
llm-judge batch FILE:case.json -m =replay --out OUT-FILE
llm-judge batch =case.json -m =replay --out =new.jsonl --calibration FILE:labels.jsonl
llm-judge bench FILE:labels.jsonl -m =replay
llm-judge calibrate FILE:labels.jsonl FILE:verdicts.jsonl --out OUT-FILE
llm-judge claims approve FILE:claims.jsonl table --by me
llm-judge claims check FILE:claims.jsonl FILE:case.json
llm-judge claims compile FILE:case.json -m =scripted --out OUT-FILE
llm-judge claims decide FILE:claims.jsonl FILE:case.json
llm-judge claims edit FILE:claims.jsonl
llm-judge claims show FILE:claims.jsonl
llm-judge claims words FILE:claims.jsonl FILE:case.json -m =scripted
llm-judge convert agent-reward-bench FOLDER:atif --out OUT-FOLDER
llm-judge judge FILE:case.json -m =replay --out OUT-FILE
llm-judge judge =case.json -m =replay --claims FILE:claims.jsonl
llm-judge judge =case.json -m =scripted --cache OUT-FOLDER
llm-judge judge =case.json -m =scripted --record OUT-FILE
llm-judge judge =case.json -m openai:x --replay FILE:replies.jsonl
llm-judge judge =case.json -m =replay --calibration FILE:labels.jsonl
llm-judge label =case.json FILE:verdicts.jsonl --list
llm-judge lint FILE:case.json
llm-judge pack FILE:case.json
llm-judge show-prompt FILE:case.json
llm-judge stress FILE:case.json -m =scripted --cache OUT-FOLDER
llm-judge verify FILE:verdict.json --case FILE:case.json
llm-judge verify =verdict.json --state TEXT:state.json
multireal-harness check-state FILE:state.json --tasks-dir built-in --seeds FILE:state.json
multireal-harness compare-states FILE:state.json FILE:state.json
multireal-harness demo --out OUT-FOLDER
multireal-harness export RUN:multireal --out OUT-FOLDER
multireal-harness generate-ground-truth OUT-FOLDER --world built-in -t dining-mail-2 --agent do-nothing --judge llm-judge --judge-model =replay
multireal-harness import FOLDER:agisdk --tasks-dir built-in --out OUT-FOLDER
multireal-harness lint --tasks-dir FOLDER:multireal-tasks
multireal-harness lint --tasks-dir built-in --schemas FILE:state.json
multireal-harness lint --tasks-dir built-in --write OUT-FOLDER
multireal-harness rescore RUN:multireal
multireal-harness run --world built-in -t dining-mail-2 --agent do-nothing --out OUT-FOLDER
multireal-harness run --world built-in --agent tool-calling --model FILE:model.yaml --dry-run
multireal-harness tasks --checkers --tasks-dir built-in --end-states MISSING-FOLDER
multireal-harness validate-ground-truth FOLDER:truth --tasks-dir built-in --claims FILE:claims.jsonl
multireal-harness validate-ground-truth FOLDER:truth --tasks-dir built-in --run RUN:multireal
waa-client compare RUN:waa RUN:waa --out OUT-FILE --report OUT-FOLDER
waa-client demo --out OUT-FOLDER
waa-client evaluate =waa-task --tasks-dir FOLDER:waa-tasks --evaluate =nowhere
waa-client import FOLDER:vanilla --tasks-dir FOLDER:waa-tasks --out OUT-FOLDER
waa-client import-vanilla FOLDER:vanilla --tasks-dir FOLDER:waa-tasks --out OUT-FOLDER
waa-client rescore RUN:waa --evaluate =nowhere
waa-client run --world built-in --agent do-nothing -t =waa-task --out OUT-FOLDER
waa-client tasks --tasks-dir FOLDER:waa-tasks
waa-client tasks --tasks-dir =waa-tasks --index FILE:labels.jsonl
waa-client vm list --folder MISSING-FOLDER
waa-client vm measure --vm process:1 --vm-spec MISSING-FILE
waa-client vm prepare --vm attached:1 --qmp 127.0.0.1:9 --write-only --vm-spec OUT-FILE
waa-client vm reap --folder MISSING-FOLDER
waa-client vm start --vm process:1 --vm-spec MISSING-FILE
waa-client vm stop slot-1 --folder MISSING-FOLDER
waa-server-ext assets fetch --tasks-dir FOLDER:waa-tasks --assets OUT-FOLDER
waa-server-ext assets list --assets MISSING-FOLDER
waa-server-ext evaluate =waa-task --tasks-dir FOLDER:waa-tasks --files =vanilla --cache OUT-FOLDER
waa-server-ext evaluate =waa-task --tasks-dir =waa-tasks --files MISSING-FOLDER --cache =cache
waa-server-ext evaluate =waa-task --tasks-dir =waa-tasks --files =vanilla --cache =cache --transcript FILE:verdict.json
waa-server-ext install --server FILE:main.py
waa-server-ext rescore --cache MISSING-FOLDER
waa-server-ext serve --vm 127.0.0.1:9 --port 0 --cache OUT-FOLDER
waa-server-ext serve --vm 127.0.0.1:9 --port 0 --cache =cache --waa-checkout FOLDER:vanilla
waa-server-ext simulate --port 0 --record OUT-FILE
waa-server-ext simulate --port 0 --snapshot OUT-FILE
waa-server-ext simulate --port 0 --scene TEXT:labels.jsonl
waa-server-ext uninstall --server MISSING-FILE
waa-server-ext wine build MISSING-FOLDER --out OUT-FOLDER
waa-server-ext wine serve MISSING-FOLDER
webarena-runner auth capture --config FILE:sites.yaml
webarena-runner auth check --config FILE:sites.yaml
webarena-runner config init --out OUT-FILE
webarena-runner config show --config FILE:sites.yaml
webarena-runner demo --task 44 --out OUT-FOLDER
webarena-runner import FOLDER:official --out OUT-FOLDER
webarena-runner rescore RUN:webarena
multireal-harness rescore RUN:multireal --each-step
webarena-runner rescore RUN:webarena --each-step
webarena-runner rescore =run --evaluator-python FILE:labels.jsonl
webarena-runner run --config FILE:sites.yaml --agent do-nothing -t 44 --dry-run
webarena-runner run --world built-in --agent do-nothing -t 44 --out OUT-FOLDER
webarena-runner scorability --checker strict --checker-audit FILE:state.json
webarena-runner sites reset --config FILE:sites.yaml
webarena-runner sites start --config FILE:sites.yaml
webarena-runner sites status --config FILE:sites.yaml
webarena-runner sites stop --config FILE:sites.yaml
webarena-runner tasks --checker strict --checker-audit FILE:state.json
webarena-runner submission RUN:webarena --even-built-in --out OUT-FOLDER
""".strip().splitlines()
"""In capitals what is varied, with its good value after the colon; `=` is a good value that stays."""

LISTENING = {"serve", "simulate"}
"""Commands that would not end if they took what they are given: these have a process of their own."""
TELLING = {"doctor"}
"""Commands whose answer says what is wrong, with exit code 1."""

_FILE = {
    "empty": b"",
    "garbage": b"\xff\xfe\x00\x1f\x8b",
    "other": b"[[1], 2]",
    "deep": b"[" * 20_000,
}


def commands_with_paths() -> Iterator[str]:
    """Yield every command that takes a file or a folder."""
    for program in PROGRAMS:
        (script,) = entry_points(group="console_scripts", name=program)
        yield from _below(script.load(), program)


def _below(command: click.Command, name: str) -> Iterator[str]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            assert found is not None
            yield from _below(found, f"{name} {each}")
    elif any(isinstance(each.type, click.Path) for each in command.params):
        yield name


def test_every_command_that_takes_a_path_is_tried() -> None:
    missing = [
        name
        for name in commands_with_paths()
        if name.split()[-1] not in TELLING
        and not any(f"{line} ".startswith(f"{name} ") for line in COMMANDS)
    ]
    assert missing == []


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory, root: Path) -> dict[str, Any]:
    """What the commands take, by name."""
    folder = tmp_path_factory.mktemp("good")
    packages = root / "packages"
    found: dict[str, Any] = {
        "case.json": samples.folder() / "dinner.json",
        "replies.jsonl": samples.cassette(),
        "replay": REPLAY,
        "nowhere": NOWHERE,
        "waa-task": WAA_TASK,
        "waa-tasks": SimulatedDesktopWorld().tasks_folder(),
        "multireal-tasks": packages / "multireal-harness/src/multireal_harness/world/tasks",
        "main.py": next(packages.glob("waa-server-ext/tests/miniature/**/setup/server/main.py")),
        "run": STORED / "webarena/scripted",
        "official": STORED / "webarena/scripted/trials/1",
        "scripted": f"scripted:{folder / 'script.json'}",
    }
    for name in ("new.jsonl", "cache", "truth", "vanilla", "atif"):
        found[name] = folder / name
    found["truth"].mkdir()
    found["agisdk"] = folder / "agisdk"
    experiment = found["agisdk"] / "2026-01-01_agent_on_multi.dining-mail-2_0"
    experiment.mkdir(parents=True)
    (experiment / "summary_info.json").write_text('{"cum_reward": 0.0, "terminated": true}')
    place = found["vanilla"] / "p/t/m/0" / WAA_TASK
    place.mkdir(parents=True)
    (place / "result.txt").write_text("1\n")
    found["study"] = folder / "study"
    shutil.copytree(STORED / "webarena/scripted", found["study"] / "runs/webarena/scripted")
    state = STORED / "multireal/scripted/trials/1/multi.dining-mail-2/finish_state.json.gz"
    written = {
        "script.json": '[{"text": "no"}]',
        "labels.jsonl": '{"case_id": "dinner", "passed": true}\n',
        "claims.jsonl": _claims(found["case.json"]),
        "study/study.yaml": "name: x\nbenchmarks: {webarena: {}}\narms: {scripted: {agent: scripted}}\n",
        "page.j2": "{{ report.title }}",
        "model.yaml": "name: x\nmodel: openai:x\n",
        "state.json": gzip.decompress(state.read_bytes()).decode(),
        "truth/dining-mail-2.json": gzip.decompress(state.read_bytes()).decode(),
    }
    for name, text in written.items():
        (folder / name).write_text(text, encoding="utf-8")
    _make(found, folder)
    return {**{name: folder / name for name in written}, **found}


def _claims(case: Path) -> str:
    """Return a file with one claim for a case."""
    claim = {"criterion_id": "table", "criterion": "A table is booked.", "assertion": {"op": "exists", "over": "/x/*"}}  # fmt: skip
    return json.dumps({"task": task_digest(read_case(case)), "claims": [claim]}) + "\n"


def _make(found: dict[str, Any], folder: Path) -> None:
    """Let commands write what other commands read."""
    for name, line in {
        "verdict.json": f"llm-judge judge {found['case.json']} -m {REPLAY} --out",
        "verdicts.jsonl": f"llm-judge batch {found['case.json']} -m {REPLAY} --out",
        "log.json": f"bench-report export inspect {found['run']} --out",
        "notes.jsonl": f"bench-report notes export {found['run']} --out",
        "atif": f"bench-report export atif {found['run']} --out",
        "bundle.zip": f"bench-core study export {found['study']} --out",
        "baseline.json": f"bench-report export baseline {found['run']} --out",
        "sites.yaml": "webarena-runner config init --out",
    }.items():
        found[name] = folder / name
        code, said = exit_code([*line.split(), str(found[name])])
        assert code == 0, said


def exit_code(words: list[str]) -> tuple[int, str]:
    """Return how a command ends, and what it says."""
    if words[1] in LISTENING:
        done = subprocess.run(
            [BIN / words[0], *words[1:]], capture_output=True, text=True, timeout=120, check=False
        )
        return done.returncode, done.stderr
    (script,) = entry_points(group="console_scripts", name=words[0])
    result = CliRunner().invoke(script.load(), words[1:])
    return result.exit_code, result.output


def bad_runs(place: Path, whole: Path) -> Iterator[tuple[str, Path]]:
    """Yield run folders that cannot be used."""
    yield from bad_folders(place, whole)
    for name, damage in DAMAGES.items():
        run = Path(shutil.copytree(whole, place / name))
        damage(run)
        yield name, run


def _unplanned(run: Path, **changes: object) -> None:
    with (run / "results.jsonl").open("r+", encoding="utf-8") as file:
        result = json.loads(file.readline())
        file.seek(0, 2)
        file.write(json.dumps({**result, **changes}) + "\n")


def _newer(run: Path) -> None:
    info = json.loads((run / "run.json").read_text(encoding="utf-8"))
    (run / "run.json").write_text(json.dumps({**info, "schema_version": 99}), encoding="utf-8")


def _folder_instead(file: Path) -> None:
    file.unlink()
    file.mkdir()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "no description": lambda run: (run / "run.json").unlink(),
    "garbage description": lambda run: (run / "run.json").write_bytes(_FILE["garbage"]),
    "newer": _newer,
    "no tasks": lambda run: (run / "tasks.jsonl").unlink(),
    "garbage tasks": lambda run: (run / "tasks.jsonl").write_bytes(_FILE["garbage"]),
    "tasks in a folder": lambda run: _folder_instead(run / "tasks.jsonl"),
    "damaged results": lambda run: (run / "results.jsonl").write_bytes(b"[1]\n{}\n"),
    "results in a folder": lambda run: _folder_instead(run / "results.jsonl"),
    "unplanned task": lambda run: _unplanned(run, task_id="stranger"),
    "unplanned trial": lambda run: _unplanned(run, trial=99),
}


def bad_files(place: Path, whole: Path) -> Iterator[tuple[str, Path]]:
    """Yield files that hold nothing that can be used."""
    yield from bad_places(place, whole)
    for name, content in _FILE.items():
        file = place / f"{name}{whole.suffix}"
        file.write_bytes(content)
        yield name, file


def bad_places(place: Path, whole: Path) -> Iterator[tuple[str, Path]]:
    """Yield what is no file."""
    yield "missing", place / f"absent{whole.suffix}"
    folder = place / f"folder{whole.suffix}"
    folder.mkdir()
    yield "a folder", folder


def bad_folders(place: Path, _: Path) -> Iterator[tuple[str, Path]]:
    """Yield what is no folder."""
    yield "missing", place / "absent"
    (place / "file").write_text("x")
    yield "a file", place / "file"


def bad_outputs(place: Path, *, folder: bool) -> Iterator[tuple[str, Path]]:
    """Yield where nothing can be written."""
    (place / "file").write_text("x")
    (place / "folder").mkdir()
    yield "below a file", place / "file" / "new"
    yield ("a file", place / "file") if folder else ("a folder", place / "folder")


def faults(word: str, place: Path, good: dict[str, Any]) -> Iterator[tuple[str, Path]]:
    """Yield what cannot be used in the place of a word of `COMMANDS`."""
    kind, _, name = word.partition(":")
    if kind == "OUT-ANY":  # a file, or a folder for one
        return itertools.islice(bad_outputs(place, folder=False), 1)
    if kind.startswith("OUT-"):
        return bad_outputs(place, folder=kind == "OUT-FOLDER")
    if kind == "RUN":
        return bad_runs(place, STORED / name / "scripted")
    if kind in {"MISSING-RUN", "MISSING-FOLDER", "FOLDER"}:
        return bad_folders(place, place)
    make = bad_files if kind == "FILE" else bad_places
    return make(place, Path(good.get(name, "x.py")))


def fine(word: str, place: Path, good: dict[str, Any]) -> str:
    """Return what can be used in the place of a word of `COMMANDS`."""
    kind, _, name = word.partition(":")
    if word.startswith("="):
        return str(good[word[1:]])
    if kind == "RUN":
        return str(shutil.copytree(STORED / name / "scripted", place / "run"))
    if kind.startswith("OUT-"):
        return str(place / "out")
    return str(good[name]) if name and kind.isupper() else word


PLACES = [
    pytest.param(line, place, id=f"{' '.join(line.split()[:3])} {place}")
    for line in COMMANDS
    for place, word in enumerate(line.split())
    if word.partition(":")[0].replace("-", "").isupper()
]


@pytest.mark.parametrize(("line", "varied"), PLACES)
def test_what_cannot_be_read_or_written_ends_with_two(
    line: str, varied: int, good: dict[str, Any], tmp_path: Path
) -> None:
    words, numbers = line.split(), itertools.count()
    (tmp_path / "bad").mkdir()
    ends = {}
    for name, bad in faults(words[varied], tmp_path / "bad", good):
        fresh = tmp_path / str(next(numbers))
        given = []
        for place, word in enumerate(words):
            (fresh / str(place)).mkdir(parents=True)
            given.append(str(bad) if place == varied else fine(word, fresh / str(place), good))
        ends[name] = exit_code(given)
    assert ends
    assert {name: end for name, end in ends.items() if end[0] != 2} == {}
    assert not [said for _, said in ends.values() if "Traceback" in said]
