"""Whether runs survive the places they are started in: full disks, limits, odd folders, languages, signals.

Each cell is a run of one world's scripted agent in one place. It must end as in an undisturbed place, or with one
sentence and its exit code; no score may differ from the undisturbed one; no process and no temporary file may be
left; and once the place is whole, the same command must go on to the undisturbed result. Where the run ends well,
rescoring and a report in the same place must, too. Disks are small tmpfs, mounted in a namespace of the campaign's
own, which needs root or user namespaces; what cannot be made here is skipped with its reason.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import errno
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bench_core import exit_codes
from bench_core.files import remove_folder
from bench_core.run_folder import check_run, read_run
from waa_client.world.launch import built_in_world

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

WORLDS = {
    "waa": ("waa-client", "chrome/2ae9ba84-3a0d-4d4c-8338-3a1478dc5fe3-wos"),
    "multireal": ("multireal-harness", "multi.dining-travel-1"),
    "webarena": ("webarena-runner", "0"),
}
"""Command and task of each."""
BIN = Path(sys.executable).parent
MARK = "PROCTOR_CAMPAIGN_PLACE"
"""A variable that all processes of a cell have."""
INSIDE = "PROCTOR_CAMPAIGN_INSIDE"
EVALUATOR = "PROCTOR_CAMPAIGN_EVALUATOR"
"""A variable with the URL of what rescores a run of WAA's world, outside of the place."""
LONGEST_S = 400.0
ENDS = {exit_codes.FELL_SHORT, exit_codes.USAGE, exit_codes.ABORTED, exit_codes.INTERRUPTED}
MB = 1 << 20
SHARED = [
    each
    for each in ("/dev/shm", "/var/tmp", "/tmp")  # noqa: S108  # looked at
    if not any(Path(ours).is_relative_to(each) for ours in (__file__, sys.prefix, sys.base_prefix))
]
"""Folders that a cell has for itself: all but those in which its programs are."""
SHIM = Path(__file__).with_name("failing_disk.c")


class SkipError(Exception):
    """This machine cannot make the place."""


@dataclass
class Place:
    """Where and how a command is started.

    Attributes:
        here: A folder of the cell's own.
        out: The run folder.
        temporary: The folder of temporary files.
        variables: Of the environment, None for those that are taken out.
        before: A command that starts the command that follows it.
        cwd: The working directory.
        during: What happens once the first attempt has begun.
        ends: Exit codes other than 0 that are right here.
        reached: Whether the run folder can be used once the place is whole.
        told: Whether standard error can be read.
    """

    here: Path
    out: Path
    temporary: Path
    variables: dict[str, str | None] = field(default_factory=dict)
    before: tuple[str, ...] = ()
    cwd: Path | None = None
    during: Callable[[subprocess.Popen[bytes], Place], None] | None = None
    ends: frozenset[int] = frozenset(ENDS)
    reached: bool = True
    told: bool = True

    def limited(self, **limits: int) -> None:
        """Set limits of resources, by the names that `prlimit` has for them."""
        self.before += ("prlimit", *(f"--{name}={value}" for name, value in limits.items()), "--")

    def through(self, script: str) -> None:
        """Start the command, which is `"$@"`, by a shell."""
        self.before += ("sh", "-c", script, "sh")

    def as_a_user(self) -> None:
        """Take from root the right to read and write what permissions forbid."""
        if os.geteuid() == 0:
            these = "-dac_override,-dac_read_search"
            self.before += ("setpriv", f"--bounding-set={these}", f"--inh-caps={these}")


Maker = "Callable[[Place], Iterator[None] | None]"
PLACES: dict[str, Callable[[Place], Iterator[None] | None]] = {}


def named(name: str) -> Callable[[Maker], Maker]:  # type: ignore[valid-type]  # one line
    """Enter what makes a place under its name."""

    def enter(make: Maker) -> Maker:  # type: ignore[valid-type]  # as above
        PLACES[name] = make  # type: ignore[assignment]  # as above
        return make

    return enter


