"""The Windows desktop of a trial: observations, actions, and the action history as WAA records it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import Any, TypeVar

from bench_core.agents import (
    Action,
    ActionResult,
    Click,
    Element,
    ElementRef,
    Observation,
    PointerPosition,
    ReadPage,
    SwitchTab,
    Target,
    TypeText,
    Wait,
    Zoom,
    clicked_text,
    draw_marks,
    lines_from,
    typed_text,
)
from bench_core.errors import AgentError, EnvironmentFaultError
from bench_core.models import ImagePart
from bench_core.records import Record
from waa_client.actions import OFFERS, Block, DesktopScreen, UntranslatableError, translate
from waa_client.actions.duration import outlasts
from waa_client.errors import (
    TreeUnreadableError,
    VmAnswerError,
    VmError,
    VmTimeoutError,
    VmUnreachableError,
)
from waa_client.observations import (
    NestedElement,
    TreeError,
    control_at,
    controls_of,
    enlarged,
    is_still,
    looks_as_before,
    numbered,
    same_control,
)
from waa_client.timing import TIMINGS, RealClock, SleepClock, Timing
from waa_client.vm import VmClient, VmPicture, WindowView, calls
from waa_client.vm.wire import VmCall

__all__ = ["Performed", "View", "WaaDesktop"]

_T = TypeVar("_T")
# Before the first `/update_computer`, and after a restart, the parts of `computer` are None.
_NO_COMPUTER = "'NoneType' object has no attribute"
_KNOWS_SCREEN = "assert computer.mouse is not None"
_NOTHING = "pass"
_SHELL = "Program Manager"
_FAIL_SAFE = "fail-safe"
# As vanilla's action space `pyautogui` wraps code; with the fail-safe on it would raise in a corner.
_PYAUTOGUI = "import pyautogui; import time; pyautogui.FAILSAFE = False; {code}"
_POSITION = "import pyautogui; at = pyautogui.position(); print(at[0], at[1])"
_POINT = re.compile(r"(-?\d+) (-?\d+)")
_OUT_OF_CORNER = _PYAUTOGUI.format(code="pyautogui.moveTo(20, 20)")
_QUICK_TREE_S = 1.0  # slower trees are read only if needed
_TEXTUAL = frozenset({"textbox", "combobox"})
_LONGEST_LINE = 2000
_MOST_COMPARED = 1000  # a server may truncate longer texts
_EVERYWHERE = (1_000_000, 1_000_000)
_NOWHERE = (-1.0, -1.0, 0.0, 0.0)
# Vanilla's own client waits 90 s; a block with a long text to type takes longer.
_CODE_S = 90.0
_CHARACTERS_PER_SECOND = 50


class View(Record):
    """The parts of an observation besides the screenshot; parts not chosen are not fetched.

    Attributes:
        elements: A list of elements with ids, from the accessibility tree.
        marks: The elements' ids drawn on the screenshot.
        tree: The accessibility tree as text.
        windows: The foreground window and the titles of all windows.
        backend: The way of reading the tree: `uia`, as WAA's own agent does; `win32` is quick and sees only
            classic controls.
    """

    elements: bool = False
    marks: bool = False
    tree: bool = False
    windows: bool = False
    backend: calls.Backend = "uia"

    @property
    def needs_tree(self) -> bool:
        """Whether the accessibility tree must be read."""
        return self.elements or self.marks or self.tree


class Performed(Record):
    """One action that was carried out, for the record.

    Attributes:
        block: The code that ran, or one of the words.
        error: Why it failed, in the server's words.
    """

    block: Block
    error: str | None = None


class WaaDesktop:
    """The desktop of one VM during one trial; an `Environment` of bench-core.

    Every action is written to `history` as vanilla writes it: the code block, or WAIT, DONE or FAIL.
    An action that WAA cannot do is an error for the agent and is not recorded, because it never ran.

    `after_action` is awaited after each action, before the next observation.

    A fault of the VM is kept in `fault`, even if the agent ignores it, because the agent then worked on
    a desktop that did not answer.

    Args:
        vm: The VM's API.
        view: The parts of observations that the agent gets.
        timing: The sleeps and waits.
        clock: The clock for sleeps.
        simulated: Whether actions alone advance the desktop's time.
        us_keyboard: Whether the keyboard has the United States layout; else only letters and digits are typed.
    """

    def __init__(
        self, vm: VmClient, view: View | None = None, timing: Timing = TIMINGS["fast"],
        clock: SleepClock | None = None, *, simulated: bool = False, us_keyboard: bool = True,
    ) -> None:  # fmt: skip
        self.vm = vm
        self.view = view or View()
        self.timing = timing
        self.history: list[str] = []
        self.performed: list[Performed] = []
        self.fault: EnvironmentFaultError | None = None
        self.after_action: Callable[[], Awaitable[None]] | None = None
        self.flags: dict[str, None] = {}
        self.window: WindowView | None = None
        self._simulated = simulated
        self._us_keyboard = us_keyboard
        self._controls: dict[str, NestedElement] = {}
        self._numbers = count()  # an id never stands for a second element
        self._tree_s = 0.0
        self._window_now: WindowView | None = None
        self._clock = clock or RealClock()
        self._screen: DesktopScreen | None = None
        self._settled: VmPicture | None = None
        self._sent: object = None
        self._closed = False
        self._asked: dict[int, VmCall[Any]] = {}
        self._cut_off: VmCall[Any] | None = None

    async def offers(self) -> frozenset[str]:
        """Return the kinds of actions that work on a desktop; see `bench_core.agents.Offering`."""
        # a window is brought to the front by its position in the list of windows
        missing = set() if self.view.windows else {"switch_tab"}
        return OFFERS - missing - (set() if self.view.elements else {"read_page"})

    async def observe(self) -> Observation:
        """Observe the desktop; see `bench_core.agents.Environment`."""
        with self._in_use():
            return await self._observe()

    async def act(self, action: Action) -> ActionResult:
        """Carry out one action; see `bench_core.agents.Environment`."""
        with self._in_use():
            return await self._act(action)

    async def run(self, block: Block) -> ActionResult:
        """Run a block unchanged and record it; for agents that write WAA's code themselves.

        Raises:
            EnvironmentFaultError: The VM does not answer, or was restarted.
        """
        with self._in_use():
            return await self._run(block)

    async def screenshot(self) -> VmPicture:
        """Take a screenshot, or return the one that showed that the screen had settled."""
        with self._in_use():
            return await self._screenshot()

    async def picture(self) -> VmPicture:
        """Return the screenshot of the latest observation."""
        with self._in_use():
            await self._known_screen()
            return self._picture

    async def ask(self, call: VmCall[_T]) -> _T:
        """Make any other call of the VM's API for the agent; see `waa_client.vm.VmClient.send`."""
        with self._in_use():
            return await self._ask(call)

    def keep_agents_update(self) -> None:
        """Note that an agent has sent `/update_computer` itself, which must not be overwritten."""
        self._sent = _aim(self._screen)

    def close(self) -> None:
        """End the agent's use of the desktop: later calls are refused."""
        self._closed = True
        self._cut_off = next(iter(self._asked.values()), self._cut_off)

    async def confirm(self) -> None:
        """Check whether the VM answers the call that was open when the agent was cut off.

        An agent that runs out of time while its VM stalls has not failed; one whose VM answers at
        once has. A stalled VM becomes the desktop's `fault`.
        """
        if self._cut_off is None or self.fault is not None:
            return
        # an action must not be sent twice, so only a look is repeated
        look = self._cut_off if self._cut_off.repeatable else calls.screenshot()
        try:
            await self.vm.send(replace(look, repeatable=False))
        except VmUnreachableError as error:
            self.fault = error
        except VmError:
            return  # any answer will do for this check

    async def still_there(self) -> None:
        """Check after the agent's part that the VM works and was not restarted.

        Raises:
            VmError: It does not work, or its server was restarted, so that its state is not the agent's.
        """
        await self.vm.send(calls.probe())
        await self.vm.send(calls.screenshot())
        if self._sent is None or (await self.vm.send(calls.execute_windows(_KNOWS_SCREEN))).ok:
            return
        if (await self.vm.send(calls.execute_windows(_NOTHING))).ok:  # else no code runs at all
            raise VmAnswerError(self.vm.url, "its server was restarted after the agent's part")

    @property
    def knows_restarts(self) -> bool:
        """Whether `still_there` detects a restart of the VM's server."""
        return self._sent is not None

    async def end(self, word: str) -> None:
        """Record how the agent ended, as vanilla's history does: DONE or FAIL."""
        await self._run(Block(code=word))

    async def nothing_runs(self) -> bool:
        """Return whether every block failed, including a block without effect now.

        Raises:
            EnvironmentFaultError: The VM does not answer.
        """
        blocks = [each for each in self.performed if not each.block.special]
        if not blocks or any(each.error is None for each in blocks):
            return False
        return (
            await self._send(Block(code=_NOTHING, language=blocks[-1].block.language)) is not None
        )

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        """Refuse calls after the trial, and keep the first fault."""
        if self._closed:
            raise AgentError("the trial is over: its desktop takes no more calls")
        try:
            yield
        except EnvironmentFaultError as error:
            self.fault = self.fault or error
            raise

    async def _ask(self, call: VmCall[_T]) -> _T:
        """Make a call, and note it if the agent is cut off meanwhile."""
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
        # before it runs, as in vanilla, so that failed actions are in the history, too
        self.history.append(block.code)
        error = None
        if block.special:
            if block.code == "WAIT":
                await self._clock.sleep(self.timing.after_action_s)
        else:
            error = await self._send(block)
        self.performed.append(Performed(block=block, error=error))
        await self._settle(ended=block.code in {"DONE", "FAIL"})
        if self.after_action is not None:
            await self.after_action()
        if error is not None:
            return ActionResult(ok=False, error=error)
        return ActionResult(text="; ".join(block.notes))

    async def _screenshot(self) -> VmPicture:
        settled, self._settled = self._settled, None
        if settled is not None:
            return settled
        return await self._ask(calls.screenshot())

    async def _observe(self) -> Observation:
        picture = await self._screenshot()
        size = self._screen.size if self._screen else await self._ask(calls.screen_size())
        wants_windows = self.view.windows or self.timing.window_always
        if wants_windows:
            self.window = self._window_now or await self._window()
            self._window_now = None
        window = self.window
        text, controls = await self._tree(picture) if self.view.needs_tree else ("", ())
        controls = numbered(self._controls.values(), controls, self._numbers)
        self._controls = {each.element.id: each for each in controls}
        tree = (text, tuple(each.element for each in controls))
        screen = _screen(size, picture, tree[1], window)
        self._screen = screen.model_copy(update={"us_keyboard": self._us_keyboard})
        if self.timing.update_always:
            await self._send_screen(picture)
        self._picture = picture
        text, elements = tree
        titles = _titles(window)
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
            notices=self._missing(elements, window, unread=self.view.needs_tree and not text),
        )

    def _missing(
        self, elements: tuple[Element, ...], window: WindowView | None, *, unread: bool
    ) -> tuple[str, ...]:
        """Say which controls are missing from the list, lest an empty list be taken for an empty window."""
        if unread:
            return ("The controls cannot be read now: act on points of the picture.",)
        if not (self.view.elements or self.view.marks):
            return ()
        left, top, right, bottom = window.rect if window else (0, 0, *_EVERYWHERE)
        if not any(
            left <= x + width / 2 < right and top <= y + height / 2 < bottom
            for x, y, width, height in (each.rect or _NOWHERE for each in elements)
        ):
            return (
                "The window in front has no controls in the list: act on points of the picture.",
            )
        if "uia_too_slow" in self.flags:
            return (
                "Only classic controls are in the list: act on points of the picture for others.",
            )
        return ()

    async def _window(self) -> WindowView | None:
        """Return the foreground window; None while Windows shows its secure desktop, which fails the server."""
        try:
            return await self._ask(calls.obs_winagent())
        except VmAnswerError:
            self.flags["window_unknown"] = None
            return None

    async def _tree(self, picture: VmPicture) -> tuple[str, tuple[NestedElement, ...]]:
        """Read the controls, as XML and as elements; no XML if they cannot be read."""
        began = self._clock.now()
        # a tree read while windows change may be incomplete or fail; the next one is whole
        for _ in range(2):
            try:
                xml = await self._xml()
                found = xml, controls_of(xml, picture.size)
                self._tree_s = self._clock.now() - began
                return found  # noqa: TRY300  # failures are caught below
            except (TreeError, TreeUnreadableError) as error:  # noqa: PERF203  # twice at most
                problem = error
        if isinstance(problem, TreeError):
            raise VmAnswerError(self.vm.url, str(problem))
        self.flags["tree_unknown"] = None  # vanilla goes on without a tree, too
        return "", ()

    async def _xml(self) -> str:
        if self.view.backend == "uia" and "uia_too_slow" not in self.flags:
            call = calls.accessibility("uia", timeout_s=self.timing.uia_s)
            try:
                return await self._ask(replace(call, repeatable=False))
            except VmTimeoutError:
                # an application that does not answer would take this long at every step
                self.flags["uia_too_slow"] = None
        return await self._ask(calls.accessibility("win32"))

    async def _act(self, action: Action) -> ActionResult:
        screen = await self._known_screen()
        if isinstance(action, Zoom | ReadPage):
            return await (self._zoom(action) if isinstance(action, Zoom) else self._read(action))
        if isinstance(action, PointerPosition):
            return await self._where(screen)
        gone = await self._look_again(action)
        if gone is not None:
            return ActionResult(ok=False, error=gone)
        if isinstance(action, TypeText):
            return await self._type(action)
        if not isinstance(action, Click):
            return await self._do(action)
        there = await self._under(action.target)
        result = await self._do(action)
        return (
            result if there is None else _saying(result, clicked_text(action, there.element.called))
        )

    async def _do(self, action: Action) -> ActionResult:
        try:
            block = translate(action, self._shown)
        except UntranslatableError as error:
            return ActionResult(ok=False, error=str(error))
        for note in block.notes:
            self.flags["corner_moved" if "corner" in note else "text_changed"] = None
        if isinstance(action, Wait):
            if self._simulated:
                await self._ask(
                    calls.execute(["python", "-c", f"import time; time.sleep({action.seconds:g})"])
                )
            elif self.timing.settle_s:
                # vanilla's WAIT has a fixed length, so the remaining time is slept here
                await self._clock.sleep(max(0.0, action.seconds - self.timing.after_action_s))
        result = await self._run(block)
        if block.special or not self.view.windows:
            return result
        before, self._window_now = self.window, await self._window()
        self.window = self._window_now
        changed = _changed(before, self.window)
        wanted = self._shown.titles[action.index] if isinstance(action, SwitchTab) else None
        asked = changed != "" and self.window is not None and self.window.title == wanted
        # WAA's own function maximizes the window that it brings to the front
        text = "maximized" if isinstance(action, SwitchTab) else result.text
        return result.model_copy(update={"text": text, "changed": changed, "asked": asked})

    async def _look_again(self, action: Action) -> str | None:
        """Update the positions of the elements that `action` aims at; return a message if one is gone, else None.

        The desktop may have changed while the agent thought, and by the earlier actions of its turn.
        """
        places = [getattr(action, name, None) for name in ("target", "start", "end")]
        places += getattr(action, "path", ())
        named = [each.element for each in places if isinstance(each, ElementRef)]
        aimed = {each: self._controls[each] for each in named if each in self._controls}
        if not aimed or (self._tree_s >= _QUICK_TREE_S and await self._unmoved(aimed.values())):
            return None
        xml, now = await self._tree(self._picture)
        if not xml:
            looks_the_same = await self._unmoved(aimed.values())
            return None if looks_the_same else "the controls cannot be read now: act on a point"
        rects = dict(self._shown.rects)
        for name, control in aimed.items():
            found = same_control(control, now)
            if found is None:
                everything = controls_of(xml, self._picture.size, covered=True)
                why = "covered" if same_control(control, everything) else "gone"
                return f"the element {name}, {control.element.called}, is {why}: what is shown below is new"
            rects[name] = _corners(found.element)
        self._screen = self._shown.model_copy(update={"rects": rects})
        return None

    async def _unmoved(self, controls: Iterable[NestedElement]) -> bool:
        """Return whether the picture is unchanged at the controls' old positions."""
        picture = await self._ask(calls.screenshot())
        return all(
            looks_as_before(self._picture.data, picture.data, each.element.rect or _NOWHERE)
            for each in controls
        )

    async def _under(self, target: Target | None) -> NestedElement | None:
        """Return the control that a press would hit, None if that is unknown or slow to find out."""
        if isinstance(target, ElementRef):
            return self._controls.get(target.element)
        if target is None or not self._reads_quickly:
            return None
        seen = self._shown.seen
        xml, _ = await self._tree(self._picture)
        return control_at(xml, seen, target.pixels(seen)) if xml else None

    @property
    def _reads_quickly(self) -> bool:
        return self._simulated or (self.view.needs_tree and self._tree_s < _QUICK_TREE_S)

    async def _type(self, action: TypeText) -> ActionResult:
        """Type, and name the field; fail if it still has its old text."""
        field = await self._under(action.target)
        if action.target is None and self._reads_quickly:
            _, now = await self._tree(self._picture)
            field = next((each for each in now if "focused" in each.element.states), None)
        result = await (self._type_over(action) if action.clear else self._do(action))
        if field is None or field.element.role not in _TEXTUAL or not result.ok:
            return result
        had = field.element.value or ""
        stays = not action.enter and not {"\n", "\t"} & {*action.text}
        if stays and self._reads_quickly and 0 < len(had) < _MOST_COMPARED:
            _, now = await self._tree(self._picture)
            after = same_control(field, now)
            if after is not None and after.element.value == had and action.text not in had:
                error = f"{field.element.called} did not take the text: it has what it had before"
                return ActionResult(ok=False, error=error)
        return _saying(result, typed_text(action, field.element.called))

    async def _type_over(self, action: TypeText) -> ActionResult:
        """Select the text of a field and type over it; elsewhere the keys would select, and delete, other things."""
        target = action.target
        known = self._controls.get(target.element) if isinstance(target, ElementRef) else None
        if known is not None and known.element.role == "textbox":
            return await self._do(action)
        if target is not None:
            clicked = await self._do(Click(target=target))
            if not clicked.ok:
                return clicked
        _, now = await self._tree(self._picture)
        if any("focused" in each.element.states and each.element.role in _TEXTUAL for each in now):
            return await self._do(action.model_copy(update={"target": None}))
        return ActionResult(
            ok=False,
            error="nothing was typed: `clear` replaces the text of a text field, and none has the focus",
        )

    async def _read(self, action: ReadPage) -> ActionResult:
        """Return the whole text of an element, as the list shows only its beginning."""
        wanted = self._controls.get(action.element)
        if wanted is None:
            return ActionResult(ok=False, error=f"there is no element {action.element!r}")
        _, now = await self._tree(self._picture)
        found = (same_control(wanted, now) or wanted).element
        lines = (found.value or found.name).splitlines()
        return ActionResult(text=lines_from(action.start, _folded(lines), "read_text"))

    async def _zoom(self, action: Zoom) -> ActionResult:
        picture = await self._screenshot()
        try:
            part = enlarged(picture.data, action.region)
        except ValueError as error:
            return ActionResult(ok=False, error=str(error))
        return ActionResult(image=ImagePart.from_bytes(part, "image/png"))

    async def _where(self, screen: DesktopScreen) -> ActionResult:
        """Return the pointer's position, in pixels of the picture; not an action of WAA's history."""
        done = await self._ask(calls.execute(["python", "-c", _POSITION]))
        found = _POINT.search(done.output or "")
        if not done.ok or found is None:
            return ActionResult(ok=False, error=done.error or "the position is not known")
        x, y = (
            int(at) * view // size
            for at, view, size in zip(found.groups(), screen.seen, screen.size, strict=True)
        )
        return ActionResult(text=f"X={x},Y={y}")

    @property
    def _shown(self) -> DesktopScreen:
        """The screen that was observed last."""
        if self._screen is None:
            raise RuntimeError("the screen has not been observed yet")
        return self._screen

    async def _known_screen(self) -> DesktopScreen:
        if self._screen is None:
            await self._observe()
        return self._shown

    async def _send(self, block: Block) -> str | None:
        """Run the code; return the reason for a failure, None on success."""
        if block.language == "pyautogui":
            command = ["python", "-c", _PYAUTOGUI.format(code=block.code)]
            done = await self._ask(calls.execute(command))
            return None if done.ok else done.error or f"return code {done.returncode}"
        if self._screen is None:
            await self._observe()
        if self._sent != _aim(self._screen):
            await self._send_screen(self._picture)
        error = await self._run_in_server(block.code)
        if error is not None and error.startswith(_NO_COMPUTER):
            await self._refuse_restarted(error)
        if error is not None and _FAIL_SAFE in error:
            # Move the pointer out of the corner: PyAutoGUI's fail-safe would fail every later
            # action, too
            self.flags["failsafe_tripped"] = None
            await self._ask(calls.execute(["python", "-c", _OUT_OF_CORNER]))
        return error

    async def _run_in_server(self, code: str) -> str | None:
        """Run a block in the process of WAA's server; return the reason for a failure, None on success."""
        timeout_s = _CODE_S + len(code) / _CHARACTERS_PER_SECOND
        try:
            outcome = await self._ask(calls.execute_windows(code, timeout_s=timeout_s))
        except VmTimeoutError:
            if not outlasts(code, timeout_s):
                raise
            await self._ask(calls.probe())  # the VM works: the block itself takes this long
            # a thread cannot be ended, so the block goes on in the VM, even in later trials
            self.flags["block_goes_on"] = None
            return f"the block did not end within {timeout_s:g} s"
        except VmUnreachableError:
            # the server catches `Exception` only: an error that ends a thread leaves the request unanswered
            self.flags["block_ended_server"] = None  # until the process turns out to be the same
            await self._ask(calls.probe())
            if not await self._knows_screen():
                raise
            del self.flags["block_ended_server"]
            return "the block ended its own request, as `sys.exit()` does"
        return None if outcome.ok else outcome.error or "the block failed"

    async def _refuse_restarted(self, error: str) -> None:
        """Raise if the server has lost the screen that it was sent; otherwise the agent's code is wrong."""
        if not await self._knows_screen():
            raise VmAnswerError(self.vm.url, f"its server was restarted during the trial: {error}")

    async def _knows_screen(self) -> bool:
        """Return whether the server is still the process that was sent the screen."""
        return (await self._ask(calls.execute_windows(_KNOWS_SCREEN))).ok

    async def _send_screen(self, picture: VmPicture) -> None:
        """Send `/update_computer`: the elements' rects, and the size for the fractions of `move_abs`."""
        screen = self._screen
        assert screen is not None  # noqa: S101  # the callers know it
        scale = (screen.size[0] / screen.seen[0], screen.size[1] / screen.seen[1])
        # ids are positions in this list, for code written by agents as well
        last = max(map(int, screen.rects), default=-1)
        rects = [screen.rects.get(str(number), (0, 0, 0, 0)) for number in range(last + 1)]
        await self._ask(
            calls.update_computer(rects, (0, 0, *screen.size), picture.data, scale=scale)
        )
        self._sent = _aim(screen)

    async def _settle(self, *, ended: bool) -> None:
        """Wait until the screen stops changing; the next observation uses the last screenshot."""
        self._settled = None
        await self._clock.sleep(self.timing.after_action_s)
        if ended or not self.timing.settle_s:
            return
        end = self._clock.now() + self.timing.settle_s
        before = await self._quick_look()
        while before is not None and self._clock.now() < end:
            await self._clock.sleep(self.timing.poll_s)
            after = await self._quick_look()
            if after is None or is_still(before.data, after.data):
                self._settled = after
                return
            before = after
        self._settled = before

    async def _quick_look(self) -> VmPicture | None:
        """Take a screenshot; return None for an incomplete one, which the next observation replaces."""
        try:
            return await self._ask(calls.screenshot())
        except VmUnreachableError:
            raise
        except VmAnswerError:
            return None


