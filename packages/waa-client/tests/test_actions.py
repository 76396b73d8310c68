from __future__ import annotations

import ast
import contextlib
import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from fake_vm import FakeComputer
from hypothesis import given, settings
from hypothesis import strategies as st

from bench_core.agents import (
    Back,
    Click,
    Done,
    Drag,
    ElementRef,
    Fail,
    Goto,
    HoldKeys,
    KeyDown,
    KeyUp,
    MouseDown,
    MouseUp,
    Move,
    Point,
    PressKeys,
    RunCode,
    Scroll,
    SwitchTab,
    TypeText,
    Wait,
)
from waa_client.actions import (
    DesktopScreen,
    ReplyError,
    UnknownKeyError,
    UntranslatableError,
    actions_of_reply,
    key_name,
    parse_block,
    parse_reply,
    translate,
)
from waa_client.actions.keys import KEYS
from waa_client.actions.text import typing_of

if TYPE_CHECKING:
    from bench_core.agents import Action

SIZES = [(1280, 720), (1366, 768), (1440, 900), (1920, 1080), (2560, 1440)]
SCREEN = DesktopScreen(size=(1280, 720), rects={"0": (10, 20, 30, 40), "1": (100, 100, 201, 151)})


def landed(fraction: float, size: int) -> int:
    """Return where WAA's `move_abs` moves the pointer."""
    return int(fraction * size)


def fractions(code: str) -> tuple[float, float]:
    call = ast.parse(code.splitlines()[0], mode="eval").body
    assert isinstance(call, ast.Call)
    x, y = (ast.literal_eval(each.value) for each in call.keywords)
    return x, y


