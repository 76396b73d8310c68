"""Run folders as a hostile stranger may send them, made from a seed.

Each is a finished run in which one thing was done that is to make a reader open files elsewhere, run
code, hang, or take all memory. What lies outside holds `CANARY`, which must show nowhere.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import random
import shutil
import socket
import stat
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_core.errors import InputError
from bench_core.records import Step
from bench_core.testing import make_run, reseal

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CANARY", "KINDS", "RAN", "hostile_run"]

CANARY = "canary-7f3a-of-a-private-file"
SCRIPT = '<img src=x onerror="window.__ran=1"><script>window.__ran=1</script>\');window.__ran=1;//'
LINK = "[x](javascript:window.__ran=1) javascript:window.__ran=1 \"onmouseover='window.__ran=1'"
ESCAPES = "\x1b]0;title\x07\x1b[2J\x1b[31mred\x9b31m\r\b\u202egnp.exe\u200b\ud800"
HUGE = 8 << 40
TOP = ("run.json", "tasks.jsonl", "results.jsonl", "events.jsonl")
LEFT = ("log.txt", "trajectory.jsonl", "network.har", "finish_state.json.gz", "screenshots/1.png")
_PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c63606060f80f0001040100d2ba7a920000000049454e44ae426082"
)


def hostile_run(
    place: Path, seed: int, *, benchmark: str = "webarena", kind: str | None = None
) -> tuple[Path, str]:
    """Make a hostile run in `place`, beside the folder `outside`; return it and what was done to it."""
    chance = random.Random(seed)  # noqa: S311  # not cryptography
    outside = place / "outside"
    _make_outside(outside)
    run = make_run(place / "run", tasks=2, trials=2, benchmark=benchmark, seed=seed, artifacts=True)
    _leave_evidence(run)
    name = kind or list(KINDS)[seed % len(KINDS)]
    done = KINDS[name](run, outside, chance)
    return run, f"{name}: {done}"


def _make_outside(outside: Path) -> None:
    (outside / "evidence").mkdir(parents=True)
    (outside / "secret.txt").write_text(CANARY)
    (outside / "1.js").write_text(CANARY)
    (outside / "evidence" / "0.js").write_text(CANARY)
    (outside / "secret.png").write_bytes(_PIXEL + CANARY.encode())
    step = Step(step=1, thought=CANARY, screenshot="secret.png").model_dump_json()
    (outside / "trajectory.jsonl").write_text(step + "\n")
    entry = {"request": {"method": "GET", "url": f"http://{CANARY}/"}, "response": {"status": 500}}
    (outside / "network.har").write_text(json.dumps({"log": {"entries": [entry]}}))


def _leave_evidence(run: Path) -> None:
    for folder in sorted((run / "trials").glob("*/*/")):
        (folder / "screenshots").mkdir()
        (folder / "screenshots" / "1.png").write_bytes(_PIXEL)
        step = Step(step=1, thought="look", url="http://shop/", screenshot="screenshots/1.png")
        (folder / "trajectory.jsonl").write_text(step.model_dump_json() + "\n")
        (folder / "network.har").write_text('{"log":{"entries":[]}}')
        (folder / "finish_state.json.gz").write_bytes(gzip.compress(b"{}"))


def _any_file(run: Path, chance: random.Random) -> Path:
    return chance.choice([*(run / name for name in TOP), *(_trial(run, chance) / n for n in LEFT)])


def _trial(run: Path, chance: random.Random) -> Path:
    return chance.choice(sorted((run / "trials").glob("*/*/")))


def _instead(path: Path) -> Path:
    """Take away what is at `path`, and return it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _said(run: Path, path: Path) -> str:
    return path.relative_to(run).as_posix()


def _rewrite(
    run: Path, change: Callable[[dict[str, Any]], Any], name: str = "results.jsonl"
) -> None:
    """Change each record of a file, as a forger would: without what shows it."""
    _change_info(run, lambda _: None)
    lines = [json.loads(line) for line in (run / name).read_text().splitlines()]
    for each in lines:
        each.pop("checksum", None)
        each.pop("sequence", None)
        change(each)
    (run / name).write_text("".join(json.dumps(each) + "\n" for each in lines))


