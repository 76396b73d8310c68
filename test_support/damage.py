"""Damage to run folders, one piece at a time, to see that nothing of it goes unseen."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from datetime import datetime, timezone
from multiprocessing import get_context
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from bench_core.budgets import Spent
from bench_core.errors import BenchError
from bench_core.files import add_checksum
from bench_core.records import Event
from bench_core.redaction import Redactor
from bench_core.run_folder import RunFolder, check_run, describe_artifacts, read_info, read_run
from bench_core.run_folder.folder import write_info
from bench_core.run_folder.rescore_folder import RescoreFolder, read_rescore
from bench_core.runs.spending import spent_before
from bench_core.testing import make_run

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping
    from pathlib import Path

__all__ = [
    "READERS",
    "Damage",
    "Told",
    "damage",
    "leave_running",
    "make_whole_run",
    "numbers_of",
    "told_by",
]

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=timezone.utc)


class Damage(NamedTuple):
    """What was done to which file of a run."""

    kind: str
    file: str
    detail: str

    @property
    def group(self) -> str:
        """The file's place, without ids."""
        first, _, rest = self.file.partition("/")
        return f"{first}/.../{rest.rpartition('/')[2]}" if rest else first


class Told(NamedTuple):
    """What one reader said of a damaged run, and whether the numbers read from it stayed what they were."""

    text: str
    same_numbers: bool

    def names(self, done: Damage) -> bool:
        """Whether the file is named."""
        folder, _, name = done.file.rpartition("/")
        return any(each in self.text for each in (done.file, name, folder) if each)

    def covers(self, done: Damage) -> bool:
        """Whether nothing of the damage goes unseen that matters."""
        return self.same_numbers or self.names(done)


def make_whole_run(path: Path, *, killed: bool = False) -> Path:
    """Make a run of two sessions that has every kind of file: calls, artifacts, a rescore, what machines left.

    The second session and its rescore end in order, or are `killed` after their last line.
    """
    make_run(path, tasks=4, trials=2)
    if killed:
        writer = get_context("spawn").Process(target=_go_on_and_die, args=(path,))
        writer.start()
        writer.join()
    else:
        run, rescore = _go_on(path)
        rescore.close()
        run.finish("interrupted")
    for name in ("machines/journal.jsonl", "machines/leases/vm-1.json", "late/one/log.txt"):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text('{"a machine": 1}\n{"its lease": 2}\n')
    return path


def _go_on_and_die(path: Path) -> NoReturn:
    _go_on(path)
    os._exit(0)  # as SIGKILL ends it: nothing is closed


def _go_on(path: Path) -> tuple[RunFolder, RescoreFolder]:
    run = RunFolder.resume(path, trials=3)
    for key in run.remaining()[:3]:
        call = Spent(cost_usd=1.25).model_dump(mode="json", exclude_defaults=True)
        run.event(Event(time=NOW, kind="spend", task_id=key.task_id, trial=key.trial, data=call))
        old = read_run(path).results[key.model_copy(update={"trial": 1})]
        folder = run.new_attempt(key)
        (folder / "log.txt").write_text("another")
        update = {"trial": key.trial, "artifacts": describe_artifacts(folder)}
        run.append(old.model_copy(update=update))
    run.note("note", {"text": "one of many"})
    rescore = RescoreFolder(path, "again")
    for key in rescore.remaining():
        rescore.append(rescore.run.results[key])
    rescore.write_changes(b"[]\n")
    return run, rescore


def leave_running(run: Path) -> None:
    """Make of a run one whose last process was killed: what its session left was never written down."""
    info = read_info(run)
    unknown = dict.fromkeys(("finished", "results", "results_sha256", "events", "events_sha256"))
    last = info.sessions[-1].model_copy(update={**unknown, "outcome": "running"})
    update = {"sessions": (*info.sessions[:-1], last), "finished": None}
    RunFolder.resume(run).close()  # which leaves where the files end
    write_info(run, info.model_copy(update=update), Redactor())


def numbers_of(run: Path) -> tuple[object, object]:
    """Return what readers take from a run (how its trials stand, what they and its calls cost), and from its rescore.

    None is for what cannot be read.
    """
    return _unless_refused(_run_numbers, run), _unless_refused(_rescored, run)


def _unless_refused(numbers: Callable[[Path], object], run: Path) -> object:
    try:
        return numbers(run)
    except BenchError:
        return None


def _run_numbers(run: Path) -> object:
    view = read_run(run)
    info = view.info.model_dump(mode="json", exclude={"checksum"})
    results = [each.model_dump(mode="json", exclude={"checksum"}) for each in view.latest]
    return results, view.remaining(), spent_before(view), info


def _rescored(run: Path) -> object:
    return list(read_rescore(run, "again").results.values())


def _checked(run: Path) -> str:
    return "\n".join(check_run(run).problems)


def _read(run: Path) -> str:
    return "\n".join(each.reason for each in read_run(run).problems)


def _read_rescore(run: Path) -> str:
    return "\n".join(read_rescore(run, "again").problems)