@pytest.mark.parametrize("size", SIZES)
def test_every_column_and_row_is_hit(size: tuple[int, int]) -> None:
    screen = DesktopScreen(size=size)
    middle = (size[0] // 2, size[1] // 2)
    for x in range(size[0]):
        code = translate(Move(target=Point(x=x, y=middle[1])), screen).code
        assert landed(fractions(code)[0], size[0]) == x
    for y in range(size[1]):
        code = translate(Move(target=Point(x=middle[0], y=y)), screen).code
        assert landed(fractions(code)[1], size[1]) == y


@given(st.integers(0, 639), st.integers(0, 359))
def test_pixels_of_a_smaller_picture_become_pixels_of_the_screen(x: int, y: int) -> None:
    screen = DesktopScreen(size=(1280, 720), view=(640, 360))
    at = fractions(translate(Move(target=Point(x=x, y=y)), screen).code)
    hit = (landed(at[0], 1280), landed(at[1], 720))
    if (x, y) != (0, 0):
        assert hit == (2 * x, 2 * y)


@pytest.mark.parametrize(
    ("corner", "moved"),
    [((0, 0), (1, 1)), ((0, 719), (1, 718)), ((1279, 0), (1278, 1)), ((1279, 719), (1278, 718))],
)
def test_a_fail_safe_corner_is_moved_inwards_and_the_block_says_so(
    corner: tuple[int, int], moved: tuple[int, int]
) -> None:
    block = translate(Click(target=Point(x=corner[0], y=corner[1])), SCREEN)
    x, y = fractions(block.code)
    assert (landed(x, 1280), landed(y, 720)) == moved
    assert block.notes == (f"moved from the fail-safe corner {corner} to {moved}",)


@pytest.mark.parametrize("x", [-1, 1280, 1e9, float("nan"), float("inf")])
def test_a_point_off_the_screen_is_refused(x: float) -> None:
    with pytest.raises(UntranslatableError, match="is not on the screen, which is 1280 x 720"):
        translate(Click(target=Point(x=x, y=5)), SCREEN)


def test_the_far_end_of_relative_points_is_the_last_pixel() -> None:
    x, y = fractions(translate(Move(target=Point(x=1, y=0.5, unit="relative")), SCREEN).code)
    assert (landed(x, 1280), landed(y, 720)) == (1279, 360)


CODE: list[tuple[Action, str]] = [
    (
        Click(target=ElementRef(element="1")),
        "computer.mouse.move_id(id=1)\ncomputer.mouse.single_click()",
    ),
    (
        Click(target=ElementRef(element="0"), count=2),
        "computer.mouse.move_id(id=0)\ncomputer.mouse.double_click()",
    ),
    (
        Click(target=ElementRef(element="0"), button="right"),
        "computer.mouse.move_id(id=0)\ncomputer.mouse.right_click()",
    ),
    (
        Click(target=ElementRef(element="0"), button="middle"),
        "import pyautogui\ncomputer.mouse.move_id(id=0)\npyautogui.click(clicks=1, button='middle')",
    ),
    (
        Drag(start=ElementRef(element="0"), end=Point(x=300, y=400)),
        "computer.mouse.move_id(id=0)\ncomputer.mouse.drag(screen_x=300, screen_y=400)",
    ),
    (
        Drag(start=ElementRef(element="0"), end=ElementRef(element="1")),
        "computer.mouse.move_id(id=0)\ncomputer.mouse.drag(screen_x=150, screen_y=125)",
    ),
    (Scroll(dy=1000 / 3), "computer.mouse.scroll(dir='down')"),
    (Scroll(dy=-100), "import pyautogui\npyautogui.scroll(120)"),
    (Scroll(dx=100), "import pyautogui\npyautogui.hscroll(120)"),
    (PressKeys(keys=("Ctrl", "S")), "computer.keyboard.press('ctrl+s')"),
    (PressKeys(keys=("ctrl", "+")), "import pyautogui\npyautogui.hotkey('ctrl', '+')"),
    (PressKeys(keys=("ctrl", "-")), "computer.keyboard.press('ctrl+-')"),
    (PressKeys(keys=("cmd", "ArrowUp")), "computer.keyboard.press('win+up')"),
    (PressKeys(keys=("A",)), "computer.keyboard.press('A')"),
    (
        PressKeys(keys=("ü",)),
        "import pyperclip\npyperclip.copy('\\xfc')\ncomputer.clipboard.paste()",
    ),
    (TypeText(text="a\"b'\\n\r\n"), "computer.keyboard.write('a\"b\\'\\\\n\\n')"),
    (Wait(seconds=2), "WAIT"),
    (Done(answer=1), "DONE"),
    (Fail(reason="no"), "FAIL"),
    (RunCode(code="x = 1\n"), "x = 1\n"),
]


@pytest.mark.parametrize(("action", "code"), CODE, ids=lambda each: getattr(each, "kind", None))
def test_an_action_becomes_waas_code(action: Action, code: str) -> None:
    assert translate(action, SCREEN).code == code


def test_a_click_with_modifiers_lets_go_of_them_whatever_happens() -> None:
    block = translate(Click(target=Point(x=50, y=60), modifiers=("Control", "shift")), SCREEN)
    assert block.code.splitlines()[2:] == [
        "pyautogui.keyDown('ctrl')",
        "pyautogui.keyDown('shift')",
        "try:",
        "    computer.mouse.single_click()",
        "finally:",
        "    pyautogui.keyUp('shift')",
        "    pyautogui.keyUp('ctrl')",
    ]


def test_pyautogui_code_passes_through_in_its_own_language() -> None:
    block = translate(RunCode(code="pyautogui.click(3, 4)", language="pyautogui"), SCREEN)
    assert (block.code, block.language) == ("pyautogui.click(3, 4)", "pyautogui")


def test_switching_to_a_window_names_its_title() -> None:
    screen = SCREEN.model_copy(update={"titles": ("Ünsaved - Notepad",)})
    assert translate(SwitchTab(index=0), screen).code == (
        "computer.window_manager.switch_to_application('\\xdcnsaved - Notepad')"
    )


@pytest.mark.parametrize(
    "action",
    [
        Click(target=ElementRef(element="99")),
        Click(target=ElementRef(element="-1")),
        Drag(start=Point(x=5, y=5), end=ElementRef(element="x")),
        Scroll(),
        Goto(url="https://example.com"),
        Back(),
        SwitchTab(index=3),
        TypeText(text=""),
        TypeText(text="\x07"),
        PressKeys(keys=("ctrl", "ü")),
        PressKeys(keys=("hyper",)),
        RunCode(code="x", language="bash"),
    ],
)
def test_what_waa_cannot_do_is_refused(action: Action) -> None:
    with pytest.raises(UntranslatableError):
        translate(action, SCREEN)


ARRIVING = 50_000


def test_what_arrives_is_what_was_typed() -> None:
    source = random.Random(5)  # noqa: S311  # reproducible
    wrong = [text for text in (_text(source) for _ in range(ARRIVING)) if not _arrives(text)]
    assert wrong == []


def _text(source: random.Random) -> str:
    pools = ("az", "AZ", " ~", " ~", "\u00a0\u04ff", "\u4e00\u9fff", "\U0001f300\U0001faff")
    low, high = source.choice(pools)
    letters = [chr(source.randint(ord(low), ord(high))) for _ in range(source.randint(1, 12))]
    extra = source.choice(["", "", "\n", "\t", "\\", "'\"", "error", "é", "\r\n", "{x}", "%s"])
    letters.insert(source.randrange(len(letters) + 1), extra)
    return "".join(letters)


def _arrives(text: str) -> bool:
    """Run the block on a computer that drops the same characters as WAA's."""
    computer = FakeComputer((1280, 720))
    computer.updated = True
    code = translate(TypeText(text=text), SCREEN).code
    namespace: dict[str, Any] = {"computer": computer.namespace()}
    for line in code.replace("import pyperclip\n", "").splitlines():
        if line.startswith("pyperclip.copy("):
            computer.copied = ast.literal_eval(line.removeprefix("pyperclip.copy"))
        else:
            exec(line, namespace)  # noqa: S102
    return computer.typed == text.replace("\r\n", "\n")


@settings(max_examples=300)
@given(st.text())
def test_any_text_makes_a_block_that_compiles(text: str) -> None:
    typing = typing_of(text)
    if typing.arrives:
        compile(translate(TypeText(text=text), SCREEN).code, "block", "exec")
    assert typing_of(typing.arrives).arrives == typing.arrives


@given(st.text(st.characters(categories=["Cc", "Cs", "L", "P"])))
def test_only_control_characters_are_left_out_and_they_are_counted(text: str) -> None:
    typing = typing_of(text.replace("\r", "").replace("\x85", "").replace("\x0b", ""))
    assert typing.dropped == sum(
        each in map(chr, [*range(9), *range(14, 32), *range(127, 133), *range(134, 160)])
        for each in text
    )


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Return", "enter"), ("Enter", "enter"), ("Esc", "esc"), ("Escape", "escape"),
        ("Page_Up", "pageup"), ("page down", "pagedown"), ("Prior", "pageup"), ("Next", "pagedown"),
        ("ArrowLeft", "left"), ("Control_L", "ctrlleft"), ("Super_L", "winleft"), ("Meta", "win"),
        ("cmd", "win"), ("Command", "win"), ("windows", "win"), ("option", "alt"), ("KeyA", "a"),
        ("Digit7", "7"), ("Numpad0", "num0"), ("KP_Enter", "enter"), ("KP_5", "5"), (" ", "space"),
        ("spacebar", "space"), ("plus", "+"), ("minus", "-"), ("Delete", "delete"), ("F12", "f12"),
        ("ContextMenu", "apps"), ("AudioVolumeUp", "volumeup"), ("PrintScreen", "printscreen"),
        ("BackSpace", "backspace"), ("bracketleft", "["), ("\n", "enter"), ("é".encode().decode(), None),
        ("hyper", None), ("", None), ("ctrl+s", None), ("f25", None), ("LeftClick", None),
    ],
)  # fmt: skip
def test_a_key_as_people_write_it_is_known_or_refused(written: str, name: str | None) -> None:
    if name is None:
        with pytest.raises(UnknownKeyError, match="there is no key"):
            key_name(written)
    else:
        assert key_name(written) == name


