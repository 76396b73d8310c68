"""43 kinds of control, as HTML."""

from __future__ import annotations

KINDS = (
    '<a href="#x">Link</a>', '<a onclick="1">Clickable</a>', "<button>Button</button>",
    '<button aria-pressed="true">Toggle</button>', '<button aria-haspopup="menu">Menu</button>',
    '<button role="none">Focusable</button>', '<a href="#" role="button">Link button</a>',
    '<input type="button" value="Go">', '<input type="submit" value="Send">',
    '<input type="reset" value="Clear">', '<input type="image" alt="Pic" src="data:,">',
    '<input aria-label="Plain">', '<input type="email" aria-label="Email">',
    '<input type="tel" aria-label="Tel">', '<input type="url" aria-label="Url">',
    '<input type="search" aria-label="Search">', '<input type="password" aria-label="Password">',
    '<input type="number" aria-label="Number">', '<input type="range" aria-label="Range">',
    '<input type="checkbox" aria-label="Check">',
    '<input type="checkbox" role="switch" aria-label="Switch">',
    '<input type="radio" aria-label="Radio">', '<input type="date" aria-label="Date">',
    '<input type="time" aria-label="Time">', '<input type="datetime-local" aria-label="Moment">',
    '<input type="month" aria-label="Month">', '<input type="week" aria-label="Week">',
    '<input type="color" aria-label="Colour">', '<input type="file" aria-label="File">',
    '<input list="dl" aria-label="Listed">', '<select aria-label="Select"><option>a</select>',
    '<select multiple aria-label="Several"><option>a</select>',
    '<select size="3" aria-label="Size"><option>a</select>',
    '<textarea aria-label="Area"></textarea>', "<details><summary>Summary</summary>x</details>",
    '<div contenteditable aria-label="Editable">text</div>',
    '<div role="textbox" contenteditable aria-label="Role">t</div>',
    '<div role="button" tabindex="0">Div</div>', '<div role="tab">Tab</div>',
    '<div role="menuitem">Item</div>', '<div role="presentation" onclick="1">Pres</div>',
    '<div role="nonsense button" onclick="1">Fallback</div>',
    '<div role="nonsense" onclick="1">Unknown</div>',
)  # fmt: skip
