"""Whatever is sent, the server answers with JSON, writes inside its cache and does not grow."""

from __future__ import annotations

import hashlib
import json
import os
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from waa_server_ext.evaluation.evaluators import EvaluatorSettings
from waa_server_ext.evaluation.isolation import IsolatedEvaluator
from waa_server_ext.fixture import FixtureVm
from waa_server_ext.server import Service, ServiceSettings
from waa_server_ext.server.startup import running_server
from waa_server_ext.vm.state import VmState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TESTS = Path(__file__).resolve().parents[1]
CASES = json.loads((TESTS / "cases" / "vanilla.json").read_text(encoding="utf-8"))
HOSTILE: tuple[Any, ...] = (
    None, True, 0, -1, 1e308, 10**30, "", "\0", "../../../../etc/passwd", "/etc/passwd", "..\\..\\x",
    "C:\\Windows\\System32\\config\\SAM", "file:///etc/passwd", "http://169.254.169.254/", "__class__",
    "__import__('os').system('touch /srv/pwned')", "${CLOUD_BASE}", "%s%n", "{0.__class__}", "😈" * 50,
    "A" * 5000, [], {}, [[]], [None], {"type": None}, {"type": "rule"}, {"": ""},
    {"type": "rule", "rules": {"expected": "1"}}, {"type": "vm_file", "path": "C:\\x", "dest": "../x"},
    {"type": "write", "path": "/srv/pwned"}, {"type": "start", "command": "touch /srv/pwned"},
    [{"type": "upload_file", "parameters": {"files": [{"local_path": "/etc/passwd", "path": "C:\\p"}]}}],
    [{"type": "execute", "parameters": {"command": ["touch", "/srv/pwned"]}}],
    [{"type": "download", "parameters": {"files": [{"url": "http://10.0.0.1/", "path": "../../x"}]}}],
)  # fmt: skip


ANSWER = json.dumps({"status": "success", "output": "1", "error": "", "returncode": 0})
TRANSCRIPT = [
    {
        "target": target, "method": "POST", "path": path, "request": {"json": {"command": ["cmd"]}},
        "status": 200, "seconds": 0.1, "error": None, "body": {
            "sha256": hashlib.sha256(ANSWER.encode()).hexdigest(), "size": len(ANSWER), "text": ANSWER,
            "content_type": "application/json",
        },
    }
    for target, path in (("vm", "/execute"), ("vm", "/file"), ("web", "http://127.0.0.1/x"))
]  # fmt: skip


def mutated(value: Any, chance: random.Random) -> Any:  # noqa: PLR0911  # one per kind of damage
    """Return `value` with something in it replaced, removed, repeated or renamed."""
    if isinstance(value, dict) and value and chance.random() < 0.85:
        name = chance.choice(sorted(value))
        kind = chance.random()
        if kind < 0.6:
            return {**value, name: mutated(value[name], chance)}
        rest = {key: each for key, each in value.items() if key != name}
        if kind < 0.8:
            return rest
        return {**rest, chance.choice(["__class__", "../x", name + "\0", "id"]): value[name]}
    if isinstance(value, list) and value and chance.random() < 0.85:
        index = chance.randrange(len(value))
        if chance.random() < 0.2:
            return value * chance.randrange(3)
        return [mutated(each, chance) if i == index else each for i, each in enumerate(value)]
    if isinstance(value, str) and value and chance.random() < 0.4:
        cut = chance.randrange(len(value))
        return value[:cut] + chance.choice(["", "\0", "../", "'", '"', "💥", value]) + value[cut:]
    return chance.choice(HOSTILE)


def raw_body(chance: random.Random, path: str) -> bytes:
    case = chance.choice(CASES)
    body = {"task": case["task"], "action_history": case["action_history"]}
    if path == "/rescore":
        body["transcript"] = TRANSCRIPT
    for _ in range(chance.randrange(1, 4)):
        body = mutated(body, chance)
    data = json.dumps(body).encode()
    kind = chance.random()
    if kind < 0.05:
        return data[: chance.randrange(len(data) + 1)]
    if kind < 0.10:
        position = chance.randrange(len(data) + 1)
        return data[:position] + chance.randbytes(3) + data[position:]
    if kind < 0.12:
        depth = chance.randrange(50, 5000)
        return b'{"task":' + b"[" * depth + b"]" * depth + b"}"
    if kind < 0.122:
        return b'{"task": "' + b"x" * 9_000_000 + b'"}'
    return data


def resident_bytes(pid: int) -> int:
    pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def entries_outside(cache: Path) -> set[str]:
    roots = (Path.cwd(), cache.parent)
    return {str(path) for root in roots for path in root.iterdir()}


@pytest.fixture(scope="module")
def fuzzed(
    tmp_path_factory: pytest.TempPathFactory, next_vm_host: Callable[[], str]
) -> Iterator[tuple[httpx.Client, Path, IsolatedEvaluator]]:
    cache = tmp_path_factory.mktemp("fuzz") / "cache"
    before = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("work"))  # so that what is written beside it is seen
    checkout = Path(os.environ.get("PROCTOR_FUZZ_CHECKOUT", TESTS / "miniature"))
    settings = EvaluatorSettings(
        cache=cache, checkout=checkout, skip_sleeps=True, offline=True, vm_timeout_s=5
    )
    state = VmState.load({"commands": [{"match": "cmd", "output": "1"}]})
    with (
        FixtureVm(state, host=next_vm_host()) as vm,
        IsolatedEvaluator(settings, grace_s=1) as evaluator,
        Service(evaluator, ServiceSettings(vm=vm.address, cache=cache, timeout_s=10)) as service,
        running_server(service) as server,
        httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=120) as client,
    ):
        vm.remember = False
        yield client, cache, evaluator
    os.chdir(before)


def check(client: httpx.Client, cache: Path, evaluator: IsolatedEvaluator, number: int) -> None:
    chance = random.Random(number)  # noqa: S311  # repeatable, not secret
    outside = entries_outside(cache)
    statuses: dict[int, int] = {}
    warm = 0
    for index in range(number):
        path = chance.choice(["/evaluate"] * 8 + ["/setup", "/rescore", "/tasks/a/" + "x" * 300])
        answer = client.post(
            path, content=raw_body(chance, path), headers={"Content-Type": "application/json"}
        )
        statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
        assert isinstance(answer.json(), dict), (path, answer.status_code)
        assert answer.status_code < 500, (path, answer.text)
        if index == number // 4:
            warm = resident_bytes(os.getpid())
    assert statuses[200] > number // 10
    assert statuses[400] > number // 10
    assert entries_outside(cache) == outside
    assert not Path("/srv/pwned").exists()
    assert resident_bytes(os.getpid()) - warm < 40_000_000
    assert evaluator.pid is not None
    assert resident_bytes(evaluator.pid) < 1_000_000_000
    assert client.get("/health").json()["status"] == "ok"


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads memory from /proc")
def test_hundreds_of_hostile_requests(
    fuzzed: tuple[httpx.Client, Path, IsolatedEvaluator],
) -> None:
    check(*fuzzed, 600)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads memory from /proc")
def test_thousands_of_hostile_requests(
    fuzzed: tuple[httpx.Client, Path, IsolatedEvaluator],
) -> None:
    check(*fuzzed, int(os.environ.get("PROCTOR_FUZZ_REQUESTS", "4000")))