@contextlib.contextmanager
def mounted(at: Path, options: str, kind: str = "tmpfs", source: str = "tmpfs") -> Iterator[None]:
    """Have a file system at a folder meanwhile."""
    at.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["mount", "-t", kind, "-o", options, source, at], capture_output=True, text=True, check=False
    )  # fmt: skip
    if done.returncode:
        raise SkipError(
            f"cannot mount {kind} with {options}: {done.stderr.strip().splitlines()[0]}"
        )
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", at], check=False)


def remount(at: Path, options: str) -> None:
    """Change how a folder is mounted."""
    subprocess.run(["mount", "-o", f"remount,{options}", at], check=True)


def fill(folder: Path) -> None:
    """Leave no byte free on the disk of a folder."""
    with contextlib.suppress(OSError), (folder / ".filling").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(MB))
    with contextlib.suppress(OSError), (folder / ".filling").open("ab", buffering=0) as file:
        while True:
            file.write(b"x")


def empty(folder: Path) -> None:
    """Take away again what filled the disk."""
    (folder / ".filling").unlink(missing_ok=True)


@named("undisturbed")
def _(place: Place) -> None:
    del place


# disks


def disk(options: str, *, temporary: bool = False, whole: str = "") -> Maker:  # type: ignore[valid-type]  # as above
    """Have the run's folder, or that of temporary files, on a disk of its own."""

    def make(place: Place) -> Iterator[None]:
        at = place.temporary if temporary else place.here / "disk"
        with mounted(at, options):
            if not temporary:
                place.out = at / "run"
            yield
            if whole:
                remount(at, whole)
            yield

    return make


PLACES["disk of 1 MB"] = disk("size=1m", whole="size=2g")
PLACES["disk of 210 MB"] = disk("size=210m")
PLACES["disk without inodes"] = disk("nr_inodes=2", whole="nr_inodes=0")
PLACES["disk of 40 inodes"] = disk("nr_inodes=40", whole="nr_inodes=0")
PLACES["read-only disk"] = disk("ro", whole="rw")
PLACES["noexec disk"] = disk("noexec,nosuid,nodev")
PLACES["TMPDIR of 64 KB"] = disk("size=64k", temporary=True, whole="size=2g")
PLACES["TMPDIR of 2 MB"] = disk("size=2m", temporary=True, whole="size=2g")
PLACES["TMPDIR of 20 inodes"] = disk("nr_inodes=20", temporary=True, whole="nr_inodes=0")
PLACES["TMPDIR read-only"] = disk("ro", temporary=True, whole="rw")
PLACES["TMPDIR noexec"] = disk("noexec,nosuid,nodev", temporary=True)


@named("disk full once it runs")
def _(place: Place) -> Iterator[None]:
    with mounted(place.here / "disk", "size=300m"):
        place.out = place.here / "disk" / "run"
        place.during = lambda _, place: fill(place.out.parent)
        yield
        empty(place.out.parent)
        yield


@named("disk read-only once it runs")
def _(place: Place) -> Iterator[None]:
    with mounted(place.here / "disk", "size=300m"):
        place.out = place.here / "disk" / "run"

        def read_only(_: object, place: Place) -> None:
            held = place.here / "disk"
            done = subprocess.run(
                ["mount", "-o", "remount,ro", held], capture_output=True, check=False
            )
            if done.returncode:  # files are open for writing: what is left is a bind mount's flag
                subprocess.run(["mount", "--bind", held, held], check=True)
                subprocess.run(["mount", "-o", "remount,ro,bind", held], check=True)

        place.during = read_only
        yield
        subprocess.run(["umount", "--lazy", place.here / "disk"], check=False)
        with contextlib.suppress(subprocess.CalledProcessError):
            remount(place.here / "disk", "rw")
        yield


