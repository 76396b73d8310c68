"""One plain stylesheet for all stand-in sites, with colours for each."""

from __future__ import annotations

from string import Template

__all__ = ["stylesheet"]

_STYLES = Template("""
:root { --accent: $accent; --ink: $ink; --paper: $paper; --line: #d9dde3; }
* { box-sizing: border-box; }
body { margin: 0; font: 15px/1.5 system-ui, sans-serif; color: #22272e; background: var(--paper); }
a { color: var(--accent); text-decoration: none; }
a:hover { text-decoration: underline; }
header { display: flex; flex-wrap: wrap; gap: 8px 18px; align-items: center;
  padding: 12px 28px; background: var(--ink); color: #fff; }
header a { color: #fff; }
header .brand { font-weight: 700; font-size: 20px; margin-right: auto; }
nav.sections { display: flex; flex-wrap: wrap; gap: 4px 18px; padding: 8px 28px;
  background: #fff; border-bottom: 1px solid var(--line); }
main > nav.sections { margin: 0 0 12px; border: 1px solid var(--line); border-radius: 8px; }
nav.sections + button { margin: 0 0 12px; }
.card > h2 { margin-top: 2px; }
main { max-width: 1080px; margin: 20px auto; padding: 0 28px; }
h1 { font-size: 25px; font-weight: 600; margin: 6px 0 14px; }
h2 { font-size: 18px; margin: 20px 0 8px; }
.card { background: #fff; border: 1px solid var(--line); border-radius: 8px;
  padding: 14px 18px; margin: 0 0 12px; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(210px, 1fr)); gap: 14px; }
.row { display: flex; flex-wrap: wrap; gap: 10px; align-items: center; }
.muted { color: #667080; font-size: 13px; }
.price { font-weight: 600; }
.notice { background: #e7f6ea; border-left: 4px solid #2f9e55; padding: 8px 14px; margin: 0 0 12px; }
.field { margin: 0 0 12px; }
.field label { display: block; font-weight: 600; margin-bottom: 3px; }
input:not([type=hidden]):not([type=checkbox]):not([type=radio]), textarea, select {
  width: 100%; max-width: 460px; padding: 7px 10px; font: inherit;
  border: 1px solid #b8c0ca; border-radius: 5px; background: #fff; }
header input { max-width: 250px !important; }
header form { display: flex; gap: 6px; }
button { font: inherit; padding: 7px 14px; border: 0; border-radius: 5px; cursor: pointer;
  background: var(--accent); color: #fff; }
button.quiet { background: #e6e9ee; color: #22272e; }
table { width: 100%; border-collapse: collapse; background: #fff; border: 1px solid var(--line); }
th, td { text-align: left; padding: 8px 12px; border-bottom: 1px solid var(--line); }
th { background: #f3f5f8; font-size: 13px; }
footer { padding: 18px 28px; border-top: 1px solid var(--line); background: #fff; }
.side { display: grid; grid-template-columns: 190px 1fr; gap: 24px; }
.side > ul { list-style: none; margin: 0; padding: 0; }
.side > ul li { padding: 4px 0; }
""")


def stylesheet(accent: str, ink: str, paper: str = "#f5f6f8") -> str:
    """Return the CSS in a site's colours."""
    return _STYLES.substitute(accent=accent, ink=ink, paper=paper)
