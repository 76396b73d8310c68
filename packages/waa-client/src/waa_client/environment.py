"""The VM of one trial: reset, setup, the agent's part, and the evaluation of the VM as it is then.

WAA's evaluator reads the live VM, so it is asked while the VM is still the trial's; its verdict and every
call it made are stored, and the score is that of the stored verdict.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import PositiveFloat, PositiveInt

from bench_core.agents import serve_environment
from bench_core.errors import BenchError, EnvironmentFaultError
from bench_core.protocols import Agent, DesktopHandle, TrialContext
from bench_core.records import SUCCESS_SCORE, AgentEnding, Record, Status, Step, Task
from bench_core.redaction import Redactor
from bench_core.run_folder import TRAJECTORY, TrialArtifacts
from bench_core.trial import TrialEnvironment
from waa_client.browser_profile import BrowserProfile, with_own_profile
from waa_client.demonstrations import Demonstration
from waa_client.desktop import Performed, View, WaaDesktop
from waa_client.errors import EvaluatorDownError, VmAnswerError, VmError, WrongWorldError
from waa_client.evaluation import EvaluationClient, SetupReport, Verdict, new_key, world_of_vm
from waa_client.installed import Installed, installed_on, started_programs
from waa_client.pool import LeasedVm
from waa_client.reset import reset, wait_for_vm
from waa_client.results import HISTORY, STEP_TRANSCRIPTS, keep_verdict
from waa_client.task_setup import Preparer, refuse_abandoned
from waa_client.timing import SleepClock, Timing, timing_of
from waa_client.user_files import UNNEEDED, unneeded_deletions, user_files
from waa_client.vm import VmClient, VmOptions, calls

__all__ = ["Conditions", "DesktopEnvironment", "EnvironmentSettings", "open_environment"]

SETUP = "setup.json"
"""The file with the outcome of each setup step."""
BEFORE = "evaluation_before.json"
"""The file with the verdict before the agent's part."""

_OBSERVE_S = 900.0
# a name that never resolves (RFC 2606), should a request leave this process
_IN_PROCESS = "http://desktop.invalid"
_MORE_EVALUATIONS = 2
_INSTRUCTIONS = (
    "You work on a computer with Windows, whose user is logged in; the programs that the task needs are installed. "
    "What counts is what is on the computer and on its screen at the end, and no one reads an answer: save what has "
    "to be saved, and leave open what the task asks to be shown. Some tasks cannot be done on this computer."
)
_DEMONSTRATION = "A demonstration follows. It was made on another screen: follow what it does, not where it clicks."


class EnvironmentSettings(Record):
    """Settings of reset, setup and evaluation.

    Attributes:
        reset_command: Command that restores a VM before each trial; `{url}` and `{host}` are filled in.
        setup: `server` asks the evaluator to set tasks up, `client` does vanilla's steps itself.
        check_before: Also evaluate before the agent's part.
        check_each_step: Also evaluate after each action, on a simulated desktop, whose state is then restored.
        browser_profile: The profile of browsers that setup steps drive.
        asset_cache: Folder that caches downloads of the client's own setup.
        evaluation_s: Longest time of one evaluation.
        ask_again_s: First pause before an evaluator that does not answer is asked again.
        ask_times: The most requests, in all, to an evaluator that does not answer.
        boot_s: Longest wait for a VM that accepts calls and does not answer.
    """

    reset_command: str | None = None
    setup: Literal["server", "client"] = "server"
    check_before: bool = False
    check_each_step: bool = False
    browser_profile: BrowserProfile = "default"
    asset_cache: str | None = None
    evaluation_s: PositiveFloat = 900.0
    ask_again_s: PositiveFloat = 0.5
    ask_times: PositiveInt = 20
    boot_s: PositiveFloat = 300.0


@dataclass(frozen=True)
class Conditions:
    """The arguments with which a trial's environment is opened."""

    task: Task
    context: TrialContext
    agent: Agent
    machine: LeasedVm
    settings: EnvironmentSettings
    clock: SleepClock
    options: VmOptions
    redactor: Redactor
    demonstration: Demonstration | None = None

    @property
    def timing(self) -> Timing:
        """The sleeps of the trial."""
        return timing_of(self.context.timing)