def _continued(run: Path) -> str:
    """Begin another session, which writes to the run."""
    RunFolder.resume(run).close()
    RescoreFolder(run, "again").close()
    kept = read_run(run).events.of_kinds("lines_lost", "set_aside")
    return "\n".join(json.dumps(each.data) for each in kept)


Reader = Callable[["Path"], str]
READERS: dict[str, Reader] = {
    "check": _checked,
    "read_run": _read,
    "read_rescore": _read_rescore,
    "session": _continued,
}
"""Who tells of damage, the last of them by writing to the run."""
_TAKES = {"check": (0, 1), "session": (0, 1), "read_rescore": (1,)}
"""Which of the numbers a reader takes; all others those of the run."""


def told_by(
    run: Path, readers: Mapping[str, Reader], numbers: tuple[object, object]
) -> dict[str, Told]:
    """Ask readers about damage to a run whose `numbers` are known."""
    now = numbers_of(run)
    same = [before == after for before, after in zip(numbers, now, strict=True)]
    return {
        name: Told(_said(reader, run), all(same[part] for part in _TAKES.get(name, (0,))))
        for name, reader in readers.items()
    }


def _said(reader: Reader, run: Path) -> str:
    try:
        return reader(run)
    except BenchError as error:
        return str(error)


def damage(run: Path, chance: random.Random) -> Damage:
    """Damage one file of the run folder `run` and return what was done to which."""
    groups: dict[str, list[Path]] = {}
    for file in sorted(each for each in run.rglob("*") if each.is_file()):
        name = file.relative_to(run).as_posix()
        if file.stat().st_size and not name.endswith(".lock"):
            groups.setdefault(Damage("", name, "").group, []).append(file)
    file = chance.choice(groups[chance.choice(sorted(groups))])
    kinds = _OF_LINES if file.suffix == ".jsonl" else _OF_FILES
    kind = chance.choice(sorted(kinds))
    detail = kinds[kind](file, chance)
    return Damage(kind, file.relative_to(run).as_posix(), detail)


def _byte(file: Path, chance: random.Random) -> str:
    data = bytearray(file.read_bytes())
    place = chance.randrange(len(data))
    data[place] ^= chance.randrange(1, 256)
    file.write_bytes(data)
    return f"byte {place} is another"


def _digit(file: Path, chance: random.Random) -> str:
    data = bytearray(file.read_bytes())
    digits = [place for place, byte in enumerate(data) if chr(byte).isdigit()]
    if not digits:
        return _byte(file, chance)
    place = chance.choice(digits)
    data[place] = chance.choice([each for each in b"0123456789" if each != data[place]])
    file.write_bytes(data)
    return f"digit {place} is another"


def _cut(file: Path, chance: random.Random) -> str:
    data = file.read_bytes()
    place = chance.randrange(len(data))
    file.write_bytes(data[:place])
    return f"cut at byte {place} of {len(data)}"


def _grown(file: Path, chance: random.Random) -> str:
    with file.open("ab") as more:
        more.write(chance.choice([b"\0", b"x\n", b"{}\n"]))
    return "something is added at its end"


def _gone(file: Path, chance: random.Random) -> str:
    folder = chance.random() < 0.5 and "trials" in file.parts  # as often as not
    shutil.rmtree(file.parent) if folder else file.unlink()
    return "its folder is gone" if folder else "is gone"


def _line(act: str) -> Callable[[Path, random.Random], str]:
    def disorder(file: Path, chance: random.Random) -> str:
        lines = file.read_bytes().splitlines(keepends=True)
        place = chance.randrange(len(lines))
        if act == "cut off":
            lines = lines[:place]
        elif act == "deleted":
            del lines[place]
        elif act == "doubled":
            lines.insert(chance.randrange(len(lines) + 1), lines[place])
        else:
            lines.insert(
                chance.choice([n for n in range(len(lines)) if n != place] or [0]), lines.pop(place)
            )
        file.write_bytes(b"".join(lines))
        return f"line {place + 1} is {act}"

    return disorder


def _resealed(file: Path, chance: random.Random) -> str:
    """Change a line and compute its own checksum again."""
    lines = file.read_bytes().splitlines()
    place = chance.randrange(len(lines))
    record = json.loads(lines[place])
    record.pop("checksum", None)
    numbers = [name for name in ("trial", "cost_usd", "steps", "time", "data") if record.get(name)]
    name = chance.choice(numbers or sorted(record))
    record[name] = {"trial": 1 + (record.get("trial") or 1) % 2, "cost_usd": 910.95, "steps": 99, "data": {"cost_usd": 910.95}}.get(name, "2026-03-01T09:00:01Z")  # fmt: skip
    lines[place] = add_checksum(json.dumps(record, separators=(",", ":")).encode())
    file.write_bytes(b"".join(each + b"\n" for each in lines))
    return f"{name} of line {place + 1} is another, its checksum computed again"


_OF_FILES = {"byte": _byte, "digit": _digit, "cut": _cut, "grown": _grown, "gone": _gone}
_OF_LINES = {
    **_OF_FILES,
    **{f"line {act}": _line(act) for act in ("deleted", "doubled", "moved", "cut off")},
    "line resealed": _resealed,
}
