"""A Windows desktop as agents know it: look at it, act on it, and what was done as WAA records it."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from bench_core.agents.records import ActionResult, Observation, Wait
from bench_core.errors import AgentError, EnvironmentFaultError
from bench_core.models.records import ImagePart
from bench_core.records import Record
from waa_client.actions import Block, Screen, UntranslatableError, translate
from waa_client.actions.duration import outlasts
from waa_client.errors import VmAnswerError, VmError, VmTimeoutError, VmUnreachableError
from waa_client.pace import PACES, RealClock
from waa_client.seeing import TreeError, draw_marks, elements_of, is_still
from waa_client.vm import calls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench_core.agents.records import Action, Element
    from waa_client.pace import Clock, Pace
    from waa_client.vm import Picture, VmClient, WindowView
    from waa_client.vm.wire import Call

__all__ = ["Performed", "View", "WaaDesktop"]

_T = TypeVar("_T")
_UNTOLD = "'NoneType' object has no attribute"
_IS_TOLD = "assert computer.mouse is not None"
_RUNS = "pass"
_FAIL_SAFE = "fail-safe"
_PYAUTOGUI = "import pyautogui; import time; pyautogui.FAILSAFE = False; {code}"
_OUT_OF_CORNER = _PYAUTOGUI.format(code="pyautogui.moveTo(20, 20)")
_CODE_S = 90.0
_CHARACTERS_PER_SECOND = 50


class View(Record):
    """What an agent wants to see beside the screenshot; nothing else is fetched.

    Attributes:
        elements: A list of elements with ids, from the accessibility tree.
        marks: The elements' ids drawn on the screenshot.
        tree: The accessibility tree as text.
        windows: The foreground window and the titles of all windows.
        backend: Who reads the tree: `win32` is quick, `uia` sees more and may take minutes.
    """

    elements: bool = False
    marks: bool = False
    tree: bool = False
    windows: bool = False
    backend: calls.Backend = "win32"

    @property
    def needs_tree(self) -> bool:
        """Whether the accessibility tree must be read."""
        return self.elements or self.marks or self.tree


class Performed(Record):
    """One action that was done, for the record.

    Attributes:
        block: What ran, or one of the words.
        error: Why it failed, in the server's words.
    """

    block: Block
    error: str | None = None


class WaaDesktop:
    """The desktop of one VM during one trial; an `Environment` of bench-core.

    Every action is written to `history` just as vanilla writes it: the code block, or WAIT, DONE or
    FAIL. An action that WAA cannot do is told to the agent and not recorded, for it never ran.

    A fault of the VM is kept in `fault`, whatever the agent makes of it: it worked on a desktop that
    was not there.

    Args:
        vm: The VM's API.
        view: What the agent wants to see.
        pace: How long to wait for what.
        clock: Sleeps.
    """

    def __init__(
        self, vm: VmClient, view: View | None = None, pace: Pace = PACES["fast"],
        clock: Clock | None = None,
    ) -> None:  # fmt: skip
        self.vm = vm
        self.view = view or View()
        self.pace = pace
        self.history: list[str] = []
        self.performed: list[Performed] = []
        self.fault: EnvironmentFaultError | None = None
        self.flags: dict[str, None] = {}
        self.window: WindowView | None = None
        self._clock = clock or RealClock()
        self._screen: Screen | None = None
        self._settled: Picture | None = None
        self._told: object = None
        self._closed = False
        self._asked: dict[int, Call[Any]] = {}
        self._cut_off: Call[Any] | None = None

    async def observe(self) -> Observation:
        """Look at the desktop; see `bench_core.agents.Environment`."""
        with self._lent():
            return await self._observe()

    async def act(self, action: Action) -> ActionResult:
        """Do one thing; see `bench_core.agents.Environment`."""
        with self._lent():
            return await self._act(action)

    async def run(self, block: Block) -> ActionResult:
        """Run a block as it is and record it; for agents that write WAA's code themselves.

        Raises:
            EnvironmentFaultError: The VM does not answer, or was restarted.
        """
        with self._lent():
            return await self._run(block)

    async def screenshot(self) -> Picture:
        """Take a picture, or give the one that was taken to see that the screen is still."""
        with self._lent():
            return await self._screenshot()

    async def picture(self) -> Picture:
        """Return the picture of the latest observation."""
        with self._lent():
            await self._known_screen()
            return self._picture

    async def ask(self, call: Call[_T]) -> _T:
        """Make any other call of the VM's API for the agent; see `waa_client.vm.VmClient.send`."""
        with self._lent():
            return await self._ask(call)

    def told_by_agent(self) -> None:
        """Note that an agent has sent `/update_computer` itself, which must not be overwritten."""
        self._told = _aim(self._screen)

    def close(self) -> None:
        """Take the desktop away from its agent: nothing it asks for from now on is done."""
        self._closed = True
        self._cut_off = next(iter(self._asked.values()), self._cut_off)

    async def confirm(self) -> None:
        """Look whether the VM still answers what it was asked when the agent was cut off.

        An agent that runs out of time while its VM stalls has not failed; one whose VM answers at
        once has. A stalled VM becomes the desktop's `fault`.
        """
        if self._cut_off is None or self.fault is not None:
            return
        look = self._cut_off if self._cut_off.repeatable else calls.screenshot()
        try:
            await self.vm.send(replace(look, repeatable=False))
        except VmUnreachableError as error:
            self.fault = error
        except VmError:
            return  # it answers; whether that can be used was the agent's to see

    async def still_there(self) -> None:
        """See that the VM works and is the one the agent left; for after its part.

        Raises:
            VmError: It does not, or its server was restarted: what it shows is not the agent's doing.
        """
        await self.vm.send(calls.probe())
        await self.vm.send(calls.screenshot())
        if self._told is None or (await self.vm.send(calls.execute_windows(_IS_TOLD))).ok:
            return
        if (await self.vm.send(calls.execute_windows(_RUNS))).ok:  # else no code runs at all
            raise VmAnswerError(self.vm.url, "its server was restarted after the agent's part")

    @property
    def knows_restarts(self) -> bool:
        """Whether `still_there` would notice that the VM's server was restarted."""
        return self._told is not None

    async def end(self, word: str) -> None:
        """Record how the agent ended, as vanilla's history does: DONE or FAIL."""
        await self._run(Block(code=word))

    async def nothing_runs(self) -> bool:
        """Whether every block failed, and one that does nothing fails, too.

        Raises:
            EnvironmentFaultError: The VM does not answer.
        """
        blocks = [each for each in self.performed if not each.block.special]
        if not blocks or any(each.error is None for each in blocks):
            return False
        return await self._send(Block(code=_RUNS, language=blocks[-1].block.language)) is not None

    @contextmanager
    def _lent(self) -> Iterator[None]:
        """Refuse what comes after the trial, and remember the first fault."""
        if self._closed:
            raise AgentError("the trial is over: its desktop was taken away")
        try:
            yield
        except EnvironmentFaultError as error:
            self.fault = self.fault or error
            raise

    async def _ask(self, call: Call[_T]) -> _T:
        """Make a call, and remember it should the agent be cut off meanwhile."""
        key = id(call)
        self._asked[key] = call
        try:
            return await self.vm.send(call)
        except asyncio.CancelledError:
            self._cut_off = call
            raise
        finally:
            del self._asked[key]

    async def _run(self, block: Block) -> ActionResult:
        try:
            block.code.encode()
        except UnicodeEncodeError as problem:
            return ActionResult(ok=False, error=f"the code cannot be sent: {problem}")
        self.history.append(block.code)
        error = None
        if block.special:
            if block.code == "WAIT":
                await self._clock.sleep(self.pace.after_action_s)
        else:
            error = await self._send(block)
        self.performed.append(Performed(block=block, error=error))
        await self._settle(ended=block.code in {"DONE", "FAIL"})
        if error is not None:
            return ActionResult(ok=False, error=error)
        return ActionResult(text="; ".join(block.notes))

    async def _screenshot(self) -> Picture:
        settled, self._settled = self._settled, None
        if settled is not None:
            return settled
        return await self._ask(calls.screenshot())

    async def _observe(self) -> Observation:
        picture = await self._screenshot()
        size = self._screen.size if self._screen else await self._ask(calls.screen_size())
        wants_windows = self.view.windows or self.pace.window_always
        self.window = window = await self._window() if wants_windows else None
        tree = await self._tree(picture) if self.view.needs_tree else ("", ())
        self._screen = _screen(size, picture, tree[1], window)
        if self.pace.update_always:
            await self._tell(picture)
        self._picture = picture
        return self._observation(picture, window, tree)

    def _observation(
        self, picture: Picture, window: WindowView | None, tree: tuple[str, tuple[Element, ...]]
    ) -> Observation:
        text, elements = tree
        titles = window.windows if window else ()
        active = titles.index(window.title) if window and window.title in titles else None
        marked = draw_marks(picture.data, elements) if self.view.marks else None
        return Observation(
            screenshot=ImagePart.from_bytes(picture.data, "image/png"),
            marked=ImagePart.from_bytes(marked, "image/png") if marked else None,
            size=picture.size,
            title=window.title if window else None,
            tabs=titles,
            active_tab=active,
            elements=elements if self.view.elements or self.view.marks else (),
            text=text if self.view.tree else None,
        )

    async def _window(self) -> WindowView | None:
        """Look at the foreground window; the server cannot while Windows asks for permission."""
        try:
            return await self._ask(calls.obs_winagent())
        except VmAnswerError:
            self.flags["window_unknown"] = None
            return None

    async def _tree(self, picture: Picture) -> tuple[str, tuple[Element, ...]]:
        for _ in range(2):  # a tree read while windows change may be torn; the next one is not
            xml = await self._ask(calls.accessibility(self.view.backend))
            try:
                return xml, elements_of(xml, picture.size)
            except TreeError as error:
                fault = VmAnswerError(self.vm.url, str(error))
        raise fault

    async def _act(self, action: Action) -> ActionResult:
        screen = await self._known_screen()
        try:
            block = translate(action, screen)
        except UntranslatableError as error:
            return ActionResult(ok=False, error=str(error))
        for note in block.notes:
            self.flags["corner_moved" if "corner" in note else "text_changed"] = None
        if isinstance(action, Wait) and self.pace.settle_s:
            await self._clock.sleep(max(0.0, action.seconds - self.pace.after_action_s))
        return await self._run(block)

    async def _known_screen(self) -> Screen:
        if self._screen is None:
            await self._observe()
        assert self._screen is not None  # noqa: S101  # observed
        return self._screen

    async def _send(self, block: Block) -> str | None:
        """Run the code and return why it failed, if it did."""
        if block.language == "pyautogui":
            command = ["python", "-c", _PYAUTOGUI.format(code=block.code)]
            done = await self._ask(calls.execute(command))
            return None if done.ok else done.error or f"return code {done.returncode}"
        await self._tell_if_needed()
        timeout_s = _CODE_S + len(block.code) / _CHARACTERS_PER_SECOND
        try:
            outcome = await self._ask(calls.execute_windows(block.code, timeout_s=timeout_s))
        except VmTimeoutError:
            if not outlasts(block.code, timeout_s):
                raise
            await self._ask(calls.probe())  # the VM works, and the block does what it says
            return f"the block did not end within {timeout_s:g} s"
        if outcome.ok:
            return None
        said = outcome.error or "the block failed"
        if said.startswith(_UNTOLD):
            await self._refuse_restarted(said)
        if _FAIL_SAFE in said:
            await self._leave_corner()
        return said

    async def _refuse_restarted(self, said: str) -> None:
        """`computer` is empty until somebody told it the screen, and we had; else the code is wrong."""
        if not (await self._ask(calls.execute_windows(_IS_TOLD))).ok:
            raise VmAnswerError(self.vm.url, f"its server was restarted during the trial: {said}")

    async def _leave_corner(self) -> None:
        """Move the pointer out of the corner, or every later action fails too."""
        self.flags["failsafe_tripped"] = None
        await self._ask(calls.execute(["python", "-c", _OUT_OF_CORNER]))

    async def _tell_if_needed(self) -> None:
        if self._screen is None:
            await self._observe()
        if self._told != _aim(self._screen):
            await self._tell(self._picture)

    async def _tell(self, picture: Picture) -> None:
        """Send `/update_computer`: where elements are, and what `move_abs` is a fraction of."""
        screen = self._screen
        assert screen is not None  # noqa: S101  # the callers know it
        scale = (screen.size[0] / screen.seen[0], screen.size[1] / screen.seen[1])
        rects = list(screen.rects.values())
        await self._ask(
            calls.update_computer(rects, (0, 0, *screen.size), picture.data, scale=scale)
        )
        self._told = _aim(screen)

    async def _settle(self, *, ended: bool) -> None:
        """Wait until the action has had its effect; the last picture is the next observation."""
        self._settled = None
        await self._clock.sleep(self.pace.after_action_s)
        if ended or not self.pace.settle_s:
            return
        end = self._clock.now() + self.pace.settle_s
        before = await self._glance()
        while before is not None and self._clock.now() < end:
            await self._clock.sleep(self.pace.poll_s)
            after = await self._glance()
            if after is None or is_still(before.data, after.data):
                self._settled = after
                return
            before = after
        self._settled = before

    async def _glance(self) -> Picture | None:
        """Take a picture; a torn one only means to look again when somebody asks."""
        try:
            return await self._ask(calls.screenshot())
        except VmUnreachableError:
            raise
        except VmAnswerError:
            return None


def _aim(screen: Screen | None) -> object:
    """Return the part of the screen that code blocks must know."""
    return None if screen is None else (screen.size, screen.view, screen.rects)


def _screen(
    size: tuple[int, int],
    picture: Picture,
    elements: tuple[Element, ...],
    window: WindowView | None,
) -> Screen:
    rects = {}
    for each in elements:
        x, y, width, height = map(int, each.rect or (0, 0, 0, 0))
        rects[each.id] = (x, y, x + width, y + height)
    view = None if picture.size == size else picture.size
    return Screen(size=size, view=view, rects=rects, titles=window.windows if window else ())