def _change_info(run: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    info = json.loads((run / "run.json").read_text())
    for each in ("checksum", "tasks_sha256"):
        info.pop(each, None)
    info["sessions"] = []
    change(info)
    (run / "run.json").write_text(json.dumps(info))


def _list(each: dict[str, Any], *names: str) -> None:
    each["artifacts"] = [{"path": name} for name in names]


def file_link(run: Path, outside: Path, chance: random.Random) -> str:
    path = _any_file(run, chance)
    target = outside / chance.choice(
        ("secret.txt", "trajectory.jsonl", "network.har", "secret.png")
    )
    where = os.path.relpath(target, path.parent) if chance.random() < 0.5 else target
    _instead(path).symlink_to(where)
    return f"{_said(run, path)} -> {where}"


def evidence_link(run: Path, outside: Path, chance: random.Random) -> str:
    folder = _trial(run, chance)
    pairs = {"log.txt": "secret.txt", "trajectory.jsonl": "trajectory.jsonl", "network.har": "network.har",
             "screenshots/1.png": "secret.png"}  # fmt: skip
    for name, target in pairs.items():
        _instead(folder / name).symlink_to(outside / target)
    _rewrite(run, lambda each: _list(each, *pairs))
    return "a trial's evidence"


def folder_link(run: Path, outside: Path, chance: random.Random) -> str:
    folder = chance.choice(
        [
            _trial(run, chance),
            _trial(run, chance).parent,
            run / "trials",
            _trial(run, chance) / "screenshots",
            run / "attempts",
            run / "rescores",
            run / "report",
        ]
    )
    _instead(folder).symlink_to(outside)
    return _said(run, folder)


def parent_link(run: Path, _: Path, chance: random.Random) -> str:
    target = chance.choice(("..", "../..", "../../..", "/", "/proc/self", "/proc/self/fd", "."))
    (_trial(run, chance) / "loop").symlink_to(target)
    (run / "trials" / "loop").symlink_to(target)
    return f"loop -> {target}"


def report_link(run: Path, outside: Path, chance: random.Random) -> str:
    where = chance.choice(("report", "report/evidence", "report/index.html", "report/csv"))
    _instead(run / where).symlink_to(outside / ("secret.txt" if "." in where else ""))
    return where


def written_link(run: Path, outside: Path, chance: random.Random) -> str:
    name = chance.choice(
        (".lock", "rescores/again", "results.jsonl.damaged-1", "rescores/again/trials")
    )
    _instead(run / name).symlink_to(outside / "secret.txt" if name[0] == "." else outside)
    return name


def pipe(run: Path, _: Path, chance: random.Random) -> str:
    path = chance.choice(
        [_any_file(run, chance), run / ".lock", run / "results.jsonl.damaged-1", run / "trials"]
    )
    os.mkfifo(_instead(path))
    return _said(run, path)


def special(run: Path, _: Path, chance: random.Random) -> str:
    path = _instead(_any_file(run, chance))
    if chance.random() < 0.5:
        place = Path.cwd()
        os.chdir(path.parent)  # the path of a socket has 108 characters at most
        try:
            with socket.socket(socket.AF_UNIX) as each:
                each.bind(path.name)
        finally:
            os.chdir(place)
        return f"{_said(run, path)} is a socket"
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except OSError:  # not as root
        path.symlink_to("/dev/zero")
    return f"{_said(run, path)} is /dev/zero"


def sparse(run: Path, _: Path, chance: random.Random) -> str:
    path = _any_file(run, chance)
    path.touch()
    os.truncate(path, HUGE)
    size = {"path": path.name, "size": HUGE, "sha256": "0" * 64}
    if path.name not in TOP and path.parent.name != "screenshots":
        _rewrite(run, lambda each: each.update(artifacts=[size]))
    return _said(run, path)


def many_lines(run: Path, _: Path, chance: random.Random) -> str:
    path = run / chance.choice(TOP[1:])
    line = chance.choice((b"x\n", b"\n", b"{}\n", b'"' + b"x" * 500 + b'"\n'))
    with path.open("ab") as file:
        file.write(line * (8 << 20 if len(line) < 5 else 40_000))
    return f"{path.name}: {line[:9]!r}"


def long_line(run: Path, _: Path, chance: random.Random) -> str:
    path = chance.choice([run / chance.choice(TOP[1:]), _trial(run, chance) / "trajectory.jsonl"])
    with path.open("ab") as file:
        file.write(b'{"' + b"x" * (70 << 20) + chance.choice((b'":1}\n', b"")))
    return _said(run, path)


def deep(run: Path, _: Path, chance: random.Random) -> str:
    path = _any_file(run, chance)
    opened = chance.choice(("[", '{"a":'))
    text = '{"details":' + opened * 200_000
    path.write_text(text) if path.suffix != ".gz" else path.write_bytes(
        gzip.compress(text.encode())
    )
    return _said(run, path)


def deep_within(run: Path, _: Path, chance: random.Random) -> str:
    depth = chance.choice((50, 180, 240, 900))
    value = '{"a":[' * depth + "1" + "]}" * depth
    name, field = chance.choice((("results.jsonl", "details"), ("tasks.jsonl", "config")))
    _rewrite(run, lambda each: each.update({field: {"deep": "@@@"}}), name)
    (run / name).write_text((run / name).read_text().replace('"@@@"', value))
    return f"{name} {depth}"


def lying(run: Path, _: Path, chance: random.Random) -> str:
    size, digest = chance.choice(((1 << 60, "0" * 64), (0, "f" * 64), (None, "0" * 64), (3, None)))
    one = {"path": "log.txt", "size": size, "sha256": digest}
    times = chance.choice((1, 20_000))
    _rewrite(run, lambda each: each.update(artifacts=[one] * times))
    return f"{size} {digest} {times} times"


def not_utf8(run: Path, _: Path, chance: random.Random) -> str:
    path = _any_file(run, chance)
    data = bytearray(path.read_bytes())
    for _each in range(chance.randrange(1, 20)):
        data[chance.randrange(len(data))] = chance.choice((0xFF, 0xC0, 0x80, 0x00, 0xED))
    path.write_bytes(bytes(data))
    return _said(run, path)


def no_numbers(run: Path, _: Path, chance: random.Random) -> str:
    number = chance.choice(
        ("NaN", "Infinity", "-Infinity", "1e400", "-0.0", "1" * 5000, "1e-400", "-1")
    )
    field = chance.choice(
        ("score", "steps", "cost_usd", "trial", "confidence", "usage", "timings_s")
    )
    value = {"usage": f'{{"input_tokens":{number}}}', "timings_s": f'{{"total":{number}}}'}
    mark = "@@@"
    _rewrite(run, lambda each: each.update({field: mark}))
    path = run / "results.jsonl"
    path.write_text(path.read_text().replace(f'"{mark}"', value.get(field, number)))
    return f"{field} {number[:20]}"


def large_numbers(run: Path, _: Path, chance: random.Random) -> str:
    number = chance.choice((1e308, 10**18, 10**300, 2**63, 5e-324))
    usage = {"input_tokens": int(number), "output_tokens": int(number)}
    timings = {"total": number, "agent": number}
    _rewrite(
        run,
        lambda each: each.update(
            usage=usage, timings_s=timings, cost_usd=number, steps=int(number)
        ),
    )
    return f"{number:.3g}"


def many_trials(run: Path, _: Path, chance: random.Random) -> str:
    trials = chance.choice((10**6, 10**9, 10**18, 10**40))
    _change_info(run, lambda info: info.update(trials=trials))
    return f"{trials:.1e}"


def doubled_keys(run: Path, _: Path, chance: random.Random) -> str:
    path = run / chance.choice(("run.json", "tasks.jsonl", "results.jsonl"))
    text = path.read_text()
    path.write_text(
        text.replace('"benchmark":', '"benchmark": "evil", "benchmark":', chance.choice((1, 99)))
    )
    return path.name


def out_of_folder(run: Path, outside: Path, chance: random.Random) -> str:
    up = "../" * 3 + "outside/"
    names = (up + "secret.txt", str(outside / "secret.txt"), "C:\\secret.txt", "a/../../b", "log.txt\0",
             "..\\..\\secret.txt", "", ".", "..", "screenshots/../../../../outside/secret.txt", "n" * 4096)  # fmt: skip
    name = chance.choice(names)
    _rewrite(run, lambda each: _list(each, name))
    return repr(name[:60])


def picture_outside(run: Path, outside: Path, chance: random.Random) -> str:
    name = chance.choice(("../../../../outside/secret.png", str(outside / "secret.png"), "file:///etc/passwd",
                          "javascript:window.__ran=1.png", 'x" onerror="window.__ran=1".png'))  # fmt: skip
    step = {"step": 1, "screenshot": name, "schema_version": 1}
    for folder in (run / "trials").glob("*/*/"):
        (folder / "trajectory.jsonl").write_text(json.dumps(step) + "\n")
    return name


def _texts(text: str, name: str) -> Callable[[Path, Path, random.Random], str]:
    """Return what puts `text` into every text that a run has."""

    def spoil(run: Path, _: Path, chance: random.Random) -> str:
        own = text + str(chance.random())
        group = {own: [own, own + "2"]}
        ids = {}

        def task(each: dict[str, Any]) -> None:
            ids[each["task_id"]] = each["task_id"] + own
            each.update(goal=own, groups=group, template=own, task_id=ids[each["task_id"]])

        def result(each: dict[str, Any]) -> None:
            check = {
                "criterion": own,
                "passed": False,
                "reason": own,
                "expected": own,
                "actual": {own: own},
            }
            each.update(
                task_id=ids.get(each["task_id"], own), agent=own, model=own, method=own, flags=[own]
            )
            each.update(checks=[check], details={own: own}, model_reported=own)
            each["error"] = (
                {"kind": own, "message": own, "phase": own} if each.get("error") else None
            )
            finding = {"code": "local_page", "outcome": "succeeded", "detail": own[:300]}
            each["integrity"] = {"state": "flagged", "findings": [finding]}

        _rewrite(run, task, "tasks.jsonl")
        _rewrite(run, result)
        _change_info(
            run, lambda info: info.update(agent=own, model=own, run_id=own, config={own: own})
        )
        step = {"step": 1, "thought": own, "url": own, "title": own, "actions": [{own: own}], "results": [own],
                "error": own}  # fmt: skip
        for folder in (run / "trials").glob("*/*/"):
            (folder / "trajectory.jsonl").write_text(json.dumps(step) + "\n")
        return name

    return spoil


def long_names(run: Path, _: Path, chance: random.Random) -> str:
    name = chance.choice(("n" * 4096, "/" * 4096, "\u0301" * 4096, "%" * 4096, "=cmd()" * 700))
    return _texts(name, f"{name[:3]} ...")(run, _, chance)


def packed(run: Path, _: Path, chance: random.Random) -> str:
    name = chance.choice(("network.har.gz", "finish_state.json.gz"))
    member = gzip.compress(b" " * (32 << 20), 1)
    for folder in (run / "trials").glob("*/*/"):
        (folder / "network.har").unlink(missing_ok=True)
        (folder / name).write_bytes(member * 200)
    _rewrite(run, lambda each: _list(each, name))
    return name


def odd_har(run: Path, _: Path, chance: random.Random) -> str:
    odd = chance.choice(
        (None, [], {}, 1e308, SCRIPT, [[]] * 9, "http://[", "http://x:99999999/", -1, 10**30)
    )
    entry = {
        "request": {"method": odd, "url": odd},
        "response": {"status": odd, "bodySize": odd, "content": odd},
    }
    har = {"log": {"entries": [entry, odd, {"request": odd}, {"response": odd}]}}
    for folder in (run / "trials").glob("*/*/"):
        (folder / "network.har").write_text(json.dumps(har))
    return repr(odd)[:40]


def many_files(run: Path, _: Path, chance: random.Random) -> str:
    folder = _trial(run, chance)
    if chance.random() < 0.5:
        for number in range(3000):
            (folder / f"{number}.png").touch()
        return "3,000 files"
    place = Path.cwd()
    os.chdir(folder)
    try:
        for _each in range(600):
            Path("deep").mkdir()
            os.chdir("deep")
    finally:
        os.chdir(place)
    return "600 folders deep"


def wrong_kinds(run: Path, _: Path, chance: random.Random) -> str:
    if chance.random() < 0.5:
        path = chance.choice([run / "trials", _trial(run, chance), _trial(run, chance).parent])
        _instead(path).write_text("a file")
    else:
        path = _any_file(run, chance)
        _instead(path).mkdir()
    return _said(run, path)


def versions(run: Path, _: Path, chance: random.Random) -> str:
    version = chance.choice((99, 0, -1, "x", None, 1.5, [1], 10**30))
    name = chance.choice(TOP[:3])
    change = lambda each: each.update(schema_version=version)  # noqa: E731  # one use
    _change_info(run, change) if name == "run.json" else _rewrite(run, change, name)
    return f"{name} {version!r}"


def odd_files(run: Path, _: Path, chance: random.Random) -> str:
    folder = _trial(run, chance)
    for name in ("\x1b[2J", "a\nb", "<script>window.__ran=1<", "x" * 255, "-rf", "$(id)"):
        (folder / name).write_text(SCRIPT)
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff\xfe.png")).write_bytes(_PIXEL)
    (folder / "screenshots" / "1.png").write_text(f"<svg onload=window.__ran=1>{SCRIPT}</svg>")
    (folder / "page.html").write_text(SCRIPT)
    return "names and contents"


def events(run: Path, _: Path, chance: random.Random) -> str:
    odd = chance.choice(("9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "x", None, 1e300))
    _rewrite(run, lambda each: each.update(time=odd, data={SCRIPT: [odd]}), "events.jsonl")
    return str(odd)


RAN = "ran-code-of-a-stranger"
"""A file of this name in `outside` shows that something in a folder was run."""


def _acts(outside: Path) -> tuple[str, ...]:
    """Return texts that do something where a reader runs, imports, unpacks, expands, opens or asks for them."""
    ran = outside / RAN
    touch = f"touch {ran}"
    write = f"open({str(ran)!r}, 'w').close()"
    (outside / "stranger.py").write_text(write)
    asked = os.environ.get("STRANGER_URL", "http://127.0.0.1:9")
    return (
        write, f"__import__('os').system({touch!r})", f"import os; os.system({touch!r})", f"${{({touch})}}$({touch})",
        f"`{touch}`", f"x; {touch} #", f"| {touch}", "stranger:Agent", "stranger", f"{outside}/stranger.py:Agent",
        f"cos\nsystem\n(S{touch!r}\ntR.", f"!!python/object/apply:os.system [{touch!r}]",
        f"{{{{ cycler.__init__.__globals__.os.system({touch!r}) }}}}", f"%{{{touch}}}", f"ext::sh -c {touch}",
        f"{asked}/x", f"s3://127.0.0.1/{asked}", "s3://stranger/run", "gs://stranger/run", f"{asked}/x.har",
        f"ftp://{asked[7:]}/x", f"file://{outside}/secret.txt", f"{outside}/secret.txt", "//127.0.0.1/share/x",
        "git+" + asked, f"@{outside}/secret.txt", f"--config={outside}/secret.txt", "-o", SCRIPT, LINK, ESCAPES.rstrip("\ud800"),
    )  # fmt: skip


def acts_everywhere(run: Path, outside: Path, chance: random.Random) -> str:
    """Put such texts into a few, many or all fields of a real run, and seal it again as a forger would."""
    benchmark = json.loads((run / "run.json").read_text())["benchmark"]
    stored = chance.choice(sorted((Path(__file__).parent / "stored_runs" / benchmark).iterdir()))
    shutil.rmtree(run)
    shutil.copytree(stored, run)
    share = chance.choice((0.01, 0.03, 0.1, 1.0))
    texts = _acts(outside)

    def spoil(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            more = {}
            if key in {"details", "config"}:
                name = chance.choice(("eval_scripts", "prepare", "script", "url", "$ref"))
                more[name] = chance.choice((chance.choice(texts), {"check.py": texts[0]}))
            return {name: spoil(each, name) for name, each in value.items()} | more
        if isinstance(value, list):
            return [spoil(each, key) for each in value]
        spoiled = isinstance(value, str) and chance.random() < share and key not in _CLOSED
        return chance.choice(texts) if spoiled else value

    for path in sorted(each for each in run.rglob("*") if each.is_file()):
        packed = path.suffix == ".gz"
        data = gzip.decompress(path.read_bytes()) if packed else path.read_bytes()
        try:
            lines = (
                [json.loads(data)]
                if path.suffix != ".jsonl"
                else [*map(json.loads, data.splitlines())]
            )
        except ValueError:
            continue
        text = "".join(json.dumps(spoil(each)) + "\n" for each in lines).encode()
        path.write_bytes(gzip.compress(text) if packed else text)
    away = chance.random() < 0.3
    if away:
        where = {"url": chance.choice(texts), "manifest_sha256": "0" * 64}
        _rewrite(run, lambda each: each.update(stored=where))
    _rewrite(run, lambda _: None)
    with contextlib.suppress(InputError, LookupError, ValueError):
        reseal(run)
    return f"{share:.0%} of {stored.name}{', stored elsewhere' if away else ''}"


_CLOSED = {
    *("kind", "phase", "state", "outcome", "time", "at", "started", "finished", "event", "code", "benchmark", "status"),
    *("sha256", "world", "profile", "timing", "source", "agent", "browser", "way", "path", "process", "task_id"),
}  # fmt: skip
"""Fields whose value a record checks, so that the rest of it would not be read with another one."""


def archive(run: Path, _: Path, chance: random.Random) -> str:
    """Leave a log of Inspect whose samples unpack to gigabytes beside the run."""
    path = run.parent / "bomb.eval"
    method = chance.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    # the other methods are refused before they unpack anything, and slow to pack by
    pieces = 17 if method == zipfile.ZIP_DEFLATED else 1
    level = 1 if method == zipfile.ZIP_DEFLATED else None
    with zipfile.ZipFile(path, "w", method, compresslevel=level) as made:
        made.writestr("header.json", '{"version":2,"eval":{}}')
        for number in range(2):
            with made.open(f"samples/{number}.json", "w", force_zip64=True) as member:
                for _each in range(pieces):
                    member.write(b" " * (32 << 20))
    return f"method {method}"


KINDS: dict[str, Callable[[Path, Path, random.Random], str]] = {
    each.__name__: each
    for each in (
        file_link, evidence_link, folder_link, parent_link, report_link, written_link, pipe, special, sparse,
        many_lines, long_line, deep, deep_within, lying, not_utf8, no_numbers, large_numbers, many_trials,
        doubled_keys, out_of_folder, picture_outside, long_names, packed, odd_har, many_files, wrong_kinds,
        versions, odd_files, events, archive, acts_everywhere,
    )
} | {
    "html": _texts(SCRIPT, "script"),
    "links": _texts(LINK, "javascript: links"),
    "escapes": _texts(ESCAPES, "control characters"),
    "formulas": _texts('=HYPERLINK("http://evil")', "formulas of spreadsheets"),
}  # fmt: skip