@named("TMPDIR full once it runs")
def _(place: Place) -> Iterator[None]:
    with mounted(place.temporary, "size=300m"):
        place.during = lambda _, place: fill(place.temporary)
        yield
        empty(place.temporary)
        yield


@named("quota")
def _(place: Place) -> Iterator[None]:
    if shutil.which("cc") is None:
        raise SkipError("no C compiler for the library that fails as a quota does")
    library = place.here / "failing_disk.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, SHIM, "-ldl"], check=True)
    failing = {"FAULT_BELOW": f"{place.out}/", "FAULT_AT": "40", "FAULT_LASTING": "1"}
    place.variables |= {
        **failing, "FAULT_ERRNO": str(errno.EDQUOT), "LD_PRELOAD": str(library),
    }  # fmt: skip
    yield
    place.variables.clear()
    yield


@named("/dev/shm of 64 KB")  # noqa: S108  # what is tried
def _(place: Place) -> Iterator[None]:
    del place
    with mounted(Path("/dev/shm"), "size=64k"):  # noqa: S108  # what is tried
        yield
        yield


@named("/dev/shm and /var/tmp read-only")  # noqa: S108  # what is tried
def _(place: Place) -> Iterator[None]:
    del place
    with mounted(Path("/dev/shm"), "ro"), mounted(Path("/var/tmp"), "ro"):  # noqa: S108  # what is tried
        yield
        yield


@named("disk that ignores case")
def _(place: Place) -> Iterator[None]:
    if shutil.which("mkfs.vfat") is None:
        raise SkipError("no mkfs.vfat")
    image = place.here / "image"
    with image.open("wb") as file:
        file.truncate(300 * MB)
    subprocess.run(["mkfs.vfat", image], check=True, stdout=subprocess.DEVNULL)
    with mounted(place.here / "disk", "loop", "vfat", str(image)):
        place.out = place.here / "disk" / "run"
        yield
        yield


# limits


def limit(*, lifted: bool = True, **limits: int) -> Maker:  # type: ignore[valid-type]  # as above
    """Have limits of resources."""

    def make(place: Place) -> Iterator[None]:
        place.limited(**limits)
        yield
        if lifted:
            place.before = ()
        yield

    return make


PLACES["24 open files"] = limit(nofile=24)
PLACES["64 open files"] = limit(nofile=64)
PLACES["256 open files"] = limit(nofile=256)
PLACES["address space of 400 MB"] = limit(**{"as": 400 * MB})
PLACES["address space of 4 GB"] = limit(**{"as": 4096 * MB})
PLACES["data of 200 MB"] = limit(data=200 * MB)
PLACES["files of 2 KB"] = limit(fsize=2_000)
PLACES["files of 60 KB"] = limit(fsize=60_000)
PLACES["stack of 1 MB"] = limit(stack=1 << 20)


@named("40 processes")
def _(place: Place) -> Iterator[None]:
    if os.geteuid():
        raise SkipError("counts all of the user's processes; root takes another user")
    for each in (place.here, place.temporary, place.here / "home"):
        os.chown(each, 54_321, 54_321)
    # a user of its own, as root has no such limit; but who reads what root has installed
    reads = ("--inh-caps=+dac_override", "--ambient-caps=+dac_override")
    place.before = ("setpriv", "--reuid=54321", "--regid=54321", "--clear-groups", *reads)
    place.limited(nproc=40)
    yield
    place.before = place.before[:6]
    yield


# folders


def folder(path: str | bytes, *, reached: bool = True) -> Maker:  # type: ignore[valid-type]  # as above
    """Have the run's folder under another name."""

    def make(place: Place) -> None:
        place.out = place.here / os.fsdecode(path)
        place.reached = reached

    return make


