"""What the simulated desktop costs: starting, a 15-step episode at 1440x900, eight at once.

Server and desktops run in processes of their own, so that their CPU seconds are their own; the episode is what an
agent does: see the screen and the tree, send the rectangles, act. Prints one table; exits 1 where a
promised bound is missed.
"""

from __future__ import annotations

import base64
import contextlib
import multiprocessing
import os
import random
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from waa_server_ext.vm.local_server import LocalVm

STEPS = 15
START_BOUND_S = 1.5
EPISODE_BOUND_S = 1.5
APART_BOUND = 1.2
_RECT = re.compile(r'cp:screencoord="\((\d+), (\d+)\)" cp:size="\((\d+), (\d+)\)"')


def serve(pipe: Connection, count: int, in_process: bool) -> None:  # a process' argument
    """Run desktops until asked to stop; report the CPU seconds used since the last question."""
    began = cpu_s()
    vms = [make_vm(in_process) for _ in range(count)]
    for vm in vms:
        vm.start()
    urls = [f"http://{vm.address}" for vm in vms]
    for url in urls:
        httpx.get(f"{url}/probe", timeout=120, trust_env=False)
    mark = cpu_s()
    pipe.send((urls, mark - began))
    while pipe.recv() == "cpu":
        pipe.send(cpu_s() - mark)
        mark = cpu_s()
    for vm in vms:
        vm.stop()


def make_vm(in_process: bool) -> LocalVm:
    """Return a simulated VM, or its peer, whose desktop is in this process and without limits."""
    from waa_server_ext.simulate.api.simulated_vm import SimulatedVm  # part of what is measured

    if not in_process:
        return SimulatedVm(port=0)
    from waa_server_ext.simulate.api.vm_api import VmApi
    from waa_server_ext.vm.local_server import LocalVm

    class InProcess(LocalVm):
        def _make_app(self) -> Any:
            return VmApi().app

    return InProcess("the peer", "127.0.0.1", 0)


def cpu_s() -> float:
    """Return the CPU seconds of this process and of all that it started, which is the desktops' processes."""
    processes = [os.getpid()]
    for pid in processes:
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError):  # the thread has ended
                processes += map(int, (task / "children").read_text("ascii").split())
    ticks = 0
    for pid in processes:
        # its own time, and that of its children which have ended
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(") ")[2].split()[11:15]
        ticks += sum(map(int, fields))
    return ticks / os.sysconf("SC_CLK_TCK")


def episode(url: str, seed: int) -> int:
    """Do 15 steps with a new observation each; returns the bytes of the screenshots."""
    source, seen = random.Random(seed), 0  # noqa: S311  # repeatable
    with httpx.Client(base_url=url, timeout=120, trust_env=False) as vm:
        for step in range(STEPS):
            picture = vm.get("/screenshot").content
            tree = vm.get("/accessibility", params={"backend": "uia"}).json()["AT"]
            seen += len(picture)
            boxes = [
                [int(x), int(y), int(x) + int(w), int(y) + int(h)]
                for x, y, w, h in _RECT.findall(tree)
            ]
            body: dict[str, Any] = {
                "rects": boxes, "window_rect": [0, 0, 1440, 900], "scale": [1.0, 1.0],
                "screenshot": base64.b64encode(picture).decode(),
            }  # fmt: skip
            vm.post("/update_computer", json=body)
            act = f"computer.mouse.move_id(id={source.randrange(len(boxes))})\ncomputer.mouse.single_click()"
            if step % 4 == 0:
                program = ("notepad", "explorer", "mspaint", "calc")[step // 4]
                act = f"computer.os.open_program({program!r})"
            vm.post("/execute_windows", json={"command": act})
    return seen


def measured(count: int, *, in_process: bool = False) -> tuple[float, float]:
    """Return the CPU seconds of starting `count` desktops and of one episode on each of them."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=serve, args=(theirs, count, in_process)
    )
    process.start()
    theirs.close()  # so that reading from a process that died ends
    urls, start = ours.recv()
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(episode, urls, range(count)))
    ours.send("cpu")
    cpu = ours.recv()
    ours.send("stop")
    process.join()
    return start, cpu


def main() -> int:
    """Measure and print."""
    start, one = measured(1)
    _, eight = measured(8)
    _, peer = measured(1, in_process=True)
    rows = [
        ("start, imports included", start, START_BOUND_S),
        ("episode of 15 steps", one, EPISODE_BOUND_S),
        ("8 episodes at once, each", eight / 8, EPISODE_BOUND_S),
    ]
    print(f"{'simulated desktop, 1440x900':<28} {'CPU s':>8} {'bound s':>8} {'of bound':>9}")
    for name, seconds, bound in rows:
        print(f"{name:<28} {seconds:>8.2f} {bound:>8.2f} {seconds / bound:>8.0%}")
    print(f"{'the same, in one process':<28} {peer:>8.2f}")
    print(f"{'in a process, ratio':<28} {one / peer:>8.2f} {APART_BOUND:>8.2f}")
    return int(one / peer > APART_BOUND or any(seconds > bound for _, seconds, bound in rows))


if __name__ == "__main__":
    sys.exit(main())