@given(st.text(max_size=12))
def test_names_that_pyautogui_would_ignore_are_refused(name: str) -> None:
    try:
        found = key_name(name)
    except UnknownKeyError:
        return
    assert found in KEYS or (len(found) == 1 and found.isascii() and found.isprintable())


@pytest.mark.parametrize("key", sorted(KEYS))
def test_every_name_pyautogui_presses_is_kept_or_a_synonym(key: str) -> None:
    same = {"return": "enter", "pgup": "pageup", "pgdn": "pagedown"}
    prints = {"prtsc", "prtscr", "prntscrn"}
    assert key_name(key) == ("printscreen" if key in prints else same.get(key, key))


@pytest.mark.parametrize(
    ("reply", "actions"),
    [
        ("```python\n  a()\n  b()\n```", ("a()\nb()\n",)),
        ("```python\nfirst\n```\n```python\nsecond\n```", ("first\n",)),
        ("```decision\nDONE\n```", ("DONE",)),
        ("```python\nx\n```\n```decision\n# FAIL\n```", ("FAIL",)),
        ("```decision\nWAIT, not DONE\n```", ("DONE",)),
        ("```python\nx\n```\n```decision\nCOMMAND\n```", ("x\n",)),
        ("WAIT", ("WAIT",)),
    ],
)
def test_a_reply_is_read_as_vanilla_reads_it(reply: str, actions: tuple[str, ...]) -> None:
    assert parse_reply(reply) == actions


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I click the button",
        "```python no end",
        "```json\n[1]\n```",
        "```python\n```",
        "```python\n  \n```",
        "{not json}",
        "[]",
        "```json\n[]\n```",
    ],
    ids=[
        "nothing",
        "prose",
        "endless",
        "number",
        "empty",
        "blank",
        "braces",
        "none",
        "none-fenced",
    ],
)
def test_a_reply_without_an_action_is_refused(reply: str) -> None:
    with pytest.raises(ReplyError):
        actions_of_reply(reply)