PLACES["folder not UTF-8"] = folder(b"r\xff", reached=False)
PLACES["folder of other letters"] = folder("Größe und ärger 中文 'x' $y")
PLACES["folder with a line feed"] = folder("a\nb")
PLACES["folder of a long path"] = folder("/".join(["d" * 200] * 12))
PLACES["folder of too long a name"] = folder("d" * 300, reached=False)
PLACES["folder of too long a path"] = folder("/".join(["d" * 200] * 21), reached=False)


@named("folder below a file")
def _(place: Place) -> None:
    (place.here / "file").write_text("")
    place.out, place.reached = place.here / "file" / "run", False


@named("folder is a link")
def _(place: Place) -> None:
    (place.here / "elsewhere").mkdir()
    (place.here / "link").symlink_to(place.here / "elsewhere")
    place.out = place.here / "link"


@named("folder is a link to nowhere")
def _(place: Place) -> None:
    (place.here / "link").symlink_to(place.here / "missing")
    place.out, place.reached = place.here / "link", False


@named("folder is a link to itself")
def _(place: Place) -> None:
    (place.here / "link").symlink_to(place.here / "link")
    place.out, place.reached = place.here / "link", False


@named("folder not writable")
def _(place: Place) -> Iterator[None]:
    (place.here / "locked").mkdir()
    (place.here / "locked").chmod(0o500)
    place.out = place.here / "locked" / "run"
    place.as_a_user()
    yield
    (place.here / "locked").chmod(0o700)
    yield


@named("folder not readable")
def _(place: Place) -> Iterator[None]:
    (place.here / "locked").mkdir()
    (place.here / "locked").chmod(0)
    place.out = place.here / "locked" / "run"
    place.as_a_user()
    yield
    (place.here / "locked").chmod(0o700)
    yield


@named("folder removed once it runs")
def _(place: Place) -> None:
    place.during = lambda _, place: remove_folder(place.out)


@named("folder not writable once it runs")
def _(place: Place) -> Iterator[None]:
    place.as_a_user()
    place.during = lambda _, place: place.out.chmod(0o500)
    yield
    place.out.chmod(0o700)
    yield


@named("working directory removed")
def _(place: Place) -> Iterator[None]:
    place.through(
        f'cd {shlex.quote(str(place.here))}; mkdir gone; cd gone; rmdir ../gone; exec "$@"'
    )
    yield
    place.before = ()
    yield


@named("working directory not readable")
def _(place: Place) -> Iterator[None]:
    (place.here / "locked").mkdir()
    place.through(f'cd {shlex.quote(str(place.here / "locked"))}; chmod 0 .; exec "$@"')
    place.as_a_user()
    yield
    (place.here / "locked").chmod(0o700)
    yield


@named("TMPDIR missing")
def _(place: Place) -> Iterator[None]:
    place.temporary.rmdir()
    yield
    place.temporary.mkdir()
    yield


@named("TMPDIR removed once it runs")
def _(place: Place) -> Iterator[None]:
    place.during = lambda _, place: remove_folder(place.temporary)
    yield
    place.temporary.mkdir(exist_ok=True)
    yield


@named("TMPDIR of a long path")
def _(place: Place) -> None:
    place.temporary = place.here / "/".join(["t" * 200] * 8)
    place.temporary.mkdir(parents=True)


@named("TMPDIR not UTF-8")
def _(place: Place) -> Iterator[None]:
    before = place.temporary
    place.temporary = place.here / os.fsdecode(b"t\xff")
    place.temporary.mkdir()
    yield
    place.temporary = before
    yield


@named("TMPDIR not writable")
def _(place: Place) -> Iterator[None]:
    place.temporary.chmod(0o500)
    place.as_a_user()
    yield
    place.temporary.chmod(0o700)
    yield


@named("TMPDIR relative")
def _(place: Place) -> None:
    place.cwd = place.here
    place.variables["TMPDIR"] = place.temporary.name


# languages, the environment, streams


def variables(*, reached: bool = True, **values: str | None) -> Maker:  # type: ignore[valid-type]  # as above
    """Have variables in the environment, or not."""

    def make(place: Place) -> Iterator[None]:
        place.variables.update(values)
        place.reached = reached
        yield
        place.variables.clear()
        yield

    return make


