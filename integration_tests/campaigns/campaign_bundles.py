"""Whether any of some hundred changes of a study's bundle goes unnamed by `bench-core study reproduce`.

Bytes of every kind of member become others, members are cut, emptied, removed, exchanged and added, and digits of
numbers change, by seed; in half of the draws the digests in `bundle.json` are computed again. Each has to end with 1,
or with 2 where nothing can be read, and without a traceback. Prints a line for each kind.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import shutil
import sys
import tempfile
import zipfile
from collections import Counter
from pathlib import Path, PurePosixPath

from click.testing import CliRunner

from bench_core.cli.main import main as bench_core
from bench_core.studies import export_study

STORED = Path(__file__).resolve().parents[1] / "stored_runs"
FILE = """\
name: x
benchmarks: {multireal: {world: built-in}, webarena: {world: built-in}}
arms: {scripted: {agent: scripted}, do-nothing: {agent: do-nothing}}
comparisons: [{baseline: scripted}]
"""
KINDS = ("byte", "digit", "cut", "emptied", "removed", "added", "exchanged")


def make_bundle(folder: Path) -> dict[str, bytes]:
    """Return the members of a bundle with evidence."""
    study = folder / "study"
    for benchmark in ("multireal", "webarena"):
        for arm in ("scripted", "do-nothing"):
            shutil.copytree(STORED / benchmark / arm, study / "runs" / benchmark / arm)
    (study / "study.yaml").write_text(FILE, encoding="utf-8")
    export_study(study, folder / "b.zip", evidence=True)
    with zipfile.ZipFile(folder / "b.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def change(held: dict[str, bytes], kind: str, random_: random.Random) -> str | None:
    """Change a member and return its name; None where it has nothing of that kind."""
    # of each kind of file as often, however many there are
    by_suffix: dict[str, list[str]] = {}
    for each in sorted(held.keys() - {"bundle.json"}):
        path = PurePosixPath(each)
        by_suffix.setdefault(
            path.name if path.suffix.startswith(".js") else path.suffix, []
        ).append(each)
    name = random_.choice(by_suffix[random_.choice(sorted(by_suffix))])
    data = held[name]
    if kind == "byte":
        place = random_.randrange(len(data))
        held[name] = (
            data[:place] + bytes([data[place] ^ random_.randrange(1, 256)]) + data[place + 1 :]
        )
    elif kind == "digit":
        digits = [found.start() for found in re.finditer(rb"(?<=[\d.])\d", data)]
        if not digits:
            return None
        place = random_.choice(digits)
        held[name] = (
            data[:place] + b"%d" % ((int(data[place : place + 1]) + 1) % 10) + data[place + 1 :]
        )
    elif kind == "cut":
        held[name] = data[: random_.randrange(len(data))]
    elif kind == "emptied":
        held[name] = b""
    elif kind == "removed":
        del held[name]
    elif kind == "added":
        name = f"{PurePosixPath(name).parent}/added.txt"
        held[name] = b"x"
    else:
        other = random_.choice(next(each for each in by_suffix.values() if name in each))
        if held[other] == data:
            return None
        held[name] = held[other]
    return None if held.get(name) == data else name


def main() -> int:
    """Draw, and return 1 where a change went unnamed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=140)
    parser.add_argument("--seed", type=int, default=59)
    asked = parser.parse_args()
    broken = 0
    told: Counter[tuple[str, str, int]] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        whole = make_bundle(Path(scratch))
        for number in range(asked.draws):
            random_ = random.Random(f"{asked.seed} {number}")
            held, kind = dict(whole), KINDS[number % len(KINDS)]
            # what nothing reads changes no score and no number: it has to be named only where no digest lists it
            forged = number % 2 == 1 and kind != "added"
            name = change(held, kind, random_)
            if name is None:
                continue
            if forged:
                about = json.loads(held["bundle.json"])
                about["files"] = {
                    each: hashlib.sha256(data).hexdigest()
                    for each, data in held.items()
                    if each != "bundle.json"
                }
                held["bundle.json"] = json.dumps(about).encode()
            path = Path(scratch) / "changed.zip"
            with zipfile.ZipFile(path, "w") as archive:
                for each, data in held.items():
                    archive.writestr(each, data)
            result = CliRunner().invoke(bench_core, ["study", "reproduce", str(path), "--json"])
            told[kind, "forged" if forged else "plain", result.exit_code] += 1
            if result.exit_code not in {1, 2} or "Traceback" in result.output:
                broken += 1
                print(f"UNNAMED draw {number}: {kind} of {name}, digests {'forged' if forged else 'kept'}: "
                      f"exit code {result.exit_code}: {result.output[-300:]}")  # fmt: skip
    for (kind, way, code), times in sorted(told.items()):
        print(f"{kind:10} {way:7} exit code {code}: {times}")
    print(f"seed {asked.seed}: {sum(told.values())} changes, {broken} unnamed")
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
