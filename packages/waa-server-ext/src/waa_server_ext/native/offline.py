"""Scoring without a VM: files from a folder, everything else from a recorded transcript.

A folder holds the VM's files under their drive (`C/Users/Docker/Documents/draft.txt`) or, loose, under
the names that the task uses; reference files are in `gold`. A request that neither the files nor the
transcript can answer stays unanswered: such a task gets no score, not zero.
"""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pydantic import ValidationError

from bench_core.errors import InputError
from bench_core.records.codec import decode_json
from bench_core.records.problems import problems_of
from waa_server_ext.evaluation.downloads import Downloads, HostRule
from waa_server_ext.evaluation.evaluators import EvaluatorSettings
from waa_server_ext.evaluation.tasks import TaskFolder, read_task_file
from waa_server_ext.evaluation.verdicts import Verdict
from waa_server_ext.fixture import FixtureVm
from waa_server_ext.native.evaluator import NativeEvaluator, VmConnections
from waa_server_ext.vm.client import BodyStore, VmHttp, VmResponse, VmTransportError
from waa_server_ext.vm.exchanges import VmExchange
from waa_server_ext.vm.state import VmState

_GOLD = "gold"
_STATE = "vm_state.json"
_FROM_FILES = ("/file", "/file_exists", "/folder_exists", "/list_directory", "/desktop_path",
               "/documents_path")  # fmt: skip
_WHERE = ("import platform; print(platform.system())", "import os; print(os.path.join(os.getenv(")
"""Questions of getters for a path, whose answers are the same on every VM of the benchmark."""


