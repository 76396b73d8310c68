"""The resources of getters and steps: the VM, the web, a folder of scratch files, the clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from bench_core.errors import EvaluationError
from waa_server_ext.evaluation.evaluators import Fidelity
from waa_server_ext.vm.client import VmHttp, VmResponse

OK = 200
_TREE_TIMEOUT_S = 300.0  # upstream's own waits: a uia tree takes minutes on a full desktop
_COMMAND_TIMEOUT_S = 90.0


class UnsafePathError(EvaluationError):
    """A task names a file outside its own scratch folder."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"{name!r} leads out of the folder of this task's files")


@dataclass
class EvaluationContext:
    """The resources of one evaluation. Callers check the statuses of the VM's answers themselves.

    Attributes:
        vm: The way to the VM; records every call.
        scratch: The folder for this evaluation's files.
        download: Fetches a URL of the web, or of the assets.
        now: The clock for relative times in tasks.
        pause: Waits some seconds.
        notes: Remarks that the verdict carries besides the score.
        replayed: Whether the VM is a transcript, which also answers for its browser.
        cdp: `host:port` of the debugging port of the VM's browser, if it was given.
    """

    vm: VmHttp
    scratch: Path
    download: Callable[[str], bytes]
    fidelity: Fidelity = "v2"
    now: Callable[[], datetime] = datetime.now
    pause: Callable[[float], None] = time.sleep
    notes: list[str] = field(default_factory=list)
    replayed: bool = False
    cdp: str | None = None
    _platform: str | None = None

    @property
    def platform(self) -> str:
        """The VM's operating system as Python names it; asked once."""
        # each question starts a Python on the VM, about a second; upstream asks again and again
        if self._platform is None:
            self._platform = self.python("import platform; print(platform.system())").strip()
        return self._platform

    def note(self, text: str) -> None:
        """Add a note to the verdict, once."""
        if text not in self.notes:
            self.notes.append(text)

    def scratch_path(self, name: str) -> Path:
        """Return the path of a scratch file of that name.

        Raises:
            UnsafePathError: The path is outside of this evaluation's folder.
        """
        if not name or "\0" in name:
            raise UnsafePathError(str(name)[:200])
        path = Path(self.scratch, name)
        if self.scratch.resolve() not in path.resolve().parents:
            raise UnsafePathError(name[:200])
        return path

    def file(self, path: str) -> bytes | None:
        """Return a file of the VM; None if it is absent or locked."""
        answer = self.vm.post("/file", form={"file_path": path})
        return answer.body if answer.status == OK else None

    def text(self, path: str) -> str | None:
        """Return a file of the VM as text; None if it is absent or locked."""
        answer = self.vm.post("/file", form={"file_path": path})
        return answer.text if answer.status == OK else None

    def directory(self, path: str | None) -> Any:
        """Return the tree of a folder of the VM; None if it is absent."""
        answer = self.vm.post("/list_directory", json={"path": path})
        return answer.json()["directory_tree"] if answer.status == OK else None

    def desktop(self) -> str | None:
        """Return the path of the VM's desktop."""
        answer = self.vm.post("/desktop_path")
        return str(answer.json()["desktop_path"]) if answer.status == OK else None

    def documents(self) -> str | None:
        """Return the path of the VM's Documents folder."""
        answer = self.vm.post("/documents_path")
        return str(answer.json()["documents_path"]) if answer.status == OK else None

    def holds(self, endpoint: str, asked: Mapping[str, Any]) -> bool:
        """Ask an endpoint that answers 200 for yes and anything else for no."""
        return bool(self.vm.post(endpoint, json=dict(asked)).status == OK)

    def accessibility(self, backend: str | None) -> str | None:
        """Return the accessibility tree as XML."""
        params = {"backend": backend} if backend else None
        answer = self.vm.get("/accessibility", params, timeout_s=_TREE_TIMEOUT_S)
        return answer.json().get("AT") if answer.status == OK else None

    def python(self, code: str) -> str:
        """Run Python on the VM and return its output.

        Raises:
            KeyError: The VM could not start it.
            TypeError: Its answer is not JSON.
        """
        answer = _json_or_none(self._execute(["python", "-c", code]))
        answer["returncode"]  # absent if the VM could not start it
        return str(answer["output"])

    def shell(self, command: str) -> Any:
        """Run a command line on the VM; return the whole answer, None if the VM could not start it."""
        answer = self.vm.post("/execute", json={"command": command}, timeout_s=_COMMAND_TIMEOUT_S)
        return _json_or_none(answer) if answer.status == OK else None

    def registry(self, key: str, value: str) -> Any:
        """Read a registry value; return the whole answer of the command that prints it."""
        return self.shell(
            f"powershell -Command \"Get-ItemPropertyValue -Path '{key}' -Name '{value}'\""
        )

    def _execute(self, command: list[str]) -> VmResponse:
        return self.vm.post(
            "/execute", json={"command": command, "shell": False}, timeout_s=_COMMAND_TIMEOUT_S
        )


def _json_or_none(answer: VmResponse) -> Any:
    """Return the JSON of an answer; None if it is not JSON, as in upstream's controller."""
    try:
        return answer.json()
    except ValueError:
        return None