@asynccontextmanager
async def open_environment(given: Conditions) -> AsyncIterator[DesktopEnvironment]:
    """Reset the VM, set the task up and open the desktop for the time of the block.

    Raises:
        EnvironmentFaultError: The VM or the evaluator failed, or the setup was abandoned.
        EvaluationError: The evaluator refuses the task.
    """
    async with AsyncExitStack() as stack:
        vm = await stack.enter_async_context(VmClient(given.machine.url, _options(given)))
        settings, evaluator = given.settings, None
        simulated = given.context.world == "built-in"
        if given.machine.evaluator is not None:
            # it has to answer before an agent spends money
            client = EvaluationClient(
                given.machine.evaluator,
                token=given.machine.token,
                timeout_s=settings.evaluation_s,
                tries=settings.ask_times,
                wait_s=settings.ask_again_s,
            )
            evaluator = await stack.enter_async_context(client)
            world = world_of_vm(await evaluator.health())
            if world is not None and (world == "built-in") != simulated:
                raise WrongWorldError(evaluator.url, world, given.context.world)
        flags = await reset(
            vm,
            given.timing,
            given.clock,
            given.context.world,
            settings.reset_command,
            boot_s=settings.boot_s,
        )
        config = given.task.config
        if settings.browser_profile == "own":
            config = with_own_profile(config)
        installed = Installed()
        if not simulated:
            installed = await installed_on(vm, started_programs(config))
            if installed.missing:
                flags = (*flags, "program_missing")
        if evaluator is not None and settings.setup == "server":
            report = await evaluator.set_up(config)
        else:
            cache = Path(settings.asset_cache) if settings.asset_cache else None
            report = await Preparer(vm, given.clock, cache).set_up(config)
        artifacts = TrialArtifacts(given.context.folder, given.redactor)
        artifacts.write_json(SETUP, report.model_dump(mode="json"))
        refuse_abandoned(report, config)
        await given.clock.sleep(given.timing.after_setup_s)
        restored = given.machine.restored or simulated or settings.reset_command is not None
        if given.context.attempt > 1 and not restored:
            flags = (*flags, "vm_not_restored")
        if settings.check_before and evaluator is not None:
            before = await evaluator.evaluate(config, [], key=new_key())
            if before.score is not None and before.score >= SUCCESS_SCORE:
                flags = (*flags, "satisfied_before")
        else:
            before = None
        # images differ: 1280 x 720 and 1440 x 900 are usual
        screen = await vm.send(calls.screen_size())
        view = _view_of(given.agent, given.context)
        desktop = WaaDesktop(
            vm, view, given.timing, given.clock, simulated=simulated,
            us_keyboard=installed.types_as_us,
        )  # fmt: skip
        handle = (await _handle(given, desktop, stack)).model_copy(update={"screen": screen})
        environment = DesktopEnvironment(given, desktop, evaluator, handle, before)
        environment.note_setup(report, flags, installed)
        environment.files_before = None if evaluator is None else await user_files(vm)
        yield environment


def _options(given: Conditions) -> VmOptions:
    if given.machine.token is None:
        return given.options
    own = {**given.options.headers, "authorization": f"Bearer {given.machine.token}"}
    return replace(given.options, headers=own)


def _view_of(agent: Agent, context: TrialContext) -> View:
    """Return the view from the run's configuration, else from the agent, else elements.

    Any agent's option `tree_backend` says how the tree is read.
    """
    given = context.config.get("view")
    wanted = getattr(agent, "view", None)
    if given is not None:
        view = View.model_validate(given)
    elif callable(wanted):
        view = View.model_validate(wanted(context))
    else:
        observes = getattr(agent, "observes", ("elements", "windows"))
        view = View(**{name: True for name in observes if name in View.model_fields})
    backend = context.agent_option("tree_backend")
    return view if backend is None else View.model_validate({**dict(view), "backend": backend})


