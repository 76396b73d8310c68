"""Hide files from this process and its children for good, in a mount namespace that they cannot leave.

Also runs as a program: `python -I -S namespaces.py HIDDEN COMMAND...` seals itself and becomes COMMAND. It imports
only the standard library; Linux only.

Hidden files cannot be reached through other processes either: those of the run are in another user namespace, or hold
capabilities that this one gave up, so the kernel refuses `/proc/PID/root`, `cwd`,
`fd`, `environ`, `mem` and ptrace of them.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import stat
import struct
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

USERS, MOUNTS = "user-namespace", "mount-namespace"
"""The two ways: for any user if the system allows it, else for root."""

_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_REMOUNT, _MS_BIND = 1, 2, 4, 32, 4096
_MS_REC, _MS_PRIVATE, _MS_RELATIME = 16384, 1 << 18, 1 << 21
_ST_RELATIME = 4096
_SAME_FLAGS = 2 | 4 | 8 | 1024 | 2048
"""nosuid, nodev, noexec, noatime, nodiratime: the same numbers for statvfs and for mount."""
_PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 4, 24, 38, 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_CAPABILITY_VERSION = 0x20080522
_LAST_CAPABILITY = 63
_MAY_NEST = 1 << 31
"""CAP_SETFCAP, without which root in a namespace cannot be root in one inside it."""
_LANDLOCK_CREATE, _LANDLOCK_RESTRICT, _LANDLOCK_SCOPE_SIGNAL = 444, 446, 2
_ALL_IDS = "0 0 4294967295"
_OWN_DEVICES = 2
"""Depth below /dev to search for disks: `/dev/mapper/...`."""


_PR_SET_SECCOMP, _SECCOMP_FILTER, _SECCOMP_ALLOW, _SECCOMP_ERRNO = 22, 2, 0x7FFF0000, 0x00050000
_LOAD, _JUMP_IF, _RETURN = 0x20, 0x15, 0x06
_PRLIMIT = {"x86_64": (0xC000003E, 302, 340), "aarch64": (0xC00000B7, 261, 369)}
"""By machine: the kernel's number of its architecture, and the numbers of prlimit64 for 64 and 32 bits."""


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


class _CapHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


def seal(
    hidden: Iterable[str],
    *,
    needed: Iterable[str] = (),
    protected: Iterable[str] = (),
    again: bool = False,
) -> str:
    """Hide files and folders from this process for good; return the way used, `USERS` or `MOUNTS`.

    The process must have one thread. It loses all capabilities, and its children gain none by setuid programs. Hidden
    folders and files look empty, except for the `needed` ones. `protected` folders become read-only if the system
    allows it. With `again`, the process keeps the one capability that root needs to enter another user namespace later.

    Raises:
        OSError: The system refuses, or a hidden folder is itself needed. Files may then be hidden, but not for good.
    """
    folder = _folder()
    kept_needed = sorted({os.path.realpath(each) for each in needed})
    way = _enter()
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    for path in protected:
        with contextlib.suppress(OSError):
            # a further safeguard: hiding must not fail because of it
            _make_readonly(path)
    for path in _outermost(os.path.realpath(each) for each in hidden):
        _hide(path, kept_needed)
    if os.geteuid() == 0:
        # root owns the disks, and would read the hidden files from them
        for device in _disks(Path("/dev"), _OWN_DEVICES):
            _mount("/dev/null", device, None, _MS_BIND)
    # a working folder that was opened before still shows the files under the mount
    try:
        os.chdir(folder)
    except OSError:
        os.chdir("/")
    _give_up_capabilities(_MAY_NEST if again else 0)
    return way


def set_apart(place: str, needed: Iterable[str]) -> None:
    """Hide all in the folder `place` but `needed` for good; let this process signal only itself and its children.

    For one of several sealed processes that must not reach each other: it may not set the limits of other processes
    either. Steps that the system refuses are left out.
    """
    with contextlib.suppress(OSError):
        seal([place], needed=needed)
    rules = _signal_rules()
    if rules >= 0:
        _libc().syscall(_LANDLOCK_RESTRICT, rules, 0)
        os.close(rules)
    _keep_limits_inside()


