"""The spellings of one address, as Chromium itself reads them."""

from __future__ import annotations

import asyncio
import json

import pytest

from bench_core.browser import CdpConnection, launch_chromium
from bench_core.serving import Address, address_of, is_loopback

SAME: dict[Address, tuple[str, ...]] = {
    Address("shop.test", 80): (
        "http://shop.test", "http://shop.test:80/x", "HTTP://SHOP.TEST/", "http://me@shop.test/",
        "http://me:key@shop.test:80/", "http://a@b@shop.test/", "http:shop.test", "http:/shop.test/x",
        "http:////shop.test/", "http:\\\\shop.test\\x", " http://shop.test/", "ht\ntp://sh\top.test/",
        "http://%73hop.test/", "http://\uff53\uff48\uff4f\uff50.test/", "http://shop\u3002test/", "http://shop.test:/",
        "http://shop.test:0080/", "http://sh\u00adop.test/", "http://shop.test?q=1", "http://shop.test#x",
        "http://other.test@shop.test/", "http://other.test%2f@shop.test/", "ws://shop.test/socket",
        "http://shop.test./",
    ),
    Address("shop.test", 443): ("https://shop.test/", "https://shop.test:443", "wss://shop.test/"),
    Address("127.0.0.1", 8000): (
        "http://127.0.0.1:8000/", "http://127.1:8000/", "http://2130706433:8000/", "http://0x7f.1:8000/",
        "http://0177.0.0.1:8000/", "http://0x7f000001:8000/", "http://127.0.0.1.:8000/",
        "http://127.0.1:8000/", "http://127\u30021:8000/", "http://\uff11\uff12\uff17.0.0.1:8000/",
        "http://%31%32%37.0.0.1:8000/", "http://x@127.0.0.1:8000/",
    ),
    Address("::1", 8000): (
        "http://[::1]:8000/", "http://[0:0:0:0:0:0:0:1]:8000/", "http://[0000::0001]:8000/",
        "http://x:y@[::0:1]:8000/", "http://[::0.0.0.1]:8000/",
    ),
    Address("xn--bcher-kva.test", 80): (
        "http://xn--bcher-kva.test/", "http://bücher.test/", "http://BÜCHER.test/", "http://XN--BCHER-KVA.test",
        "http://b%C3%BCcher.test/", "http://b%75%CC%88cher.test/", "http://bücher.test./",
    ),
}  # fmt: skip
# an IPv4 address inside IPv6 reaches the same server, though Chromium keeps the spelling
MAPPED = ("http://[::ffff:127.0.0.1]:8000/", "http://[::ffff:7f00:1]:8000/")
OTHERS = (
    "http://shop.test.evil.test/", "http://evil-shop.test/", "http://shop.test@evil.test/", "http://shop.test:81/",
    "http://evil.test/shop.test", "http://evil.test?@shop.test", "http://evil.test#@shop.test",
    "http://evil.test\\@shop.test/", "http://127.0.0.1.evil.test:8000/", "http://[::2]:8000/",
)  # fmt: skip
NONE = (
    "about:blank",
    "data:text/html,http://shop.test",
    "",
    "http://",
    "http://[::1",
    "http://shop.test:x/",
)


@pytest.mark.parametrize("address", SAME, ids=lambda each: f"{each.host} {each.port}")
def test_all_spellings_of_an_address_are_one(address: Address) -> None:
    assert {url: address_of(url) for url in SAME[address]} == dict.fromkeys(SAME[address], address)


def test_what_only_looks_like_an_address_is_another() -> None:
    assert {url for url in OTHERS if address_of(url) in SAME} == set()
    assert {url for url in MAPPED if address_of(url) != Address("127.0.0.1", 8000)} == set()
    assert {url for url in NONE if address_of(url).host} == set()


def test_every_spelling_of_loopback_is_this_machine_and_no_other_name_is() -> None:
    own = ("127.1", "0x7f.1", "127.9.9.9", "[::1]", "::ffff:127.0.0.1", "LOCALHOST.", "x.localhost")
    others = (
        "0.0.0.0",
        "::",
        "128.0.0.1",
        "127.0.0.1 x",
        "127.0.0.1.evil.test",
        "localhost.evil.test",
        "",
    )
    assert [is_loopback(each) for each in own] == [True] * len(own)
    assert [is_loopback(each) for each in others] == [False] * len(others)


async def test_chromium_reads_the_corpus_in_the_same_way() -> None:
    urls = [url for spellings in SAME.values() for url in spellings] + list(OTHERS)
    code = f"JSON.stringify({json.dumps(urls)}.map(url => new URL(url).href))"
    async with launch_chromium() as chromium:
        connection = await CdpConnection.open(chromium.ws_url)
        target = await connection.call("Target.createTarget", {"url": "about:blank"})
        given = {"targetId": target["targetId"], "flatten": True}
        session = (await connection.call("Target.attachToTarget", given))["sessionId"]
        found = await asyncio.wait_for(
            connection.call("Runtime.evaluate", {"expression": code}, session), 30
        )
        await connection.close()
    read = dict(zip(urls, json.loads(found["result"]["value"]), strict=True))
    assert {url: address_of(url) for url in urls} == {url: address_of(read[url]) for url in urls}
