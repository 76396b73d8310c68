"""A small virtual machine for tests: Debian's kernel, busybox, and a state in three places.

The guest keeps a word in a process's memory, in a tmpfs and on its disk, and serves all three over HTTP.
"""

# ruff: noqa: S607  # programs are where the machine that tests has them

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

PACKAGES = ("qemu-system-x86_64", "qemu-img", "busybox", "cpio", "dpkg-deb", "apt-get")
PORT = "8080"
# in the order of their needs: modules.dep is made where a kernel is installed
MODULES = (
    "virtio_ring", "virtio", "virtio_pci_legacy_dev", "virtio_pci_modern_dev", "virtio_pci",
    "virtio_blk", "failover", "net_failover", "virtio_net",
)  # fmt: skip
INIT = """#!/bin/busybox sh
export PATH=/bin
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mount -t tmpfs tmpfs /run
for each in {modules}; do [ -e /modules/$each.ko ] && insmod /modules/$each.ko; done
ifconfig lo 127.0.0.1 up
ifconfig eth0 10.0.2.15 netmask 255.255.255.0 up
mkfifo /run/ask /run/answer /run/turn
( exec 3<> /run/turn; echo >&3
  word=clean
  while true; do
    read -r asked < /run/ask
    [ "$asked" = get ] || word=$asked
    echo "$word" > /run/answer
  done ) &
echo clean > /run/word
[ "$(head -c 5 /dev/vda)" = clean ] || dd if=/run/word of=/dev/vda conv=notrunc,fsync 2>/dev/null
httpd -f -p {port} -h /www
"""
# what the shell does itself costs an emulated processor a tenth of what a program costs
ONE_AT_A_TIME = "read -r turn < /run/turn; trap 'echo > /run/turn' EXIT"
MEMORY = "echo {word} > /run/ask; read -r memory < /run/answer"
STATE = f"""#!/bin/sh
{ONE_AT_A_TIME}
{MEMORY.format(word="get")}
read -r word < /run/word
read -r disk < /dev/vda
printf 'Content-Type: text/plain\\r\\n\\r\\n%s %s %s\\n' "$memory" "$word" "$disk"
"""
WRITE = f"""#!/bin/sh
{ONE_AT_A_TIME}
word=$(head -c "$CONTENT_LENGTH")
{MEMORY.format(word='"$word"')}
echo "$word" > /run/word
dd if=/run/word of=/dev/vda conv=notrunc,fsync 2>/dev/null
printf 'Content-Type: text/plain\\r\\n\\r\\nwritten\\n'
"""
MARK = """#!/bin/sh
read -r word < /dev/vda
[ "$word" != clean ] || word=
printf 'Content-Type: text/plain\\r\\n\\r\\n%s\\n' "$word"
"""
CLOCK = """#!/bin/sh
now=
[ "$REQUEST_METHOD" != POST ] || read -r now
printf 'Content-Type: text/plain\\r\\n\\r\\n'
exec date ${now:+-s "@$now"} +%s
"""
SCRIPTS = {"state": STATE, "write": WRITE, "mark": MARK, "clock": CLOCK}


def missing_programs() -> list[str]:
    """Return what has to be installed first."""
    return [each for each in PACKAGES if shutil.which(each) is None]


def build_guest(folder: Path) -> dict[str, object]:
    """Build kernel, initramfs and disk in `folder`; return the specification of the machine."""
    kernel, modules = _kernel(folder / "kernel")
    root = folder / "root"
    for each in ("bin", "proc", "sys", "dev", "run", "modules", "www/cgi-bin"):
        (root / each).mkdir(parents=True)
    shutil.copy(shutil.which("busybox") or "", root / "bin/busybox")
    for each in MODULES:
        if each in modules:
            shutil.copy(modules[each], root / "modules" / f"{each}.ko")
    _program(root / "init", INIT.format(modules=" ".join(MODULES), port=PORT))
    for name, text in SCRIPTS.items():
        _program(root / "www/cgi-bin" / name, text)
    names = "\n".join(str(each.relative_to(root)) for each in sorted(root.rglob("*")))
    with (folder / "initramfs").open("wb") as out:
        subprocess.run(
            ["cpio", "--quiet", "-o", "-H", "newc"], input=names.encode(), stdout=out, cwd=root, check=True
        )  # fmt: skip
    disk = folder / "disk.qcow2"
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", disk, "64M"], check=True)
    return _spec(disk, kernel, folder / "initramfs")


def _spec(disk: Path, kernel: Path, initramfs: Path) -> dict[str, object]:
    base = f"http://127.0.0.1:{{port:{PORT}}}/cgi-bin"
    return {
        "disk": str(disk),
        "memory_mb": 128,
        "accelerator": "tcg",
        "urls": {"guest": f"{base}/state"},
        "state": {"url": f"{base}/state"},
        "soil": {"url": f"{base}/write", "method": "POST", "body": "{mark}"},
        "mark": {"url": f"{base}/mark"},
        "set_clock": {"url": f"{base}/clock", "method": "POST", "body": "{now}"},
        "clock": {"url": f"{base}/clock"},
        "boot_s": 600,
        "arguments": [
            "-kernel", str(kernel), "-initrd", str(initramfs),
            "-append", "console=ttyS0 quiet panic=-1", "-serial", "file:serial.log", "-no-reboot",
        ],
    }  # fmt: skip


def _kernel(folder: Path) -> tuple[Path, dict[str, Path]]:
    """Return Debian's cloud kernel and its modules by name; `$GUEST_KERNEL` has an unpacked one."""
    given = os.environ.get("GUEST_KERNEL")
    root = Path(given) if given else _downloaded(folder)
    modules = {each.stem: each for each in root.glob("lib/modules/**/*.ko")}
    return next(root.glob("boot/vmlinuz-*")), modules


def _downloaded(folder: Path) -> Path:
    folder.mkdir()
    depends = subprocess.run(
        ["apt-cache", "depends", "linux-image-cloud-amd64"], capture_output=True, text=True, check=True
    )  # fmt: skip
    names = [word for word in depends.stdout.split() if re.fullmatch(r"linux-image-\d.*", word)]
    subprocess.run(["apt-get", "download", names[0]], cwd=folder, check=True)
    (archive,) = folder.glob("*.deb")
    subprocess.run(["dpkg-deb", "-x", archive, folder], check=True)
    return folder


def _program(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