def _saying(result: ActionResult, said: str) -> ActionResult:
    """Add the target of an act."""
    if not result.ok:
        return result
    return result.model_copy(update={"text": "; ".join(filter(None, (said, result.text)))})


def _folded(lines: list[str]) -> list[str]:
    """Wrap lines to a length that a model can be shown, as a paragraph may be one line."""
    return [
        line[at : at + _LONGEST_LINE]
        for line in lines
        for at in range(0, len(line) or 1, _LONGEST_LINE)
    ]


def _aim(screen: DesktopScreen | None) -> object:
    """Return the parts of the screen that code blocks depend on."""
    return None if screen is None else (screen.size, screen.view, screen.rects)


def _changed(before: WindowView | None, now: WindowView | None) -> str:
    """Name the other window that is now in front; a window with only a new title is the same one."""
    if before is None or now is None or now.title == before.title:
        return ""
    if before.title not in now.windows and now.rect == before.rect:
        return ""
    return f"another window is in front now: {now.title!r}"


def _corners(element: Element) -> tuple[int, int, int, int]:
    x, y, width, height = map(int, element.rect or (0, 0, 0, 0))
    return x, y, x + width, y + height


def _screen(
    size: tuple[int, int],
    picture: VmPicture,
    elements: tuple[Element, ...],
    window: WindowView | None,
) -> DesktopScreen:
    rects = {each.id: _corners(each) for each in elements}
    view = None if picture.size == size else picture.size
    return DesktopScreen(size=size, view=view, rects=rects, titles=_titles(window))


def _titles(window: WindowView | None) -> tuple[str, ...]:
    """Return the windows that an agent may be asked to use, without the one in which Windows draws the desktop."""
    return tuple(each for each in window.windows if each != _SHELL) if window else ()