PLACES["LC_ALL=C"] = variables(LC_ALL="C", LANG=None, PYTHONUTF8=None)
PLACES["LC_ALL=POSIX without UTF-8"] = variables(
    reached=False, LC_ALL="POSIX", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0"
)
PLACES["latin1"] = variables(LC_ALL="C.UTF-8", PYTHONIOENCODING="latin-1", PYTHONUTF8="0")
PLACES["unknown language"] = variables(LC_ALL="xx_YY.UTF-8", PYTHONUTF8=None)
PLACES["no HOME"] = variables(HOME=None, XDG_CACHE_HOME=None, XDG_CONFIG_HOME=None)
PLACES["HOME missing"] = variables(HOME="/nonexistent/home")
PLACES["HOME is a file"] = variables(HOME="/etc/hostname", XDG_CACHE_HOME="/etc/hostname/x")
PLACES["no variables"] = variables(
    **dict.fromkeys(("HOME", "PATH", "LANG", "LC_ALL", "TERM", "USER", "SHELL", "LOGNAME"))
)
PLACES["XDG_RUNTIME_DIR missing"] = variables(XDG_RUNTIME_DIR="/nonexistent/run")


@named("HOME read-only")
def _(place: Place) -> Iterator[None]:
    (place.here / "home").chmod(0o500)
    place.as_a_user()
    yield
    (place.here / "home").chmod(0o700)
    yield


def script(text: str, *, told: bool = True) -> Maker:  # type: ignore[valid-type]  # as above
    """Start the command by a shell that changes something before."""

    def make(place: Place) -> Iterator[None]:
        place.told = told
        place.through(text)
        yield
        place.told, place.before = True, ()
        yield

    return make


PLACES["umask 077"] = script('umask 077; exec "$@"')
PLACES["stdin closed"] = script('exec "$@" <&-')
PLACES["stdout closed"] = script('exec "$@" >&-')
PLACES["stderr closed"] = script('exec "$@" 2>&-', told=False)
PLACES["all streams closed"] = script('exec "$@" <&- >&- 2>&-', told=False)
PLACES["full disk behind stdout"] = script('exec "$@" >/dev/full')
PLACES["full disk behind stderr"] = script('exec "$@" 2>/dev/full', told=False)
PLACES["reader of stdout gone"] = script('"$@" | head -c 1 >/dev/null')
PLACES["hang-ups ignored"] = script('trap "" HUP; exec "$@"')
PLACES["pipe signals fatal"] = script('trap - PIPE; exec "$@"')


# signals


def signals(*numbers: signal.Signals, apart_s: float = 0.05, code: int = 130) -> Maker:  # type: ignore[valid-type]  # as above
    """Have signals sent to the run's group, as a terminal does."""

    def make(place: Place) -> None:
        def send(process: subprocess.Popen[bytes], _: Place) -> None:
            for number in numbers:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, number)
                time.sleep(apart_s)

        place.during = send
        place.ends = frozenset({code})

    return make


INT, TERM, HUP = signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)
PLACES["SIGHUP"] = signals(HUP)
PLACES["SIGTERM"] = signals(TERM)
PLACES["SIGTERM twice"] = signals(TERM, TERM)
PLACES["Ctrl-C"] = signals(INT)
PLACES["Ctrl-C twice"] = signals(INT, INT)
PLACES["Ctrl-C 3 times"] = signals(INT, INT, INT)
PLACES["Ctrl-C 4 times"] = signals(INT, INT, INT, INT)
PLACES["SIGHUP and SIGTERM"] = signals(HUP, TERM, apart_s=0)
PLACES["SIGQUIT"] = signals(signal.SIGQUIT)
PLACES["Ctrl-Z and on"] = signals(signal.SIGTSTP, signal.SIGCONT, apart_s=2)
PLACES["SIGUSR1 to the children"] = signals(signal.SIGWINCH, signal.SIGURG)