def evaluate_files(
    settings: EvaluatorSettings,
    task: Mapping[str, Any],
    action_history: Sequence[str],
    folder: Path,
    transcript: Path | None = None,
) -> Verdict:
    """Score a task on the files in `folder` and a stored verdict's transcript.

    Args:
        settings: As for a server; nothing waits.
        task: The task as its file has it.
        action_history: The agent's actions; only a last `FAIL` matters.
        folder: See the module; with `vm_state.json` in it, that answers for the rest of the VM.
        transcript: A verdict as POST /evaluate answers it; bodies that it stores separately are
            read from the folder `bodies` next to it.

    Raises:
        InputError: Folder or transcript cannot be read.
    """
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}; give it with --files")
    # The VM described by the folder, and whether that description is complete
    path = folder / _STATE
    described: dict[str, Any] = {}
    if path.is_file():
        try:
            described = decode_json(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise InputError(f"{path} is not JSON: {error}") from error
    # The paths of the VM that a task's evaluator names, by their last part
    named: dict[str, set[str]] = {}
    for text in _strings(task.get("evaluator")):
        if text[1:3] in (":\\", ":/"):
            name = text.replace("/", "\\").rpartition("\\")[2]
            named.setdefault(name, set()).add(text)
    files = {
        windows: {"b64": base64.b64encode(local.read_bytes()).decode("ascii")}
        for local in sorted(folder.rglob("*"))
        if local.is_file() and local != path
        for windows in _windows_paths(local.relative_to(folder).parts, named)
    }
    described["files"] = {**described.get("files", {}), **files}
    state, knows_all = VmState.load(described), path.is_file()
    evaluator = NativeEvaluator(settings.model_copy(update={"skip_sleeps": True}))
    record: list[VmExchange] = []
    with contextlib.ExitStack() as stack:
        fixture = stack.enter_context(FixtureVm(state, port=0))
        live = stack.enter_context(VmHttp(fixture.address, record=record))
        held = _recorded(transcript)
        vm = _FilesVm(live, state, held, record, knows_all=knows_all)
        download = _downloads(settings, folder, held, record)
        return evaluator.evaluate_in(
            task, action_history, VmConnections(vm, download, record, replayed=True)
        )


def read_task(name: str, tasks: Path | None) -> dict[str, Any]:
    """Return the task in a JSON file, or `domain/stem` of a folder of tasks.

    Raises:
        InputError: The file does not exist or is not a task.
    """
    path = Path(name)
    if path.suffix == ".json" and path.is_file():
        return read_task_file(path)
    if tasks is None:
        raise InputError(f"{name} is not a task file; name the folder of tasks with --tasks-dir")
    return TaskFolder(tasks).load(name)


class _FilesVm:
    """Answers as the VM would: from the transcript if it has the call, else from the files."""

    def __init__(
        self,
        live: VmHttp,
        state: VmState,
        recorded: _Recorded,
        record: list[VmExchange],
        *,
        knows_all: bool,
    ) -> None:
        self.vm = live.vm
        self._live = live
        self._paths = {path.replace("/", "\\").lower() for path in state.files}
        self._recorded = recorded
        self._record = record
        self._is_complete = knows_all

    def get(self, path: str, params: Mapping[str, str] | None = None, **_: Any) -> VmResponse:
        query = "?" + "&".join(f"{key}={value}" for key, value in params.items()) if params else ""
        return self._answer("GET", path + query, None, lambda: self._live.get(path, params))

    def post(self, path: str, **body: Any) -> VmResponse:
        body.pop("timeout_s", None)
        sent = {key: value for key, value in body.items() if value is not None}
        return self._answer("POST", path, sent or None, lambda: self._live.post(path, **sent))

    def _answer(
        self, method: str, path: str, sent: Any, live: Callable[[], VmResponse]
    ) -> VmResponse:
        if self._is_file(path, sent):
            return live()
        found = self._recorded.take(method, path, sent)
        if found is not None:
            self._record.append(found[0])
            return found[1]
        if self._is_complete or self._can_answer(path, sent):
            return live()
        reason = (
            "neither the files nor the transcript answer this; add vm_state.json or the transcript"
        )
        self._record.append(VmExchange(method=method, path=path, request=sent, error=reason))
        raise VmTransportError(method, path, reason)

    def _is_file(self, path: str, sent: Any) -> bool:
        if path != "/file":
            return False
        return str(sent["form"]["file_path"]).replace("/", "\\").lower() in self._paths

    def _can_answer(self, path: str, sent: Any) -> bool:
        if path.startswith("/setup/") or path in _FROM_FILES:
            return True
        command = sent["json"].get("command") if path == "/execute" else None
        code = command[2] if isinstance(command, list) and command[:2] == ["python", "-c"] else ""
        return str(code).startswith(_WHERE)


class _Recorded:
    """The calls of a transcript by request, in their order; the last answer repeats."""

    def __init__(self, exchanges: Sequence[VmExchange], bodies: BodyStore) -> None:
        self._bodies = bodies
        self._held: dict[str, list[VmExchange]] = {}
        for each in exchanges:
            if each.status is not None and each.body is not None:
                self._held.setdefault(_key(each.method, each.path, each.request), []).append(each)

    def take(self, method: str, path: str, sent: Any) -> tuple[VmExchange, VmResponse] | None:
        left = self._held.get(_key(method, path, sent))
        if not left:
            return None
        exchange = left.pop(0) if len(left) > 1 else left[0]
        if exchange.body is None or exchange.status is None:
            return None
        data = self._bodies.load(exchange.body)
        if data is None:
            return None
        return exchange, VmResponse(exchange.status, data, exchange.body.content_type)


def _key(method: str, path: str, sent: Any) -> str:
    if isinstance(sent, dict) and "form" in sent:
        form = {key: value for key, value in sent["form"].items() if isinstance(value, str)}
        sent = {"form": form}
    return json.dumps([method, path, sent], sort_keys=True, default=str)


def _recorded(path: Path | None) -> _Recorded:
    if path is None:
        return _Recorded((), BodyStore())
    try:
        verdict = Verdict.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except ValidationError as error:
        what = problems_of(error, Verdict)
        raise InputError(f"{path} is not a verdict of POST /evaluate: {what}") from error
    return _Recorded(verdict.transcript, BodyStore(path.parent / "bodies"))


def _windows_paths(parts: tuple[str, ...], named: Mapping[str, set[str]]) -> set[str]:
    if len(parts) > 1 and len(parts[0]) == 1 and parts[0].isalpha():
        return {f"{parts[0].upper()}:\\" + "\\".join(parts[1:])}
    return named.get(parts[0], set()) if len(parts) == 1 else set()


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)


def _downloads(
    settings: EvaluatorSettings, folder: Path, recorded: _Recorded, record: list[VmExchange]
) -> Callable[[str], bytes]:
    """Return a function that fetches a reference file from `gold`, the transcript, the assets or the web."""
    web = Downloads(settings, HostRule.of(settings, "127.0.0.1"), record=record)

    def fetch(url: str) -> bytes:
        name = unquote(urlsplit(url).path).rpartition("/")[2]
        local = folder / _GOLD / name
        if name and local.is_file():
            return local.read_bytes()
        found = recorded.take("GET", url, None)
        if found is not None:
            record.append(found[0])
            return found[1].body
        return web.fetch(url)

    return fetch