def test_a_reply_may_hold_actions_of_our_own_vocabulary() -> None:
    reply = 'I see.\n```json\n[{"kind": "keys", "keys": ["ctrl", "s"]}, {"kind": "done"}]\n```'
    assert actions_of_reply(reply) == (PressKeys(keys=("ctrl", "s")), Done())


@pytest.mark.parametrize(
    "note",
    ["{not json}", '```json\n{"plan": "click"}\n```', "```json\n{not json}\n```", "[1] I click"],
    ids=["braces", "note", "broken-note", "numbered"],
)
def test_a_note_before_a_code_block_does_not_hide_it(note: str) -> None:
    assert actions_of_reply(f"{note}\n```python\nx()\n```") == (RunCode(code="x()\n"),)
    assert actions_of_reply(f"{note}\n```decision\nDONE\n```") == (Done(),)


def test_what_vanilla_takes_is_taken_before_our_own_vocabulary() -> None:
    actions = '```json\n{"kind": "done"}\n```'
    assert actions_of_reply(f"{actions}\n```python\nx()\n```") == (RunCode(code="x()\n"),)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("I click", "no ```python block"),
        ("```python\n```", "block is empty"),
        ('{"kind": "jump"}', "does not match"),
        ("```python\nx('\ud800')\n```", "code: Input should be a valid string"),
        ('{broken}\n```json\n{"kind": "done"}\n```', None),
    ],
    ids=["prose", "empty", "unknown", "half-character", "broken-then-right"],
)
def test_what_is_wrong_with_a_reply_is_reported(reply: str, message: str | None) -> None:
    if message is None:
        assert actions_of_reply(reply) == (Done(),)
        return
    with pytest.raises(ReplyError, match=message):
        actions_of_reply(reply)