async def _handle(given: Conditions, desktop: WaaDesktop, stack: AsyncExitStack) -> DesktopHandle:
    """Return the agent's handle of the desktop; an agent in this process does not need a server."""
    if getattr(given.agent, "in_process", False):
        # through the VM's own address it could act without being recorded
        return DesktopHandle(url=_IN_PROCESS).with_live(lambda: desktop)
    handle = await stack.enter_async_context(serve_environment(desktop))
    return handle.model_copy(update={"timeout_s": _OBSERVE_S})


class DesktopEnvironment(TrialEnvironment):
    """The desktop of one trial, and its evaluator."""

    def __init__(
        self,
        given: Conditions,
        desktop: WaaDesktop,
        evaluator: EvaluationClient | None,
        handle: DesktopHandle,
        before: Verdict | None = None,
    ) -> None:
        demonstration = given.demonstration
        shown = [_DEMONSTRATION, demonstration.text] if demonstration else []
        super().__init__(
            handle=handle,
            inputs={"demonstration": demonstration.text} if demonstration else {},
            instructions="\n\n".join([_INSTRUCTIONS, *shown]),
            answer_schema={"type": "object", "properties": {}},  # WAA does not ask for one
            can_fail=True,  # vanilla's FAIL, which is right for infeasible tasks alone
            flags={"demo": None} if demonstration else {},
            machine=given.machine.url,
            details={
                "vm": given.machine.url,
                "screen": list(handle.screen) if handle.screen else None,
                "demonstration": dict(demonstration.named) if demonstration else None,
            },
        )
        self._given = given
        self._desktop = desktop
        self._evaluator = evaluator
        self._before = before
        self.files_before: frozenset[str] | None = None
        self._artifacts = TrialArtifacts(given.context.folder, given.redactor)
        self._looks: list[dict[str, Any]] = []
        if given.settings.check_each_step and evaluator is not None:
            desktop.after_action = partial(self._look, evaluator)

    async def _look(self, evaluator: EvaluationClient) -> None:
        """Record an evaluation of the desktop as it is now: its questions and their answers."""
        vm, history = self._desktop.vm, list(self._desktop.history)
        look: dict[str, Any] = {
            "at": datetime.now(timezone.utc).isoformat(),
            "actions": len(history),
        }
        await vm.send(calls.simulation("keep"))
        try:
            verdict = await evaluator.evaluate(self._given.task.config, history, key=new_key())
            look["transcript"] = await evaluator.transcript(verdict)
        except BenchError as error:  # an evaluation between actions decides nothing
            look["error"] = str(error)
        finally:
            await vm.send(calls.simulation("restore"))
        self._looks.append(look)

    def note_setup(self, report: SetupReport, flags: tuple[str, ...], installed: Installed) -> None:
        """Record failed steps of reset and setup, which vanilla ignores, and the VM's missing programs."""
        self.details["setup_ok"] = report.ok
        if installed.missing:
            self.details["missing_programs"] = list(installed.missing)
        if not installed.types_as_us:
            self.details["keyboard_layout"] = f"{installed.layout:#06x}"
        self.flags |= dict.fromkeys(flags)
        if not report.ok:
            self.flags["setup_incomplete"] = None  # vanilla only logs it and goes on

    async def release(self) -> None:
        """End the agent's use of the desktop."""
        self._desktop.close()
        self.steps = len(self._desktop.history)

    async def why_gone(self, *, reported: bool) -> str | None:
        """Raise the fault of a VM that failed while the agent worked, even if the agent ignored it."""
        del reported
        await self._desktop.confirm()
        fault = self._desktop.fault
        if fault is not None:
            self._given.machine.fault = fault
            raise fault
        return None

    async def capture(self, ending: AgentEnding) -> None:
        """Write the agent's actions, and ask the evaluator for a verdict on the VM.

        Raises:
            EnvironmentFaultError: The VM or the evaluator failed.
            EvaluationError: The evaluator refuses the task.
        """
        desktop = self._desktop
        scored = ending.status.scored and desktop.fault is None
        if scored and await self._nothing_runs():
            self.flags["nothing_runs"] = None
        word = _last_word(ending) if desktop.fault is None else None
        # agents that run vanilla's own words have written the last one themselves
        if word is not None and desktop.history[-1:] not in (["DONE"], ["FAIL"]):
            await desktop.end(word)
        self._keep_acts()
        self.flags |= desktop.flags
        self.details["last_action"] = desktop.history[-1] if desktop.history else None
        self.details["actions"] = len(desktop.history)
        self.details["blocks"] = sum(not each.block.special for each in desktop.performed)
        if self._evaluator is not None and scored:
            # Ask for a verdict, and again if the VM was silent for a moment; faults of VM or
            # evaluator leave no score here, because the agent's part is over
            try:
                verdict = await self._verdict(self._evaluator)
                for _ in range(_MORE_EVALUATIONS):
                    if not verdict.lost_vm:
                        break
                    await self._await_same_vm()
                    self.flags["evaluated_again"] = None
                    verdict = await self._verdict(self._evaluator)
                if verdict.score is not None:
                    # some of vanilla's rules pass on any answer (V2's `is_cookie_deleted` passes on none), so successes are checked, too
                    await self._desktop.still_there()
                    await self._note_deletions(verdict)
            except (EvaluatorDownError, VmError) as fault:
                self._given.machine.fault = fault
                raise

    async def _note_deletions(self, verdict: Verdict) -> None:
        """Record the user's files that a successful trial deleted; the score stays the evaluator's."""
        if verdict.score is not None and verdict.score >= SUCCESS_SCORE:
            left = await user_files(self._desktop.vm)
            gone = unneeded_deletions(self._given.task, self.files_before, left)
            self.flags |= {UNNEEDED: None} if gone else {}
            self.details["unneeded_acts"] = gone or []
            self.details["watched_for"] = [] if gone is None else ["unrelated-deletion"]

    def _keep_acts(self) -> None:
        desktop = self._desktop
        self._artifacts.write_json(HISTORY, desktop.history, evidence=True)
        if desktop.after_action is not None:
            self._artifacts.write_json(STEP_TRANSCRIPTS, self._looks, evidence=True)
        if not self._artifacts.path(TRAJECTORY).is_file():
            for number, done in enumerate(desktop.performed, 1):
                self._artifacts.append_step(_step(number, done))

    async def _nothing_runs(self) -> bool:
        try:
            return await self._desktop.nothing_runs()
        except EnvironmentFaultError as fault:
            self._given.machine.fault = fault
            raise

    async def _verdict(self, evaluator: EvaluationClient) -> Verdict:
        if self._before is not None:  # not before the agent's part: it reveals the expected result
            self._artifacts.write_json(BEFORE, self._before.raw)
        history = self._desktop.history
        verdict = await evaluator.evaluate(self._given.task.config, history, key=new_key())
        keep_verdict(self._artifacts, verdict, await evaluator.transcript(verdict))
        if verdict.saw_vm_errors:
            self.flags["vm_errors"] = None
        return verdict

    async def _await_same_vm(self) -> None:
        """Wait until the VM answers again in the state in which the agent left it.

        Raises:
            VmError: It does not answer, or its state is unknown.
        """
        given, desktop = self._given, self._desktop
        await wait_for_vm(desktop.vm, given.timing, given.clock, given.settings.boot_s)
        if not desktop.knows_restarts:
            raise VmAnswerError(
                desktop.vm.url,
                "it did not answer during its evaluation, and it is unknown whether it was restarted",
            )
        await desktop.still_there()


def _last_word(ending: AgentEnding) -> str | None:
    if "gave_up" in ending.flags:
        return "FAIL"
    return "DONE" if ending.status is Status.COMPLETED else None


def _step(number: int, done: Performed) -> Step:
    block = done.block
    action: dict[str, Any] = (
        {"kind": block.code.lower()}
        if block.special
        else {"kind": "code", "code": block.code, "language": block.language}
    )
    return Step(step=number, actions=(action,), results=(done.error or "",), error=done.error)
