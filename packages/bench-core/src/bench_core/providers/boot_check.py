"""Whether virtual machines run here, by booting one: that `/dev/kvm` can be opened says nothing.

Seen: a computer, itself a virtual machine, on which KVM makes machines and no kernel boots in them.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench_core.machines import Finding

if TYPE_CHECKING:
    from bench_core.providers.qemu_spec import QemuSpec

_LIMIT_S = 10.0
# mov dx, 0xf4; mov al, 0x10; out dx, al; hlt; jmp back: QEMU then ends with (0x10 << 1) | 1
_SECTOR = bytes.fromhex("baf400b010eef4ebfd").ljust(510, b"\0") + b"\x55\xaa"
_BOOTED = 33
_SHOWN = 300


async def boot_finding(spec: QemuSpec, *, within_s: float = _LIMIT_S) -> Finding:
    """Boot a disk of one sector that ends QEMU at once; return whether that worked, in seconds."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="boot-") as folder:
        disk = Path(folder, "boot.img")
        disk.write_bytes(_SECTOR)  # noqa: ASYNC240  # 512 bytes
        process = await asyncio.create_subprocess_exec(
            spec.program, "-nodefaults", "-display", "none", "-no-reboot", "-m", "32",
            "-accel", spec.accelerator, "-drive", f"file={disk},format=raw,if=ide",
            "-device", "isa-debug-exit,iobase=0xf4,iosize=0x04",
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        try:
            _, printed = await asyncio.wait_for(process.communicate(), within_s)
        except asyncio.TimeoutError:
            process.kill()
            await process.wait()
            problem = f"nothing booted within {within_s:.0f} s"
        else:
            text = printed.decode(errors="replace").strip()
            problem = f"nothing booted: {text[-_SHOWN:] or process.returncode}"
    name = f"{spec.accelerator} boots"
    if process.returncode == _BOOTED:
        return Finding(name=name, status="ok", detail=f"in {time.monotonic() - began:.1f} s")
    fix = (
        "use a computer whose processor has VT-x or AMD-V, and where that is one itself a virtual machine, "
        "one that allows nested ones; `tcg` runs anywhere, many times slower"
    )
    return Finding(name=name, status="fail", detail=problem, fix=fix)