CHEAPEST = [
    "disk of 1 MB",
    "read-only disk",
    "disk without inodes",
    "24 open files",
    "folder below a file",
    "folder not UTF-8",
    "folder of too long a path",
    "folder is a link to nowhere",
    "folder not writable",
    "TMPDIR not UTF-8",
    "LC_ALL=POSIX without UTF-8",
    "working directory not readable",
    "working directory removed",
]
"""Places that a test tries, in one world: most end a run before anything is started."""


def run_cell(
    world: str, name: str, expected: Mapping[str, float | None], *, briefly: bool
) -> tuple[str, list[str]]:
    """Return how the run ended, and what is not as it should be."""
    here = Path(tempfile.mkdtemp(prefix="pl-"))
    place = Place(here, here / "run", here / "t")
    for each in (place.temporary, here / "home"):
        each.mkdir()
    made = PLACES[name](place)
    try:
        next(made or iter((None,)))
        before = set() if INSIDE in os.environ else names_in(SHARED)
        code, said = start(world, place, "run", *asked(world, place.out), during=place.during)
        found = list(ending(code, said, place))
        found += scores(place, expected, whole=code == exit_codes.OK)
        if code == exit_codes.OK and not briefly:
            found += read_on(world, place)
        found += left(place, before)
        next(made or iter((None,)), None)
        if code != exit_codes.OK and place.reached and not briefly:
            found += gone_on(world, place, expected)
    finally:
        if made is not None:
            made.close()
        end_processes(str(here))
        remove_folder(here)
    return f"{code}: {last_sentence(said)}", found


def read_on(world: str, place: Place) -> Iterator[str]:
    """Yield what is wrong with rescoring the run, and with its report."""
    at = ["--evaluate", os.environ[EVALUATOR]] if world == "waa" else []
    for name, code, said in (
        ("rescore", *start(world, place, "rescore", place.out, *at)),
        ("report", *start("report", place, "build", place.out, "--out", place.here / "page")),
    ):
        yield from (f"{name}: {each}" for each in ending(code, said, place))
        if code != exit_codes.OK:
            yield f"{name} ended with {code}: {last_sentence(said)}"


def gone_on(world: str, place: Place, expected: Mapping[str, float | None]) -> Iterator[str]:
    """Yield what is wrong with the same command once the place is whole."""
    code, said = start(world, place, "run", *asked(world, place.out))
    if code != exit_codes.OK:
        yield f"cannot go on, {code}: {last_sentence(said)}"
        return
    yield from (f"gone on: {each}" for each in scores(place, expected, whole=True))


def names_in(folders: Iterable[str]) -> set[str]:
    """Return the paths of what is in some folders."""
    return {str(each) for folder in folders for each in Path(folder).iterdir()}


def asked(world: str, out: Path) -> list[str]:
    """Return the options of a run."""
    words = ["--world", "built-in", "--agent", "scripted", "--task", WORLDS[world][1]]
    return [*words, "--attempts", "2", "--out", str(out)]