def test_a_reply_that_is_json_as_a_whole_is_nothing_else() -> None:
    reply = json.dumps({"kind": "type", "text": "```python\nx()\n```"}, indent=1)
    (action,) = actions_of_reply(reply)
    assert action == TypeText(text="```python\nx()\n```")


PIECES = [
    "```",
    "python",
    "json",
    "decision",
    "\n",
    " ",
    "DONE",
    "{",
    "}",
    "[",
    "]",
    '"kind"',
    ":",
    "1",
]


@given(st.text() | st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_no_reply_breaks_the_parser(reply: str) -> None:
    with contextlib.suppress(ReplyError):
        assert actions_of_reply(reply)


@pytest.mark.parametrize(
    "action",
    [
        Click(target=ElementRef(element="1")),
        Click(target=ElementRef(element="0"), count=2),
        Click(target=ElementRef(element="0"), button="right"),
        Move(target=ElementRef(element="1")),
        TypeText(text="a'b\"\\\nc"),
        PressKeys(keys=("ctrl", "shift", "esc")),
        PressKeys(keys=("enter",)),
        Done(),
        Fail(),
    ],
)
def test_a_block_read_back_is_the_action(action: Action) -> None:
    assert parse_block(translate(action, SCREEN).code) == (action,)


@pytest.mark.parametrize(
    "code",
    ["import os", "computer.mouse.move_id(id=x)", "computer.mouse.single_click()", "(", "x = 1",
     "computer.keyboard.write('a', interval=1)", "computer.mouse.move_id(1, 2)"],
)  # fmt: skip
def test_a_block_that_says_more_stays_code(code: str) -> None:
    assert parse_block(code) == (RunCode(code=code),)


@pytest.mark.parametrize(
    ("action", "lines"),
    [
        (Click(), ["computer.mouse.single_click()"]),
        (MouseDown(), ["import pyautogui", "pyautogui.mouseDown(button='left')"]),
        (MouseUp(button="right"), ["import pyautogui", "pyautogui.mouseUp(button='right')"]),
        (KeyDown(key="Control"), ["import pyautogui", "pyautogui.keyDown('ctrl')"]),
        (KeyUp(key="shift"), ["import pyautogui", "pyautogui.keyUp('shift')"]),
        (
            HoldKeys(keys=("w",), seconds=2),
            ["import time", "import pyautogui", "pyautogui.keyDown('w')", "try:", "    time.sleep(2)",
             "finally:", "    pyautogui.keyUp('w')"],
        ),
        (PressKeys(keys=("down",), repeat=2), ["computer.keyboard.press('down')"] * 2),
        (PressKeys(keys=("ctrl+a",)), ["computer.keyboard.press('ctrl+a')"]),
        (
            Scroll(dy=100, modifiers=("ctrl",)),
            ["import pyautogui", "pyautogui.keyDown('ctrl')", "try:", "    pyautogui.scroll(-120)",
             "finally:", "    pyautogui.keyUp('ctrl')"],
        ),
        (
            Drag(start=Point(x=1, y=2), path=(Point(x=5, y=5),), end=Point(x=9, y=9)),
            ["import pyautogui", "computer.mouse.move_abs(x=0.001171875, y=0.0034722222)",
             "pyautogui.mouseDown()", "pyautogui.moveTo(5, 5, duration=0.1)",
             "pyautogui.moveTo(9, 9, duration=0.1)", "pyautogui.mouseUp()"],
        ),
    ],
)  # fmt: skip
def test_what_computer_lacks_is_done_by_pyautogui(action: Action, lines: list[str]) -> None:
    assert translate(action, SCREEN).code.splitlines() == lines


def test_a_side_button_is_refused() -> None:
    with pytest.raises(UntranslatableError, match="no button 'back'"):
        translate(Click(button="back"), SCREEN)