def _keep_limits_inside() -> None:
    """Refuse changes to other processes' limits, which the kernel allows to every process of the same user."""
    if os.uname().machine not in _PRLIMIT:
        return
    architecture, number, in_32_bits = _PRLIMIT[os.uname().machine]
    # A program for the kernel, which runs it before each system call. A step is its kind, how many steps to skip if
    # the loaded value equals the operand, how many if not, and the operand. A load's operand is an offset in
    # `seccomp_data`, of 32 bits: the call's number at 0, the architecture at 4, six arguments of 64 bits from 16 on.
    # prlimit64(pid, resource, new limit, old limit): a pid of 0 is the caller, a new limit of NULL only asks.
    steps = (
        (_LOAD, 0, 0, 0),  # the call
        (_JUMP_IF, 3, 0, in_32_bits),  # prlimit64 of 32 bits: on to the pid
        (_JUMP_IF, 0, 8, number),  # another call: allow
        (_LOAD, 0, 0, 4),  # the architecture
        (_JUMP_IF, 0, 6, architecture),  # another one, where the number means another call: allow
        (_LOAD, 0, 0, 16),  # the pid
        (_JUMP_IF, 4, 0, 0),  # its own limits: allow
        (_LOAD, 0, 0, 32),  # the new limit's address, lower half
        (_JUMP_IF, 0, 3, 0),  # there is one: refuse
        (_LOAD, 0, 0, 36),  # upper half
        (_JUMP_IF, 0, 1, 0),  # there is one: refuse; else it only looks: allow
        (_RETURN, 0, 0, _SECCOMP_ALLOW),
        (_RETURN, 0, 0, _SECCOMP_ERRNO | errno.EPERM),
    )
    program = b"".join(struct.pack("HBBI", *each) for each in steps)
    filter_ = _Filter(len(steps), program)
    _libc().prctl(_PR_SET_SECCOMP, _SECCOMP_FILTER, ctypes.byref(filter_), 0, 0)


def keeps_signals_inside() -> bool:
    """Return whether `set_apart` can keep a process's signals from others here: Linux 6.12 and later."""
    rules = _signal_rules() if sys.platform == "linux" else -1
    if rules >= 0:
        os.close(rules)
    return rules >= 0


def _signal_rules() -> int:
    """Return a descriptor of rules that keep signals and ptrace inside; -1 if the kernel has none."""
    attributes = (ctypes.c_uint64 * 3)(0, 0, _LANDLOCK_SCOPE_SIGNAL)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    return int(_libc().syscall(_LANDLOCK_CREATE, ctypes.byref(attributes), size, 0))


def main(arguments: list[str]) -> None:
    """Hide the files that the first argument lists as JSON, and become the command in the others."""
    hidden, *command = arguments
    try:
        seal(json.loads(hidden))
    except OSError as error:
        sys.exit(f"files cannot be hidden: {error}")
    os.execvp(command[0], command)  # noqa: S606  # the caller's own command


def _folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109  # the name, to be looked up again
    except OSError:
        return "/"


def _enter() -> str:
    """Enter new namespaces in which users and groups keep their numbers."""
    user, group = os.geteuid(), os.getegid()
    if _call("unshare", _CLONE_NEWUSER | _CLONE_NEWNS) != 0:
        if user != 0:
            raise _error("unshare")
        # where user namespaces are switched off, root's capabilities are enough
        if _call("unshare", _CLONE_NEWNS) != 0:
            raise _error("unshare")
        return MOUNTS
    try:
        _write("/proc/self/uid_map", _ALL_IDS)
        _write("/proc/self/gid_map", _ALL_IDS)
    except PermissionError:
        # others than root may keep their own number only
        _write("/proc/self/setgroups", "deny")
        with contextlib.suppress(FileExistsError, PermissionError):
            _write("/proc/self/uid_map", f"{user} {user} 1")
        _write("/proc/self/gid_map", f"{group} {group} 1")
    return USERS


