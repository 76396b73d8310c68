"""The process of a simulated desktop, and the one that such processes are forked from.

It reads pickles, first of what a `VmApi` is made of, then of the names of its methods with arguments, and
writes pickles of what came of them, until its input ends. Both ends run the same code: what it writes is
not more trusted than a program that is interpreted in the process which reads it.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import signal
import socket
import sys
from functools import partial
from typing import IO

from waa_server_ext.simulate.api.limits import limited
from waa_server_ext.simulate.api.vm_api import VmApi
from waa_server_ext.simulate.scene import Scene


def fork_desktops(descriptor: int) -> None:
    """Fork a desktop's process for each socket that arrives, until the sender is gone; Linux only."""
    orders = socket.socket(fileno=descriptor)
    # what the first picture loads, all have in common
    Scene().build().picture()
    gc.collect()
    gc.freeze()  # a collection in a child would copy every page
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no one asks how they ended
    while True:
        message, descriptors, _, _ = socket.recv_fds(orders, 1, 1)
        if not message:
            return
        if os.fork() == 0:
            try:
                orders.close()
                with socket.socket(fileno=descriptors[0]) as channel:
                    _serve(channel.makefile("rb"), channel.makefile("wb"))
            finally:
                os._exit(0)  # nothing that fails here may go on as the one that forks
        os.close(descriptors[0])


def serve_desktop() -> None:
    """Be a desktop's process that talks by its standard input and output."""
    outgoing = os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "r+b") as nowhere:  # noqa: PTH123  # a device
        os.dup2(nowhere.fileno(), 1)  # nothing that is printed goes there
    _serve(sys.stdin.buffer, outgoing)


def _serve(incoming: IO[bytes], outgoing: IO[bytes]) -> None:
    api: VmApi | None = None
    with contextlib.suppress(EOFError, OSError):  # the other end is gone
        while True:
            asked = pickle.load(incoming)  # noqa: S301  # of the process that started this one
            try:
                if api is None:
                    *settings, limits = asked
                    api = VmApi(*settings, guard=partial(limited, limits))
                    came = None
                else:
                    name, *arguments = asked
                    came = getattr(api, name)(*arguments)
                answer = pickle.dumps((came, None))
            except Exception as error:  # noqa: BLE001  # it is raised where it was asked
                answer = pickle.dumps((None, error))
            outgoing.write(answer)
            outgoing.flush()
