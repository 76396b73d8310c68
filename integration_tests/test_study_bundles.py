"""A study's bundle says what its records say: on another machine, and only if nobody changed it."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bench_core.cli.main import main
from bench_core.studies import StudyChange, arm_folders, export_study, verify_study

STORED = Path(__file__).parent / "stored_runs"
FILE = """\
name: Scripted against nothing
benchmarks:
  multireal: {world: built-in}
  webarena: {world: built-in}
arms:
  scripted: {agent: scripted}
  do-nothing: {agent: do-nothing}
comparisons:
  - {baseline: scripted, arms: [do-nothing], benchmarks: [webarena], drop: 5pp}
notes: Made in /home/jolene.quux/studies by the Quux Laboratory.
"""
_DATE = "2026-01-01T08:00:00Z"


def run(*words: object, code: int = 0) -> str:
    """Return what a command says that ends so."""
    result = CliRunner().invoke(main, ["study", *map(str, words)])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return re.sub(r"\s+", " ", result.output)


def sealed(folder: Path) -> dict[str, Any]:
    """Return the declaration of a study whose runs are there, as if it were older than they."""
    infos = {
        name: json.loads((path / "run.json").read_text()) for name, _, path in arm_folders(folder)
    }
    tasks = {
        name: [
            json.loads(line)["task_id"] for line in (path / "tasks.jsonl").read_text().splitlines()
        ]
        for name, _, path in arm_folders(folder)
    }
    return {
        "schema_version": 1,
        "name": "Scripted against nothing",
        "sha256": hashlib.sha256((folder / "study.yaml").read_bytes()).hexdigest(),
        "time": _DATE,
        "versions": {},
        "seed": 0,
        "trials": 1,
        "arms": ["scripted", "do-nothing"],
        "benchmarks": [
            {
                "name": name,
                "tasks": [tasks[name]],
                "task_set_hash": info["task_set_hash"],
                "order": "interleaved",
            }
            for name, info in infos.items()
        ],
    }


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("jolene.quux") / "study"
    for benchmark in ("multireal", "webarena"):
        for arm in ("scripted", "do-nothing"):
            shutil.copytree(STORED / benchmark / arm, folder / "runs" / benchmark / arm)
    (folder / "study.yaml").write_text(FILE, encoding="utf-8")
    (folder / "sealed.json").write_text(json.dumps(sealed(folder)))
    return folder


@pytest.fixture(scope="module")
def bundle(study: Path) -> Path:
    out = study.parent / "bundle.zip"
    export_study(study, out, evidence=True, words=["Quux Laboratory"])
    return out


def told(folder: Path, *sources: str) -> None:
    """Write changes of a study down, each after the one before."""
    after, lines = hashlib.sha256((folder / "sealed.json").read_bytes()).hexdigest(), []
    for number, source in enumerate(sources):
        change = StudyChange.model_validate(
            {"time": _DATE, "text": f"notes {number} of /home/jolene.quux", "sha256": "", "source": source, "versions": {}, "after": after}
        )  # fmt: skip
        digest = hashlib.sha256(source.encode()).hexdigest()
        line = change.model_copy(update={"sha256": digest}).model_dump_json()
        lines.append(line)
        after = hashlib.sha256(line.encode()).hexdigest()
    (folder / "changes.jsonl").write_text("".join(f"{each}\n" for each in lines))


@pytest.fixture(scope="module")
def retold(study: Path) -> Path:
    """Return the bundle, without evidence, of a study that was changed twice and has an arm from elsewhere."""
    copy = Path(shutil.copytree(study, study.parent / "retold"))
    told(copy, f"{FILE}# /home/jolene.quux\n", f"{FILE}# twice, /home/jolene.quux\n")
    seal = json.loads((copy / "sealed.json").read_text())
    digest = hashlib.sha256((copy / "runs/webarena/do-nothing/run.json").read_bytes()).hexdigest()
    arm = {"benchmark": "webarena", "arm": "do-nothing", "source": "/home/jolene.quux/old"}
    seal["reused"] = [{**arm, "sha256": digest, "started": "2025-01-01T08:00:00Z"}]
    (copy / "sealed.json").write_text(json.dumps(seal))
    told(copy, f"{FILE}# /home/jolene.quux\n", f"{FILE}# twice, /home/jolene.quux\n")
    assert verify_study(copy).problems == ()
    export_study(copy, study.parent / "retold.zip")
    return study.parent / "retold.zip"


def test_what_was_declared_and_changed_holds_in_a_bundle(
    study: Path, retold: Path, tmp_path: Path
) -> None:
    run("reproduce", retold, "--out", tmp_path / "out", code=3)
    said = run("verify", tmp_path / "out")
    assert "all fits the declaration" in said
    assert "(drift)" in said
    assert not any(b"jolene" in data for data in members(retold).values())
    assert verify_study(tmp_path / "out").sealed.declared_sha256 == (
        hashlib.sha256((study / "study.yaml").read_bytes()).hexdigest()
    )
    for name in ("index.html", "study.md", "study.tex", "webarena/index.html"):
        assert "was not run in turns with the other arms" in (tmp_path / "out/report" / name).read_text()  # fmt: skip


@pytest.mark.parametrize(
    ("name", "old", "new", "problem"),
    [
        ("changes.jsonl", b"notes 0 of", b"notes 9 of", "line 2: what it follows was altered"),
        ("changes.jsonl", b"# twice", b"# three", "line 2: its file is not the one of its digest"),
        ("sealed.json", b'"seed": 0', b'"seed": 1', "line 1: what it follows was altered"),
        ("study.yaml", b"do-nothing", b"do-things!", "study.yaml is not the file that was sealed"),
        ("sealed.json", b"2025-01-01", b"2026-01-01", "line 1: what it follows was altered"),
        ("runs/webarena/do-nothing/run.json", b'"trials": 1', b'"trials": 2', "not the one that was taken"),
    ],
)  # fmt: skip
def test_a_planted_change_of_what_was_declared_is_named_though_all_digests_are_made_anew(
    retold: Path, tmp_path: Path, name: str, old: bytes, new: bytes, problem: str
) -> None:
    def change(held: dict[str, bytes]) -> None:
        assert old in held[name]
        held[name] = held[name].replace(old, new)
        sealed_again(held)

    assert problem in run("reproduce", changed(retold, tmp_path / "b.zip", change), code=1)


def test_a_change_that_is_taken_out_is_named(retold: Path, tmp_path: Path) -> None:
    def change(held: dict[str, bytes]) -> None:
        held["changes.jsonl"] = held["changes.jsonl"].split(b"\n", 1)[1]
        sealed_again(held)

    said = run("reproduce", changed(retold, tmp_path / "b.zip", change), code=1)
    assert "line 1: what it follows was altered or taken out" in said


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("study.yaml", "5pp", "6pp"),
        ("changes.jsonl", "# once", "# else"),
        ("sealed.json", '"seed": 0', '"seed": 3'),
    ],
)
def test_an_export_hides_no_change_that_was_made_before_it(
    study: Path, tmp_path: Path, name: str, old: str, new: str
) -> None:
    copy = Path(shutil.copytree(study, tmp_path / "study"))
    told(copy, f"{FILE}# once\n", f"{FILE}# twice\n")
    text = (copy / name).read_text()
    (copy / name).write_text(text.replace(old, new, 1))
    before = verify_study(copy).problems
    assert before
    export_study(copy, tmp_path / "b.zip")
    run("reproduce", tmp_path / "b.zip", "--out", tmp_path / "out", code=1)
    assert verify_study(tmp_path / "out").problems == before


def members(bundle: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(bundle) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def changed(bundle: Path, out: Path, change: Callable[[dict[str, bytes]], object]) -> Path:
    """Write a bundle whose members were changed."""
    held = members(bundle)
    change(held)
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in held.items():
            archive.writestr(name, data)
    return out


def test_the_same_scores_and_numbers_in_another_folder_and_environment(
    bundle: Path, tmp_path: Path
) -> None:
    there = tmp_path / "elsewhere" / "deep"
    there.mkdir(parents=True)
    environment = {**os.environ, "HOME": str(tmp_path), "TZ": "Asia/Tokyo", "LC_ALL": "C"}
    environment |= {"PYTHONHASHSEED": "7"}
    done = subprocess.run(
        [sys.executable, "-m", "bench_core.cli.main", "study", "reproduce", bundle, "--out", "kept"],
        cwd=there, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "trials scored again as the bundle says" in done.stdout
    assert not done.stdout.startswith("0 ")
    assert "the report's numbers: the same, byte for byte" in done.stdout
    first, again = (there / "kept" / each / "study.json" for each in ("report", "reproduced"))
    assert first.read_bytes() == again.read_bytes()


def test_the_same_study_gives_the_same_bundle(study: Path, bundle: Path, tmp_path: Path) -> None:
    export_study(study, tmp_path / "again.zip", evidence=True, words=["Quux Laboratory"])
    assert (tmp_path / "again.zip").read_bytes() == bundle.read_bytes()


def test_nothing_personal_is_in_a_bundle(study: Path, bundle: Path) -> None:
    for name, held in members(bundle).items():
        data = gzip.decompress(held) if name.endswith(".gz") else held
        for word in ("jolene.quux", "Quux Laboratory", str(study), sys.prefix, str(Path.cwd())):
            assert word.encode() not in data, name
        if name.endswith("run.json"):
            info = json.loads(data)
            assert info["host"] is None
            assert info["git"] is None
            assert [each["host"] for each in info["sessions"]] == [None] * len(info["sessions"])
            assert not any("/" in word for each in info["sessions"] for word in each["command"][:1])


def test_a_bundle_without_evidence_leaves_scores_undecided(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "short.zip"
    said = run("export", study, "--out", out)
    assert "cannot be scored again" in said
    assert not any("/trials/" in name for name in members(out))
    said = run("reproduce", out, code=3)
    assert "0 trials scored again" in said
    assert "byte for byte" in said


def test_a_changed_score_is_named(bundle: Path, tmp_path: Path) -> None:
    name = "runs/webarena/scripted/results.jsonl"

    def change(held: dict[str, bytes]) -> None:
        held[name] = held[name].replace(b'"score":1.0', b'"score":0.0', 1)

    said = run("reproduce", changed(bundle, tmp_path / "b.zip", change), code=1)
    assert f"DIFFERS: {name} was changed after the export" in said
    assert "runs/webarena/scripted cannot be scored again" in said


def test_a_changed_number_of_the_report_is_named(bundle: Path, tmp_path: Path) -> None:
    def change(held: dict[str, bytes]) -> None:
        report = json.loads(held["report/study.json"])
        report["benchmarks"][1]["report"]["runs"][0]["summary"]["success"]["estimate"] = 0.123
        held["report/study.json"] = json.dumps(report).encode()
        sealed_again(held)

    said = run("reproduce", changed(bundle, tmp_path / "b.zip", change), code=1)
    assert "summary success estimate: the bundle says 0.123, made again" in said
    assert "the report's numbers: not the same" in said


def test_a_changed_page_is_named(bundle: Path, tmp_path: Path) -> None:
    def change(held: dict[str, bytes]) -> None:
        held["report/study.md"] = held["report/study.md"].replace(b"not decided", b"better", 1)
        sealed_again(held)

    said = run("reproduce", changed(bundle, tmp_path / "b.zip", change), code=1)
    assert "DIFFERS: report/study.md is not what the runs give" in said
    assert "the report's numbers: the same, byte for byte" in said


def sealed_again(held: dict[str, bytes]) -> None:
    """Compute the digests of a bundle again, as who forges one does."""
    about = json.loads(held["bundle.json"])
    about["files"] = {
        n: hashlib.sha256(d).hexdigest() for n, d in held.items() if n != "bundle.json"
    }
    held["bundle.json"] = json.dumps(about).encode()


def forged(text: bytes) -> bytes:
    """Compute the checksum of a record again."""
    found = re.search(rb',(\s*)"checksum":(\s*)"[0-9a-f]{64}"(\s*\}\s*)\Z', text)
    assert found is not None
    plain = text[: found.start()] + found[3]
    digest = hashlib.sha256(plain).hexdigest().encode()
    return (
        text[: found.start()]
        + b","
        + found[1]
        + b'"checksum":'
        + found[2]
        + b'"'
        + digest
        + b'"'
        + found[3]
    )


def test_a_forged_score_with_all_digests_computed_again_is_found_by_scoring(
    bundle: Path, tmp_path: Path
) -> None:
    folder = "runs/webarena/scripted"

    def change(held: dict[str, bytes]) -> None:
        *lines, last = held[f"{folder}/results.jsonl"].splitlines(keepends=True)
        assert b'"score":1.0,"success":true' in last
        last = forged(last.replace(b'"score":1.0,"success":true', b'"score":0.0,"success":false'))
        results = held[f"{folder}/results.jsonl"] = b"".join([*lines, last])
        info: Any = json.loads(held[f"{folder}/run.json"])
        info["sessions"][-1]["results_sha256"] = hashlib.sha256(results).hexdigest()
        held[f"{folder}/run.json"] = forged(json.dumps(info).encode())
        sealed_again(held)

    said = run("reproduce", changed(bundle, tmp_path / "b.zip", change), code=1)
    assert "the bundle says 0, scored again 1" in said
    assert "was changed after the export" not in said


def test_a_changed_end_state_is_no_score_that_was_reproduced(bundle: Path, tmp_path: Path) -> None:
    name = next(
        n
        for n in members(bundle)
        if n.startswith("runs/webarena/scripted/trials") and n.endswith(".har")
    )
    path = changed(bundle, tmp_path / "b.zip", lambda held: held.__setitem__(name, b"{}"))
    said = run("reproduce", path, code=1)
    assert f"DIFFERS: {name} was changed after the export" in said


def test_files_that_came_or_went_are_named(bundle: Path, tmp_path: Path) -> None:
    def change(held: dict[str, bytes]) -> None:
        held["runs/webarena/scripted/note.txt"] = b"x"
        del held["study.yaml"]

    said = run("reproduce", changed(bundle, tmp_path / "b.zip", change), code=1)
    assert "note.txt was added after the export" in said
    assert "study.yaml is missing" in said


@pytest.mark.parametrize("damage", ["changed", "running"])
def test_a_run_whose_copy_would_look_whole_is_not_exported(
    study: Path, tmp_path: Path, damage: str
) -> None:
    copy = Path(shutil.copytree(study, tmp_path / "study"))
    (_, _, folder) = next(arm_folders(copy))
    name = "results.jsonl" if damage == "changed" else "run.json"
    text = (folder / name).read_bytes()
    if damage == "changed":
        text = text.replace(b'"steps":', b'"steps":1', 1)
    else:
        text = forged(text.replace(b'"outcome": "finished"', b'"outcome": "running"'))
    (folder / name).write_bytes(text)
    said = run("export", copy, "--out", tmp_path / "b.zip", code=2)
    words = "is not as it was written" if damage == "changed" else "is still being written"
    assert words in said
    assert not (tmp_path / "b.zip").exists()


def _zip(*members: tuple[zipfile.ZipInfo | str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return file.getvalue()


def _link() -> zipfile.ZipInfo:
    found = zipfile.ZipInfo("runs/link")
    found.external_attr = 0o120777 << 16
    return found


def _understated() -> bytes:
    """Return an archive whose member says to be of ten bytes and is of a million."""
    data = bytearray(_zip(("study.yaml", b"x" * 1_000_000)))
    size = struct.pack("<I", 1_000_000)
    for _ in range(2):
        place = data.index(size)
        data[place : place + 4] = struct.pack("<I", 10)
    return bytes(data)


_NAMED = "nothing was scored"
HOSTILE = {
    "no archive": (b"hello", "not a whole bundle"),
    "empty": (b"", "not a whole bundle"),
    "cut off": (_zip(("study.yaml", b"x" * 99))[:60], "not a whole bundle"),
    "without its description": (_zip(("study.yaml", b"x")), "has no bundle.json"),
    "garbage description": (_zip(("bundle.json", b"\xff\x00")), "bundle.json is not readable"),
    "another description": (_zip(("bundle.json", b"[]")), "bundle.json is not readable"),
    "newer": (_zip(("bundle.json", b'{"schema_version":2,"study":"x"}')), "not readable at schema_version"),
    "above": (_zip(("../outside", b"x")), _NAMED),
    "absolute": (_zip(("/outside", b"x")), _NAMED),
    "deep above": (_zip(("runs/a/../../../outside", b"x")), _NAMED),
    "backslash": (_zip(("runs\\..\\..\\outside", b"x")), _NAMED),
    "drive": (_zip(("C:/outside", b"x")), _NAMED),
    "link": (_zip((_link(), b"/etc/passwd")), _NAMED),
    "folder": (_zip(("runs/", b"")), _NAMED),
    "same name in other letters": (_zip(("study.yaml", b"x"), ("STUDY.yaml", b"y")), "is there twice"),
    "huge": (_zip(("study.yaml", bytes(100 << 20))), "of hardly any content"),
    "understated": (_understated(), "not a whole bundle"),
    "file as a folder": (_zip(("runs", b"x"), ("runs/a", b"y")), "one name for a file and a folder"),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_bundle_is_refused_in_one_sentence(kind: str, tmp_path: Path) -> None:
    data, words = HOSTILE[kind]
    path = tmp_path / "deep/er/b.zip"
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    said = run("reproduce", path, "--out", tmp_path / "deep/er/out", code=2)
    assert words in said
    assert said.count("Error:") == 1
    assert not list(tmp_path.rglob("outside"))


def test_without_a_seal_nothing_counts_as_declared(study: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(study, tmp_path / "study"))
    (copy / "sealed.json").unlink()
    run("report", copy)
    for name in ("index.html", "study.md", "study.tex"):
        assert "Nothing was sealed before the first trial" in (copy / "report" / name).read_text()
    report = json.loads((copy / "report/study.json").read_text())
    assert report["declared"] == []
    assert report["explored"] == 2


def test_what_was_changed_or_added_after_the_seal_is_told_in_every_form(
    study: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(study, tmp_path / "study"))
    (copy / "runs/webarena/scripted").rename(copy / "runs/webarena/late")
    change = {
        "time": _DATE,
        "text": "versions: pydantic 2.11 -> 2.12",
        "sha256": "",
        "source": FILE,
    }
    change |= {
        "versions": {},
        "after": hashlib.sha256((copy / "sealed.json").read_bytes()).hexdigest(),
    }
    (copy / "changes.jsonl").write_text(json.dumps(change) + "\n")
    run("report", copy)
    for name in ("index.html", "study.md", "study.tex"):
        text = re.sub(r"[\\{}]", "", (copy / "report" / name).read_text())
        assert "pydantic 2.11 -" in text
        assert "Not declared, on webarena: late." in text
        assert "Declared and not run, on webarena: scripted." in text
        assert "not run" in text


def test_a_pair_that_is_looked_at_has_the_interval_of_its_last_look(
    study: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(study, tmp_path / "study"))
    text = FILE.replace("drop: 5pp}", "drop: 5pp, looks: 2}")
    (copy / "study.yaml").write_text(text)
    declared = sealed(copy)
    tasks = declared["benchmarks"][1]["tasks"][0]
    batches = [tasks[: len(tasks) // 2], tasks[len(tasks) // 2 :]]
    plan = {
        "baseline": "scripted",
        "baseline_scores": {},
        "batches": batches,
        "critical": [3.0, 2.0],
        "drop": 0.05,
    }
    pair = {
        "benchmark": "webarena",
        "baseline": "scripted",
        "arm": "do-nothing",
        "outcome": "success_rate",
    }
    declared["looks"] = [pair | {"plan": plan}]
    (copy / "sealed.json").write_text(json.dumps(declared))
    run("report", copy)
    ((result,),) = [
        each["pairs"] for each in json.loads((copy / "report/study.json").read_text())["declared"]
    ]
    found, last = result["difference"], result["looks"][-1]
    assert (found["value"], found["joint_low"], found["joint_high"]) == (
        last["difference"],
        last["low"],
        last["high"],
    )
    assert (found["low"], found["p_value"]) == (None, None)
    assert f"look {last['number']} of 2: {last['reason']}" in (copy / "report/study.md").read_text()


@pytest.fixture(scope="module")
def reported(study: Path) -> Path:
    run("report", study, "--out", study.parent / "report")
    return study.parent / "report"


def test_every_form_tells_the_declared_comparison_before_the_explorations(reported: Path) -> None:
    for name in ("index.html", "study.md", "study.tex"):
        text = (reported / name).read_text(encoding="utf-8")
        assert (
            0
            < text.index("Comparison 1: against scripted")
            < text.index("These pairs were not declared")
        )
    found = json.loads((reported / "study.json").read_text())
    (declared,) = found["declared"]
    assert [(pair["benchmark"], pair["difference"]["run"]) for pair in declared["pairs"]] == [
        ("webarena", "do-nothing")
    ]
    assert [(p["name"], len(p["explored"])) for p in found["benchmarks"]] == [
        ("multireal", 1),
        ("webarena", 0),
    ]
