"""Pages on which an act may go wrong, each with an element `t` that is meant; `u` is a second one, for turns of two acts."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["HARD_PAGES", "HardPage", "addresses"]

OTHER = "http://other.test"
"""An origin of its own, for frames of other sites."""


class HardPage(NamedTuple):
    """A page, what is done to its element `t`, and what is to come of it.

    Attributes:
        act: `click`, `double`, `right`, `press`, `hover`, `type`, `clear`, `set`, `drag` (to `d`) or `scroll_to`.
        ok: Whether the act is to be done; None if it may be refused or done.
        words: What the result says, the error if it is refused.
        also: Ids of elements that may get the event, too, since they are part of `t`.
        frame: What `/frame` of the other origin holds.
        script: What happens between the look and the act.
        value: For `type`, `clear` and `set`.
        again: What `t` must show after the act: its value, or its text.
    """

    name: str
    body: str
    act: str = "click"
    ok: bool | None = True
    words: str = ""
    also: tuple[str, ...] = ()
    frame: str = ""
    script: str = ""
    value: bool | float | str = "words"
    again: str | None = None


_COVER = "position:fixed;left:0;top:0;width:100%;height:100%;background:#fff8;z-index:9"
_TARGET = "<button id=t>Target</button>"


def _moving(rule: str) -> str:
    return f"<style>@keyframes go {{ {rule} }}</style>"


HARD_PAGES: tuple[HardPage, ...] = (
    HardPage("plain", _TARGET, words="clicked button 'Target'"),
    # moving
    HardPage("slides in for half a second", _moving("from { margin-left: 400px } to { margin-left: 0 }")
             + "<button id=t style='animation: go .5s linear'>Target</button>"),
    HardPage("moves for ever, slowly", _moving("from { margin-left: 0 } to { margin-left: 300px }")
             + "<button id=t style='width:120px;animation: go 6s linear infinite alternate'>Target</button>", ok=None),
    HardPage("jumps about without end", "<button id=t style='position:absolute;width:30px;height:20px'>T</button>",
             script="let n = 0; setInterval(() => { n++; t.style.left = (n * 173 % 600) + 'px'; "
             "t.style.top = (n * 97 % 400) + 'px' }, 5)", ok=None),
    HardPage("grows by a line above", "<div id=above></div><button id=t>Target</button><br><button id=x>Delete</button>",
             script="above.innerHTML = 'one<br>two<br>three'"),
    HardPage("moves down at each movement of the mouse", "<button id=t style='position:absolute;top:0'>Target</button>",
             script="let n = 0; addEventListener('mousemove', () => { t.style.top = (n = (n + 60) % 300) + 'px' })", ok=None),
    HardPage("flees when the mouse comes", "<button id=x style='position:absolute;left:0;top:0;width:100px'>Delete</button>"
             "<button id=t style='position:absolute;left:0;top:0;width:100px'>Target</button>",
             script="t.addEventListener('mouseenter', () => { t.style.left = '300px' }, {once: true})"),
    HardPage("flees at each touch", "<button id=x style='position:absolute;left:0;top:0;width:600px;height:60px'>Delete"
             "</button><button id=t style='position:absolute;left:0;top:0;width:50px'>T</button>",
             script="let n = 0; t.addEventListener('mouseenter', () => { t.style.left = (n += 100) % 500 + 'px' })", ok=None),
    HardPage("moves from under the mouse as it is pressed", "<button id=x style='position:absolute;left:0;top:0;width:100px'>"
             "Delete</button><button id=t style='position:absolute;left:0;top:0;width:100px'>Target</button>",
             script="t.addEventListener('mousedown', () => { t.style.left = '300px' })", ok=False, words="pressed, but not clicked"),
    HardPage("late picture above", "<img id=i width=10 height=1><br><button id=t>Target</button><br><button id=x>Delete</button>",
             script="setTimeout(() => { i.height = 90 }, 30)"),
    # covered
    HardPage("covered by a banner", f"{_TARGET}<div style='{_COVER}'><button id=x>Accept cookies</button></div>",
             ok=False, words="is covered by"),
    HardPage("covered by a button", "<button id=t style='position:absolute;left:0;top:0;width:90px'>Target</button>"
             "<button id=x style='position:absolute;left:0;top:0;width:90px'>Accept cookies</button>",
             ok=False, words="is covered by button 'Accept cookies' (id "),
    HardPage("covered by a frame", f"{_TARGET}<iframe src='{OTHER}/frame' style='{_COVER}'></iframe>",
             frame="<button id=x style='position:fixed;inset:0'>Delete</button>", ok=False, words="is covered by Iframe"),
    HardPage("covered in its middle only", "<button id=t style='position:absolute;left:0;top:0;width:200px;height:60px'>Target"
             "</button><button id=x style='position:absolute;left:70px;top:20px'>Delete</button>"),
    HardPage("covered a moment later, while it is pressed", _TARGET + f"<div id=x hidden style='{_COVER}'>Wait</div>",
             script="addEventListener('mousemove', () => { x.hidden = false })", ok=False, words="covered"),
    HardPage("covered by a veil that goes away", f"{_TARGET}<div id=x style='{_COVER}'>Loading</div>",
             script="setTimeout(() => x.remove(), 400)"),
    HardPage("covered by a veil that lets the mouse through", f"{_TARGET}<div id=x style='{_COVER};pointer-events:none'></div>"),
    HardPage("an overlay that appears on hover", "<button id=t style='position:absolute;left:0;top:0;width:100px;height:40px'>Target</button>"
             "<div id=x style='display:none;position:absolute;left:0;top:0;width:100px;height:40px;background:red'>Over</div>",
             script="t.addEventListener('mouseenter', () => { x.style.display = 'block' })", ok=False, words="covered"),
    HardPage("a tip on hover that covers a half", "<button id=t style='position:absolute;left:0;top:0;width:200px;height:60px'>"
             "Target</button><div id=x style='display:none;position:absolute;left:60px;top:0;width:100px;height:60px;"
             "background:red'>Tip</div>", script="t.addEventListener('mouseenter', () => { x.style.display = 'block' })"),
    HardPage("under a sticky header", "<div style='position:fixed;top:0;width:100%;height:60px;background:#ccc;z-index:2'>"
             "<button id=x>Menu</button></div><div style='height:300px'></div><button id=t style='width:90px'>Target</button>"
             "<div style='height:3000px'></div>", script="scrollTo(0, 290)"),
    HardPage("between a sticky header and a footer", "<div style='position:fixed;top:0;width:100%;height:200px;background:#ccc'>"
             "<a id=x href=#x>Head</a></div><div style='position:fixed;bottom:0;width:100%;height:200px;background:#ccc'></div>"
             "<div style='height:2000px'></div><button id=t>Target</button><div style='height:2000px'></div>"),
    HardPage("behind a modal dialog", "<button id=t>Target</button><dialog id=x>Sure?<button>Yes</button></dialog>",
             script="x.showModal()", ok=False, words="is covered by"),
    # gone, drawn anew
    HardPage("drawn anew with the same id", "<div id=box><button id=t>Target</button></div>",
             script="box.innerHTML = '<button id=x>Delete</button>'", ok=False, words="is gone"),
    HardPage("drawn anew as it was", "<div id=box><button id=t>Target</button></div>",
             script="box.innerHTML = '<button id=t>Target</button>'", ok=False, words="is gone"),
    HardPage("rows that change places", "<ul id=l><li><button id=t>One</button></li><li><button id=x>Two</button></li></ul>",
             script="l.append(l.firstElementChild)"),
    HardPage("a list that uses its rows again", "<ul id=l><li><button id=t>One</button></li></ul>",
             script="t.textContent = 'Other'"),
    HardPage("taken away as it is pressed", "<button id=x style='position:absolute;left:0;top:0;width:90px'>Delete</button>"
             "<button id=t style='position:absolute;left:0;top:0;width:90px'>Target</button>",
             script="t.addEventListener('mousedown', () => t.remove())", ok=False, words="took it away"),
    HardPage("drawn anew as the mouse comes", "<div id=box><button id=t>Target</button></div>",
             script="box.addEventListener('mouseover', () => { box.innerHTML = '<button id=x>Target</button>' }, {once: true})",
             ok=False, words="is gone"),
    HardPage("a virtual list", "<div id=l style='height:200px;overflow:auto'><div style='height:4000px;position:relative'>"
             "<button id=t style='position:absolute;top:0'>Row 0</button></div></div>",
             script="l.addEventListener('scroll', () => { t.remove() }); l.scrollTop = 2000", ok=False, words="is gone"),
    HardPage("moved to another place of the document", "<div id=a><button id=t>Target</button></div><div id=b></div>",
             script="b.append(t)"),
    HardPage("the page is left", "<button id=t>Target</button>", script="location.href = '/next'", ok=False, words="not carried out"),
    HardPage("the page is loaded anew", "<button id=t>Target</button>", script="location.reload()", ok=False, words="not carried out"),
    # not visible
    HardPage("hidden since", "<button id=t>Target</button><button id=x>Delete</button>", script="t.hidden = true",
             ok=False, words="is not visible"),
    HardPage("invisible", "<button id=t style='visibility:hidden'>Target</button>", ok=False, words="is not visible"),
    HardPage("without a size", "<div style='width:0;height:0;overflow:hidden'><button id=t>Target</button></div>",
             ok=False, words=""),
    HardPage("off the page", "<button id=t style='position:absolute;left:-9000px'>Target</button>", ok=False, words="into view"),
    HardPage("lets the mouse through", "<button id=x style='position:absolute;left:0;top:0;width:90px'>Delete</button>"
             "<button id=t style='position:absolute;left:0;top:0;width:90px;pointer-events:none'>Target</button>",
             ok=False, words="lets the mouse through to button 'Delete'"),
    HardPage("disabled", "<button id=t disabled>Target</button>", ok=False, words="is disabled"),
    HardPage("disabled for a moment", "<button id=t disabled>Target</button>",
             script="setTimeout(() => { t.disabled = false }, 400)"),
    HardPage("an option of a closed list", "<select aria-label=Colour><option>Red<option id=t>Green</select>",
             ok=False, words="is an option of combobox 'Colour'"),
    # shapes
    HardPage("a link over two lines", "<div style='width:300px'><span style='display:inline-block;width:250px'>words</span>"
             "<a id=t href='#x'>a link that is broken into two lines of text, since it is long</a></div>"),
    HardPage("a link with a block within", "<a id=t href='#x'><div style='width:80px;height:80px;background:red'></div></a>"),
    HardPage("turned and scaled", "<div style='height:150px'></div><button id=t style='transform:rotate(45deg) scale(1.5)'>"
             "Target</button>"),
    HardPage("a card with a button in its middle", "<div id=t role=button onclick='1' style='position:absolute;left:0;top:0;"
             "width:300px;height:100px;background:#eee'><button id=x style='position:absolute;left:100px;top:30px;width:100px;"
             "height:40px'>Delete</button></div>"),
    HardPage("a row of two buttons", "<div id=t style='display:flex;width:200px'><button id=x style='flex:1'>Edit</button>"
             "<button id=y style='flex:1'>Delete</button></div>", ok=False, words="is covered by button"),
    HardPage("a list item that holds a link", "<ul style='padding:0'><li id=t style='display:flex'>"
             "<a href='#x' style='flex:1'>Orders</a></ul>"),
    HardPage("a drawn box in place of the real one", "<label id=l><input id=t type=checkbox style='display:none'>"
             "<span style='display:inline-block;width:20px;height:20px;background:red'></span> Agree</label>", act="set", value=True, also=("l",)),
    HardPage("a label that holds a link", "<label id=l><input id=t type=checkbox style='position:absolute;opacity:0;width:0'>"
             "Agree to <a id=x href='#x'>the terms</a></label>", also=("l",)),
    HardPage("display: contents", "<button id=t style='display:contents'><span style='padding:10px'>Target</span></button>"),
    HardPage("far below", "<div style='height:5000px'></div><button id=t>Target</button>"),
    HardPage("in a box that scrolls", "<div style='height:100px;overflow:auto'><div style='height:900px'></div>"
             "<button id=t>Target</button></div><button id=x>Delete</button>"),
    HardPage("smooth scrolling", "<style>html { scroll-behavior: smooth }</style><div style='height:5000px'></div>" + _TARGET),
    # frames and shadow roots
    HardPage("in a frame of the same origin", "<div style='height:900px'></div><iframe src='/frame' style='border:7px solid'>"
             "</iframe>", frame="<div style='height:700px'></div><button id=t>Target</button>"),
    HardPage("in a frame of another origin", f"<div style='height:900px'></div><iframe src='{OTHER}/frame'></iframe>",
             frame="<div style='height:700px'></div><button id=t>Target</button>"),
    HardPage("in a frame that is scaled", f"<iframe src='{OTHER}/frame' style='transform:scale(.5);transform-origin:0 0;border:9px "
             "solid;padding:5px'></iframe>", frame="<button id=t>Target</button><button id=x>Delete</button>"),
    HardPage("in a frame that is covered", f"<iframe src='{OTHER}/frame'></iframe><div id=x style='{_COVER}'>Wait</div>",
             frame=_TARGET, ok=False, words="is in a frame that is covered by"),
    HardPage("in a frame that is covered when the mouse comes", f"<iframe id=f src='{OTHER}/frame'></iframe>"
             f"<div id=x hidden style='{_COVER}'>Wait</div>", frame=_TARGET,
             script="f.addEventListener('mouseenter', () => { x.hidden = false })", ok=None),
    HardPage("in a frame that is taken away", f"<iframe id=f src='{OTHER}/frame'></iframe>", frame=_TARGET,
             script="f.remove()", ok=False, words="is gone"),
    HardPage("in a frame that is left", f"<iframe id=f src='{OTHER}/frame'></iframe>", frame=_TARGET,
             script="f.src = '/next'", ok=False, words="is gone"),
    HardPage("text in a frame", f"<iframe src='{OTHER}/frame'></iframe>", act="type",
             frame="<input id=t aria-label=Name>", again="words"),
    HardPage("in a shadow root", "<div id=h></div>"),
    HardPage("a slot of a shadow root", "<x-card><span id=t role=button tabindex=0>Target</span></x-card>"),
    HardPage("text in a shadow root", "<x-field></x-field>", act="type", again="words"),
    # typing
    HardPage("a field", "<input id=t aria-label=Name><input id=x>", act="type", words="typed into textbox 'Name'", again="words"),
    HardPage("a field with text, to be replaced", "<input id=t aria-label=Name value=before>", act="clear", again="words"),
    HardPage("a field to be emptied", "<input id=t aria-label=Name value=before>", act="clear", value="", again=""),
    HardPage("an editor with paragraphs", "<div id=e contenteditable><p id=t>before</p><p id=x>stays</p></div>", act="clear", also=("e",), again="words"),
    HardPage("a field that gives the focus away", "<input id=t><input id=x>", act="type",
             script="t.addEventListener('focus', () => x.focus())", ok=False),
    HardPage("fields that pass the focus on", "<input id=t maxlength=1><input id=x>", act="type",
             script="t.addEventListener('input', () => x.focus())", ok=False, words="lost the focus to textbox"),
    HardPage("a question that takes the focus while one types", "<input id=t><dialog id=d><button id=x>Delete</button></dialog>",
             act="type", script="t.addEventListener('input', () => d.showModal())", value="a b\n", ok=False, words="lost the focus"),
    HardPage("read-only", "<input id=t readonly value=before>", act="type", ok=False, words="is read-only"),
    HardPage("takes no letters", "<input id=t type=number>", act="type", ok=False, words="did not take the text"),
    HardPage("a button cannot be typed into", _TARGET, act="type", ok=False, words="takes no text", also=("t",)),
    HardPage("a field drawn anew at the click", "<div id=box><input id=t></div>", act="type", ok=False, words="is gone",
             script="t.addEventListener('click', () => { box.innerHTML = '<input id=x>'; x.focus() })"),
    # values
    HardPage("a list", "<select id=t aria-label=Colour><option value=r>Red<option value=g>Green</select>", act="set", value="Green",
             words="chose \"Green\" in combobox 'Colour'", again="g"),
    HardPage("a list, typed into", "<select id=t><option value=r>Red<option value=g>Green</select>", act="type", value="green", again="g"),
    HardPage("a list without the option", "<select id=t><option>Red</select>", act="set", value="Blue", ok=False,
             words='has no option "Blue": it has "Red"'),
    HardPage("a date", "<input id=t type=date>", act="set", value="2024-05-31", again="2024-05-31"),
    HardPage("not a date", "<input id=t type=date value=2024-01-01>", act="type", value="31 May", ok=False,
             words="a value such as 2024-05-31", again="2024-01-01"),
    HardPage("a box that is not to be checked", "<input id=t type=checkbox>", act="set", value=True, ok=False,
             script="t.addEventListener('click', event => event.preventDefault())", words="did not change"),
    HardPage("a switch of its own kind", "<div id=t role=switch aria-checked=false tabindex=0>Dark</div>", act="set", value=True,
             script="t.onclick = () => t.setAttribute('aria-checked', 'true')"),
    # other acts
    HardPage("two clicks", _TARGET, act="double"),
    HardPage("gone at the first of two clicks", "<button id=x style='position:absolute;left:0;top:0;width:90px'>Delete</button>"
             "<button id=t style='position:absolute;left:0;top:0;width:90px'>Target</button>", act="double",
             script="t.addEventListener('click', () => t.remove())", ok=False, words="pressed, but not clicked"),
    HardPage("the right button", _TARGET, act="right"),
    HardPage("a press that is held", _TARGET, act="press"),
    HardPage("a hover", _TARGET, act="hover"),
    HardPage("a drag", "<div id=t style='width:60px;height:60px;background:red'></div><div id=d style='margin-top:90px;width:90px;"
             "height:90px;background:blue'></div>", act="drag", also=("d",)),
    HardPage("a drag to what is out of view", "<div id=t style='width:60px;height:60px;background:red'></div>"
             "<div style='height:4000px'></div><div id=d style='width:90px;height:90px;background:blue'></div>", act="drag",
             ok=False, words="not in view together"),
    HardPage("swallowed by the page", _TARGET, ok=False, words="kept",
             script="for (const kind of ['pointerdown', 'mousedown', 'click']) addEventListener(kind, "
             "event => { event.preventDefault(); event.stopImmediatePropagation() }, true)"),
    # what changes by the act
    HardPage("a link to another page", "<a id=t href='/next'>Next</a>", words="the page is now 'Next' (http://page.test/next)"),
    HardPage("a link to a slow page", "<a id=t href='/slow'>Next</a>", words="the page is now 'Slow'"),
    HardPage("a page that names itself anew", "<button id=t onclick=\"history.pushState(0, '', '/other')\">Target</button>",
             words="the page is now 'Page' (http://page.test/other)"),
    HardPage("a link into a new tab", "<a id=t target=_blank href='/next'>Next</a>", words="the page opened a tab (http"),
    HardPage("an alert", "<button id=t onclick=\"alert('Saved')\">Target</button>", words="a dialog, which was closed: 'Saved'"),
    HardPage("a question", "<button id=t onclick=\"this.textContent = confirm('Sure?')\">Target</button>",
             words="the page asked 'Sure?', which was answered with OK", again="true"),
    HardPage("a question for a text", "<button id=t onclick=\"this.textContent = prompt('Name?', 'Ada')\">Target</button>",
             words="was given what it offered: 'Ada'", again="Ada"),
    HardPage("an alert at the press", "<button id=t onmousedown=\"alert('Saved')\">Target</button>", ok=None,
             words="'Saved'"),
    HardPage("an alert before the act", _TARGET, script="alert('Time is up')", ok=False, words="not carried out: the page showed"),
    HardPage("a tab before the act", _TARGET, script="open('/next')", ok=False, words="not carried out: the page opened a tab"),
    HardPage("a page that loads itself again", "<a id=t href='/page'>Again</a>", words="the page is now 'Page'"),
)  # fmt: skip


def addresses(page: HardPage) -> dict[str, str]:
    """Return what is at each address while a page is shown."""
    parts = (
        "<script>customElements.define('x-card', class extends HTMLElement { constructor() { super();"
        " this.attachShadow({mode: 'open'}).innerHTML = '<div style=\"padding:9px\"><slot></slot></div>'; } });"
        " customElements.define('x-field', class extends HTMLElement { constructor() { super();"
        " this.attachShadow({mode: 'open'}).innerHTML = '<input id=t>'; } });"
        " if (window.h) h.attachShadow({mode: 'open'}).innerHTML = '<button id=t>Target</button>';</script>"
    )
    second = "<button id=u style='position:fixed;right:0;bottom:0;z-index:10'>Second</button>"
    return {
        "/page": f"<!doctype html><title>Page</title><body style='margin:0'>{page.body}{second}{parts}",
        "/frame": f"<!doctype html><title>Frame</title><body style='margin:0'>{page.frame}",
        "/next": "<!doctype html><title>Next</title><button id=n style='position:fixed;inset:0'>Delete everything</button>",
        "/slow": "<!doctype html><title>Slow</title><button id=n style='position:fixed;inset:0'>Delete everything</button>",
    }