def start(
    world: str,
    place: Place,
    *words: str | Path,
    during: Callable[[subprocess.Popen[bytes], Place], None] | None = None,
) -> tuple[int, str]:
    """Run a command to its end; return its exit code and what it said."""
    program = "bench-report" if world == "report" else WORLDS[world][0]
    line = [*place.before, str(BIN / program), *map(str, words)]
    variables = {
        **{n: value for n, value in os.environ.items() if n not in {INSIDE, EVALUATOR}},
        "TMPDIR": str(place.temporary), "HOME": str(place.here / "home"), MARK: str(place.here),
    }  # fmt: skip
    for key, value in place.variables.items():
        variables.pop(key, None)
        if value is not None:
            variables[key] = value
    said = place.here / "said"
    with said.open("ab") as output:
        began = output.tell()
        process = subprocess.Popen(
            line, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=variables,
            cwd=place.cwd or place.here, start_new_session=True,
        )  # fmt: skip
        if during is not None and begun(process, place.out):
            during(process, place)
        try:
            code = process.wait(LONGEST_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
            output.write(b"\nError: it hung\n")
    return code, said.read_bytes()[began:].decode("utf-8", "replace")


def begun(process: subprocess.Popen[bytes], out: Path) -> bool:
    """Wait until the run's first attempt has begun."""
    end = time.monotonic() + LONGEST_S
    while process.poll() is None and time.monotonic() < end:
        with contextlib.suppress(OSError):
            if b"attempt_started" in (out / "events.jsonl").read_bytes():
                time.sleep(0.5)
                return True
        time.sleep(0.05)
    return False


def last_sentence(said: str) -> str:
    """Return the error that a command told, or its last line."""
    lines = [each for each in said.splitlines() if each.strip()]
    return next((each for each in reversed(lines) if "Error: " in each), (lines or [""])[-1])[:300]


def ending(code: int, said: str, place: Place) -> Iterator[str]:
    """Yield what is wrong with how a command ended."""
    if "it hung" in said:
        yield f"hung: {said[-1500:]}"
    if code != exit_codes.OK and code not in place.ends:
        yield f"exit code {code}: {said[-1500:]}"
    if "Traceback" in said or "Exception ignored" in said or "never awaited" in said:
        yield f"a traceback: {said[-3000:]}"
    if code == exit_codes.USAGE and place.told:
        errors = [each for each in said.splitlines() if each.startswith("Error: ")]
        if len(errors) != 1:
            yield f"{len(errors)} sentences: {said[-1500:]}"


def scores(place: Place, expected: Mapping[str, float | None], *, whole: bool) -> Iterator[str]:
    """Yield what differs from the undisturbed result."""
    try:
        view = read_run(place.out)
    except Exception as error:  # noqa: BLE001  # any is told
        if whole:
            yield f"cannot be read: {error!r}"
        return
    stored = {key.task_id: result for key, result in view.results.items()}
    for task, result in stored.items():
        if result.score is not None and result.score != expected[task]:
            yield f"{task} scored {result.score}, not {expected[task]}: {result.error}"
        if result.error and ("Traceback" in result.error or "fault of ours" in result.error):
            yield f"{task}: {result.error[:600]}"
        if result.score is None and result.status.value in {"agent_error", "completed"}:
            yield f"{task} is blamed on its agent: {result.error}"
    if whole:
        if {task: each.score for task, each in stored.items()} != dict(expected):
            yield "not as undisturbed"
        yield from (f"check: {each}" for each in check_run(place.out).problems)


def of_cell(mark: str) -> list[int]:
    """Return the processes that have the mark of a cell, but for this one."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{MARK}={mark}\0".encode() in (path / "environ").read_bytes():
                found.append(int(path.name))
    return [each for each in found if each != os.getpid()]


def end_processes(mark: str) -> None:
    """End what is left of a cell."""
    for pid in of_cell(mark):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def left(place: Place, before: set[str]) -> Iterator[str]:
    """Yield what a cell left."""
    end = time.monotonic() + 20
    while (pids := of_cell(str(place.here))) and time.monotonic() < end:
        time.sleep(0.1)
    for pid in pids:
        with contextlib.suppress(OSError):
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
            yield f"process {pid} is left: {line[:300]}"
    if place.temporary.is_dir():
        yield from (f"{each.name} is left in TMPDIR" for each in place.temporary.iterdir()
                    if "locks" not in each.name and each.name != ".filling")  # fmt: skip
    if INSIDE in os.environ:
        yield from (f"{each} is left" for each in names_in(SHARED) - before
                    if each != str(place.here) and "locks" not in each)  # fmt: skip
    yield from (f"{name} is left in {folder}" for folder, _, names in os.walk(place.out)
                for name in names if name.endswith(".tmp"))  # fmt: skip
    home = place.here / "home"
    yield from (
        f"{each.relative_to(home)} is left in HOME"
        for each in home.rglob("*")
        if each.is_file() and "dconf" not in each.parts
    )  # which is GTK's in Chromium


def enter(
    world: str, name: str, expected: Mapping[str, float | None], *, briefly: bool
) -> tuple[str, list[str]]:
    """Run a cell in a process with mounts of its own, where this machine lets it."""
    line = [sys.executable, __file__, "--cell", world, name, json.dumps(expected)]
    line += ["--briefly"] * briefly
    inside = dict(os.environ)
    for prefix in (["unshare", "--mount"], ["unshare", "--mount", "--map-root-user"]):
        if shutil.which("unshare") and subprocess.run(
            [*prefix, "mount", "-t", "tmpfs", "tmpfs", "/var/tmp"], capture_output=True, check=False  # noqa: S108  # in a namespace
        ).returncode == 0:  # fmt: skip
            mounts = "; ".join(f"mount -t tmpfs -o mode=1777 tmpfs {each}" for each in SHARED)
            line = [*prefix, "sh", "-c", f'{mounts}; cd /; exec "$@"', "sh", *line]
            inside[INSIDE] = "1"
            inside["TMPDIR"] = "/tmp"  # noqa: S108  # as above
            break
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=inside)
    try:
        ended, found = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return "", [f"the cell failed: {done.stdout[-500:]}{done.stderr[-2000:]}"]
    return str(ended), list(found)


def cell(world: str, name: str, expected: Mapping[str, float | None], *, briefly: bool) -> int:
    """Run a cell in this process and print what came of it as JSON."""
    try:
        print(json.dumps(run_cell(world, name, expected, briefly=briefly)))
    except SkipError as error:
        print(json.dumps((f"skipped: {error}", [])))
    return 0


def main() -> int:
    """Run the campaign and return the exit code: 1 where a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", nargs="+", choices=WORLDS, default=list(WORLDS))
    parser.add_argument("--places", nargs="+", choices=PLACES, default=list(PLACES))
    parser.add_argument("--cheapest", action="store_true", help="the places that a test tries")
    parser.add_argument("--briefly", action="store_true", help="do not go on, rescore or report")
    parser.add_argument("--lanes", type=int, default=2, help="cells at once")
    parser.add_argument("--cell", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cell:
        world, name, expected = options.cell
        return cell(world, name, json.loads(expected), briefly=options.briefly)
    for each in (INT, HUP):  # which a shell's background job may ignore, and all that it starts
        signal.signal(each, signal.SIG_DFL if each is HUP else signal.default_int_handler)
    places = CHEAPEST if options.cheapest else options.places
    cells = [(world, name) for world in options.worlds for name in places]
    counts: Counter[str] = Counter()
    with ThreadPoolExecutor(options.lanes) as lanes, contextlib.ExitStack() as stack:
        if "waa" in options.worlds:
            desktop = built_in_world()()
            stack.callback(desktop.close)
            os.environ[EVALUATOR] = asyncio.run(desktop.start()).urls["evaluate"]
        expectations = {world: {WORLDS[world][1]: 1.0} for world in WORLDS}
        for (world, name), (ended, found) in zip(
            cells,
            lanes.map(
                lambda each: enter(*each, expectations[each[0]], briefly=options.briefly), cells
            ),
            strict=True,
        ):
            kind = "BROKEN" if found else "skipped" if ended.startswith("skipped") else "ok"
            counts[kind] += 1
            print(f"{kind:7} {world:9} {name:34} {ended}", flush=True)
            for each in found:
                print(f"        {each}", flush=True)
    print(
        f"{len(cells)} cells: {counts['ok']} as they should be, {counts['skipped']} skipped, {counts['BROKEN']} broken"
    )
    return 1 if counts["BROKEN"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