def _write(path: str, text: str) -> None:
    # unbuffered: the kernel takes the map of a namespace in one write only
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _hide(path: str, needed: list[str]) -> None:
    try:
        kind = os.stat(path).st_mode  # noqa: PTH116
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(kind):
        _mount("/dev/null", path, None, _MS_BIND)
        return
    if path in needed:
        raise OSError(f"{path} holds what must stay hidden and what the agent needs")
    below = [each for each in needed if each.startswith(f"{path}{os.sep}")]
    # opened before the cover hides their paths, and bound back from these descriptors
    kept = [(each, os.open(each, os.O_PATH)) for each in _outermost(below)]
    flags = _MS_NOSUID | _MS_NODEV
    _mount("tmpfs", path, "tmpfs", flags, "size=64k,nr_inodes=1k,mode=755")
    for each, descriptor in kept:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):  # noqa: PTH112
            os.makedirs(each, exist_ok=True)  # noqa: PTH103
        else:
            os.makedirs(os.path.dirname(each), exist_ok=True)  # noqa: PTH103, PTH120
            Path(each).touch()
        _mount(f"/proc/self/fd/{descriptor}", each, None, _MS_BIND | _MS_REC)
        os.close(descriptor)
    _mount(None, path, None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | flags)


def _make_readonly(path: str) -> None:
    """Make a folder read-only, and every mount below it, such as control groups below `/sys`."""
    _mount(path, path, None, _MS_BIND | _MS_REC)
    for each in _mounted_from(os.path.realpath(path)):
        with contextlib.suppress(OSError):  # a mount that only its maker can reach
            found = os.statvfs(each).f_flag
            same = found & _SAME_FLAGS | (_MS_RELATIME if found & _ST_RELATIME else 0)
            _mount(None, each, None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | same)


def _mounted_from(path: str) -> list[str]:
    """Return `path`, a mount point, and the mount points below it."""
    lines = Path("/proc/self/mountinfo").read_bytes().decode("unicode_escape").splitlines()
    points = {line.split(" ")[4] for line in lines}
    return [path, *(each for each in sorted(points) if each.startswith(f"{path}{os.sep}"))]


def _outermost(paths: Iterable[str]) -> Iterator[str]:
    """Yield the paths that are not inside another one of them."""
    last: str | None = None
    for path in sorted(set(paths), key=lambda each: Path(each).parts):
        if last is None or not path.startswith(f"{last}{os.sep}"):
            last = path
            yield path


def _disks(folder: Path, depth: int) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for each in entries:
            with contextlib.suppress(OSError):
                kind = each.stat(follow_symlinks=False).st_mode
                if stat.S_ISBLK(kind) or each.name in {"mem", "kmem", "port"}:
                    yield each.path
                elif depth > 1 and stat.S_ISDIR(kind) and each.name not in {"pts", "shm"}:
                    yield from _disks(Path(each.path), depth - 1)


def _give_up_capabilities(kept: int) -> None:
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    for number in range(_LAST_CAPABILITY + 1):
        _prctl(_PR_CAPBSET_DROP, number)  # the kernel refuses capabilities that it does not have
    _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    header = _CapHeader(_CAPABILITY_VERSION, 0)
    # effective, permitted and inheritable ones, in two halves
    sets = (ctypes.c_uint32 * 6)(kept, kept)
    if _libc().capset(ctypes.byref(header), ctypes.byref(sets)) != 0:
        raise _error("capset")
    # losing them makes the process undumpable, so that it could not even read its own /proc
    _prctl(_PR_SET_DUMPABLE, 1)


def _mount(
    source: str | None, target: str, kind: str | None, flags: int, data: str | None = None
) -> None:
    encoded = [None if each is None else os.fsencode(each) for each in (source, target, kind, data)]
    source_b, target_b, kind_b, data_b = encoded
    if _libc().mount(source_b, target_b, kind_b, ctypes.c_ulong(flags), data_b) != 0:
        raise _error(f"mount on {target}")


def _prctl(option: int, value: int) -> None:
    _libc().prctl(option, value, 0, 0, 0)


def _call(name: str, argument: int) -> int:
    return int(getattr(_libc(), name)(argument))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _error(what: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{what}: {os.strerror(number)}")


if __name__ == "__main__":
    main(sys.argv[1:])
