"""A simulated desktop's process, and the process that such processes are forked from.

It reads pickles until its input ends: first the arguments of a `VmApi`, then names of its methods with
arguments. It answers each with a pickle of the result or the error. Both ends run the same code, so the answers
deserve no more trust than a program interpreted in the process that reads them.
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
    # load whatever the first picture needs now, so that all children share it
    Scene().build().picture()
    gc.collect()
    gc.freeze()  # a collection in a child would copy every page
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps children unasked
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
                os._exit(0)  # a child that fails must never return into the fork loop
        os.close(descriptors[0])


def serve_desktop() -> None:
    """Be a desktop's process that talks by its standard input and output."""
    outgoing = os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "r+b") as nowhere:  # noqa: PTH123  # a device
        os.dup2(nowhere.fileno(), 1)  # anything printed must not reach the pickle stream
    _serve(sys.stdin.buffer, outgoing)


def _serve(incoming: IO[bytes], outgoing: IO[bytes]) -> None:
    api: VmApi | None = None
    with contextlib.suppress(EOFError, OSError):  # the other end has gone
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
            except Exception as error:  # noqa: BLE001  # raised again in the caller's process
                answer = pickle.dumps((None, error))
            outgoing.write(answer)
            outgoing.flush()
