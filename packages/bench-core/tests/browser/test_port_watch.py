"""Connections to Chromium's own port that are not the gateway's are seen."""

from __future__ import annotations

import socket
import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest

from bench_core.browser import port_watch
from bench_core.browser.port_watch import OwnEnds, Peer, PortWatch, peers_of
from bench_core.records import IntegrityCode

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs the table of connections")


@contextmanager
def server() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port))


def ports_of(port: int) -> set[int]:
    return {each.port for each in peers_of(port)}


def test_a_port_that_the_gateway_has_closed_is_its_own_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(port_watch, "_CLOSING_S", 0.0)
    with server() as port, ExitStack() as stack:
        own = OwnEnds()
        watch = PortWatch(port, own)
        watch.arm()
        used = own.new_socket(socket.AF_INET)
        number = used.getsockname()[1]
        used.close()
        again = stack.enter_context(socket.socket())
        again.bind(("", number))
        again.connect(("127.0.0.1", port))
        assert watch.disarm() == 1
        watch = PortWatch(port, own)
        watch.arm()
        again.close()
        assert watch.disarm() == 0, "it was connected before the watch began"


@pytest.mark.parametrize(
    ("peer", "own"),
    [
        (Peer(7, 0, 100.0), True),
        (Peer(7, 0, 109.0), True),
        (Peer(7, 0, 111.0), False),
        (Peer(7, 0), True),
        (Peer(8, 0, 100.0), False),
        (Peer(8, 0), False),
        (Peer(7, 12345), False),
    ],
)
def test_a_closed_connection_is_the_gateways_if_it_ended_when_the_gateway_closed_it(
    peer: Peer, own: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = OwnEnds()
    monkeypatch.setattr(ends, "_closed", {7: 100.0})
    assert ends.has(peer) is own


def test_a_strangers_connection_is_seen_even_after_it_was_closed() -> None:
    with server() as port:
        watch = PortWatch(port)
        watch.arm()
        connect(port).close()
        assert watch.disarm() == 1


async def test_strangers_are_reported_as_acts_that_nothing_blocked() -> None:
    reported = []
    with server() as port:
        watch = PortWatch(port)
        watch.arm()
        connect(port).close()
        await watch.report(lambda *act: reported.append(act))
        quiet = PortWatch(port)
        quiet.arm()
        await quiet.report(lambda *act: reported.append(act))
    assert reported == [
        (IntegrityCode.DEBUGGING_PORT, False, "connections to the browser's own port: 1")
    ]


def test_connections_from_before_and_those_of_the_gateway_are_not_strangers() -> None:
    with server() as port, ExitStack() as stack:
        stack.enter_context(connect(port))
        own = OwnEnds()
        watch = PortWatch(port, own)
        watch.arm()
        for _ in range(2):
            used = own.new_socket(socket.AF_INET)
            stack.callback(used.close)
            used.settimeout(60)
            used.connect(("127.0.0.1", port))
        used.close()  # its row stays for a minute
        assert watch.disarm() == 0


def test_connections_to_other_ports_are_nothing() -> None:
    with server() as port, server() as other:
        # whoever had this port a minute ago may still be in the table
        earlier = ports_of(port)
        with connect(other) as connection:
            watch = PortWatch(port)
            watch.arm()
            assert watch.disarm() == 0
            assert connection.getsockname()[1] not in ports_of(port) - earlier
            assert connection.getsockname()[1] in ports_of(other)


def test_what_was_seen_once_stays_seen() -> None:
    tables: list[set[Peer]] = [set(), {Peer(5, 1)}, set(), set(), set(), set(), set(), set(), set()]
    looked = []

    def peers(_: int) -> set[Peer]:
        looked.append(1)
        return tables[min(len(looked), len(tables)) - 1]

    watch = PortWatch(1, peers=peers)
    watch.arm()
    while len(looked) < 3:
        pass
    assert watch.disarm() == 1


def test_a_watch_that_was_never_armed_ends() -> None:
    assert PortWatch(1).disarm() == 0


@pytest.mark.parametrize(("gap_s", "missed"), [(60.0, False), (-1.0, True)])
def test_a_time_at_which_no_one_looked_is_told(
    gap_s: float, missed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(port_watch, "_GAP_S", gap_s)
    with server() as port:
        watch = PortWatch(port)
        watch.arm()
        assert watch.disarm() == 0
    assert watch.missed is missed
