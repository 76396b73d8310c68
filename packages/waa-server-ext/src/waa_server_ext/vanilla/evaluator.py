"""Runs vanilla's own `_set_task_info` and `evaluate` on an environment made here.

The environment supplies the attributes that vanilla's code uses (`vm_ip`, `controller`, `setup_controller`,
`cache_dir_base`, `vm_platform`, `action_history`). The code itself is the user's checkout,
unchanged; its calls are observed from outside.
"""

from __future__ import annotations

import contextlib
import copy
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench_core.errors import InputError
from waa_server_ext.evaluation.downloads import HostRule
from waa_server_ext.evaluation.evaluators import VANILLA_KIND, Description, EvaluatorSettings
from waa_server_ext.evaluation.tasks import check_task
from waa_server_ext.evaluation.verdicts import EvaluationFault, SetupReport, Verdict
from waa_server_ext.vanilla.bounds import RequestBounds, bounded, install_bounds
from waa_server_ext.vanilla.checkout import find_checkout, only_host
from waa_server_ext.vanilla.desktop_env import DesktopEnvStandIn, Watch
from waa_server_ext.vanilla.evaluator_loader import load_vanilla
from waa_server_ext.vanilla.verdicts import as_setup_report, as_verdict
from waa_server_ext.vm.client import BodyStore

_LIVE = frozenset({"active_tab_info", "open_tabs_info", "page_info", "pdf_from_url"})
_ASSETS = Path("desktop_env/assets")
_PACKAGES = (
    "lxml", "numpy", "opencv-python-headless", "openpyxl", "pandas", "pillow", "playwright",
    "py7zr", "pymupdf", "python-docx", "rapidfuzz", "requests", "scikit-image", "scipy",
)  # fmt: skip
"""The packages whose version can change a score."""


class VanillaEvaluator:
    """Scores with the evaluators of a checkout.

    It bounds `requests` and changes the current folder of its process: run it in a separate process
    (`waa_server_ext.evaluation.isolation`). One evaluation at a time.

    Raises:
        InputError: The checkout is invalid, cannot be imported, or has another fidelity than requested.
    """

    def __init__(self, settings: EvaluatorSettings) -> None:
        if settings.checkout is None:
            raise InputError("vanilla evaluators need a checkout: give it with --waa-checkout")
        self._settings = settings
        self._checkout = find_checkout(settings.checkout)
        if settings.fidelity not in (None, self._checkout.fidelity):
            raise InputError(
                f"{settings.checkout} is {self._checkout.tree}, which scores as "
                f"{self._checkout.fidelity!r}, not {settings.fidelity!r}: leave --fidelity out, or "
                f"--waa-checkout for the evaluators that come with waa-server-ext"
            )
        self._vanilla = load_vanilla(self._checkout)
        install_bounds(self._vanilla.modules)

    def evaluate(
        self,
        task: Mapping[str, Any],
        action_history: Sequence[str],
        *,
        vm: str,
        deadline: float | None = None,
        replayed: bool = False,
    ) -> Verdict:
        """Score `task` on the VM; see `Evaluator`."""
        check_task(task)
        if replayed and (getter := _live_getter(task["evaluator"])):
            # No score: in a replay the browser would not be reached, which counts as zero
            why = f"{getter} asks a live browser, which vanilla's transcripts do not hold"
            return Verdict(
                score=None,
                reason=f"not scored: {why}",
                evaluation_error=EvaluationFault(
                    phase="evaluate", func=getter, type="NotRecorded", message=why
                ),
                evaluator=VANILLA_KIND,
                fidelity=self._checkout.fidelity,
            )
        started = time.monotonic()
        own = copy.deepcopy(dict(task))  # vanilla writes into it
        watch = Watch()
        with self._bounds(vm, deadline) as bounds, _scratch(self._settings.cache, self._client):
            environment = DesktopEnvStandIn(self._vanilla, watch, bounds.vm, action_history)
            score = watch.run(lambda: environment.score(own))
            return as_verdict(
                task, action_history, score, watch, bounds,
                fidelity=self._checkout.fidelity, total=time.monotonic() - started,
            )  # fmt: skip

    def set_up(
        self, task: Mapping[str, Any], *, vm: str, deadline: float | None = None
    ) -> SetupReport:
        """Run the task's setup steps; see `Evaluator`."""
        check_task(task)
        own = copy.deepcopy(dict(task))
        watch = Watch()
        with self._bounds(vm, deadline) as bounds, _scratch(self._settings.cache, self._client):
            watch.calls = bounds.record
            environment = DesktopEnvStandIn(self._vanilla, watch, bounds.vm, ())
            watch.run(lambda: environment.set_up(own))
        return as_setup_report(watch, bounds, self._checkout.fidelity)

    def describe(self) -> Description:
        """Describe the tree and its capabilities; see `Evaluator`."""
        from bench_core.run_folder import package_versions

        checkout, vanilla = self._checkout, self._vanilla
        return Description(
            kind=VANILLA_KIND,
            fidelity=checkout.fidelity,
            tree=checkout.tree,
            commit=checkout.commit,
            getters=vanilla.getters,
            metrics=vanilla.metrics,
            setup_steps=vanilla.setup_steps,
            stubbed=vanilla.stubbed,
            versions=package_versions(_PACKAGES),
            details={"checkout": str(checkout.root), "digest": checkout.digest},
        )

    @property
    def _client(self) -> Path:
        return self._checkout.client

    @contextlib.contextmanager
    def _bounds(self, vm: str, deadline: float | None) -> Iterator[RequestBounds]:
        host = only_host(vm)
        settings = self._settings
        bounds = RequestBounds(
            settings,
            host,
            HostRule.of(settings, vm),
            deadline,
            BodyStore(settings.cache / "bodies"),
        )
        os.environ["NO_PROXY"] = os.environ["no_proxy"] = f"{host},localhost,127.0.0.1"
        with bounded(bounds):
            yield bounds


@contextlib.contextmanager
def _scratch(cache: Path, client: Path) -> Iterator[None]:
    """Work in a fresh folder that looks like vanilla's; delete it afterwards.

    Vanilla keeps its downloads by task id forever, though tasks share ids and the VM's files
    change; a fresh folder gives the results of vanilla on a fresh machine. Its metrics write to the
    current folder, and two setup steps read an asset relative to it.
    """
    cache.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="evaluation-", dir=cache))
    before = Path.cwd()
    try:
        if (client / _ASSETS).is_dir():
            shutil.copytree(client / _ASSETS, folder / _ASSETS)
        os.chdir(folder)
        yield
    finally:
        os.chdir(before)
        shutil.rmtree(folder, ignore_errors=True)


def _live_getter(evaluator: Mapping[str, Any]) -> str | None:
    """Return the first getter that contacts the VM's browser itself; None without one."""
    asked = [evaluator.get("result"), evaluator.get("expected")]
    parts = [part for each in asked for part in (each if isinstance(each, list) else [each])]
    kinds = (str(part.get("type")) for part in parts if isinstance(part, dict))
    return next((kind for kind in kinds if kind in _LIVE), None)
