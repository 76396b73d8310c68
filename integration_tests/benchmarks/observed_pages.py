"""Twenty pages such as the public web has, small enough to be read here."""

from __future__ import annotations

__all__ = ["PAGES"]

_STYLE = """<style>body{font:14px sans-serif;margin:0 20px} .row{display:flex;gap:12px} .grid{display:grid;
grid-template-columns:repeat(4,1fr);gap:8px} .sr{position:absolute;width:1px;height:1px;overflow:hidden;clip:rect(0 0 0 0)}
ul.bar{display:flex;list-style:none;gap:10px;padding:0} .click{cursor:pointer} .off{display:none} td,th{padding:4px}</style>"""
_PEOPLE = (
    "Ada Byron",
    "Alan Turing",
    "Grace Hopper",
    "Edsger Dijkstra",
    "Barbara Liskov",
    "Tony Hoare",
)
_WORDS = (
    "The council approved the plan after a long debate, with two members abstaining.",
    "Prices are expected to fall once the new line opens in the autumn.",
    "Nobody was hurt, and the road was open again by the evening.",
    "The museum extends its opening hours during the summer months.",
)


def _bar(*names: str, current: str = "") -> str:
    links = "".join(
        f'<li><a href="/{n.lower()}"{" aria-current=page" if n == current else ""}>{n}</a></li>'
        for n in names
    )
    return f'<nav aria-label="Main"><ul class="bar">{links}</ul></nav>'


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    top = "".join(f"<th>{each}</th>" for each in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _page(title: str, body: str) -> str:
    foot = '<footer>© 2024 Example <a href="/imprint">Imprint</a> <a href="/privacy">Privacy</a></footer>'
    return f"<!doctype html><html lang=en><title>{title}</title>{_STYLE}<body>{body}{foot}</body></html>"


def _field(label: str, control: str) -> str:
    name = label.lower().replace(" ", "-")
    return (
        f'<div class="field"><label for="{name}">{label}</label>{control.replace("ID", name)}</div>'
    )


_NEWS = "".join(
    f'<article><a href="/a/{n}"><img alt="Picture {n}" src="data:,"></a><h2><a href="/a/{n}">Headline number {n}</a></h2>'
    f"<p>{_WORDS[n % 4]}</p><p>By <a href=/by/{n}>{_PEOPLE[n % 6]}</a>, <time datetime=2024-05-0{n % 9 + 1}>{n} hours ago</time>"
    f" · {n * 7} comments</p></article>"
    for n in range(1, 13)
)
_CARDS = "".join(
    f'<li class="card"><a href="/p/{n}"><img alt="Lamp {n}" src="data:,"><h3>Desk lamp model {n}</h3></a>'
    f'<span aria-label="{n % 5 + 1} of 5 stars">{"*" * (n % 5 + 1)}</span> <span>({n * 13} reviews)</span>'
    f'<div class="price">${n * 9}.99</div><button>Add to basket</button> <button aria-label="Add Desk lamp model {n} to the wish list">♥</button></li>'
    for n in range(1, 13)
)
_CHECKS = "".join(
    f'<li><label><input type="checkbox" {"checked" if n % 3 == 0 else ""}> {colour}</label> ({n * 4})</li>'
    for n, colour in enumerate(("Black", "White", "Brass", "Green", "Red"))
)
_ORDERS = [
    (
        f'<input type="checkbox" aria-label="Select order {n}">', f"00000{n}", f"May {n}, 2024", _PEOPLE[n % 6],
        f"${n * 37}.00", ("Pending", "Complete", "Canceled")[n % 3],
        f'<a href="/o/{n}">View</a> <a href="/o/{n}/edit">Edit</a>',
    )
    for n in range(1, 21)
]  # fmt: skip
_COUNTRIES = "".join(
    f"<option>{c}</option>" for c in ("Austria", "Belgium", "Chile", "Denmark", "Estonia", "France")
)
_MAILS = "".join(
    f'<div role="row" class="click" tabindex="0" aria-selected="{"true" if n == 2 else "false"}"><span role="gridcell"><input type="checkbox" aria-label="Select"></span>'
    f'<span role="gridcell">{"<b>" if n < 4 else ""}{_PEOPLE[n % 6]}{"</b>" if n < 4 else ""}</span>'
    f'<span role="gridcell">Minutes of meeting {n} - {_WORDS[n % 4]}</span><span role="gridcell">{n}:15</span></div>'
    for n in range(1, 16)
)
_DAYS = "".join(
    f'<div role="gridcell" aria-label="May {n}"><span>{n}</span>'
    + (f"<button>Meeting with {_PEOPLE[n % 6]}, {n % 12 + 1}:00</button>" if n % 4 == 0 else "")
    + "</div>"
    for n in range(1, 32)
)
_WIKI = "".join(
    f'<h2>Section {n} <span class="edit">[<a href="/edit/{n}">edit</a>]</span></h2><p>The <b>engine</b> was described by '
    f'<a href="/w/{n}" title="{_PEOPLE[n % 6]}">{_PEOPLE[n % 6]}</a> in {1830 + n}.<sup><a href="#c{n}">[{n}]</a></sup> '
    f"{_WORDS[n % 4]} It led to a <a href=/w/x{n}>series of machines</a> and {_WORDS[(n + 1) % 4].lower()}</p>"
    for n in range(1, 10)
)
_POSTS = "".join(
    f'<article class="row"><div><button aria-label="Upvote" aria-pressed="{"true" if n == 3 else "false"}">▲</button><span>{n * 31}</span>'
    f'<button aria-label="Downvote" aria-pressed="false">▼</button></div><div><h2><a href="/f/{n}">Question {n}: how does it work?</a></h2>'
    f'<p>Submitted by <a href="/u/{n}">{_PEOPLE[n % 6]}</a> <time title="May {n}, 2024 at 10:{n}0">{n} days ago</time> in <a href="/f/books">books</a></p>'
    f'<a href="/f/{n}#comments">{n * 3} comments</a></div></article>'
    for n in range(1, 16)
)
_CODE = "<pre><code>from lamp import Lamp\n\nlamp = Lamp(watts=5)\nlamp.on()\n</code></pre>"
_API = "".join(
    f"<section id=m{n}><h3><code>lamp.method_{n}(value)</code></h3><p>{_WORDS[n % 4]} See <a href=#m{n + 1}>method_{n + 1}</a>.</p>"
    f"<ul><li><code>value</code>: a number</li><li>returns nothing</li></ul></section>"
    for n in range(1, 9)
)
_BOARD = "".join(
    f'<section aria-label="{name}"><h2>{name}</h2>'
    + "".join(
        f'<div class="click" draggable="true"><h3>Task {n}{k}</h3><span>{_PEOPLE[k]}</span> <span>Due May {k + 2}</span><button aria-haspopup="menu" aria-label="Menu of task {n}{k}">⋯</button></div>'
        for k in range(4)
    )
    + "<button>Add a task</button></section>"
    for n, name in enumerate(("Planned", "Doing", "Done"))
)
_RESULTS = "".join(
    f'<div><a href="https://site{n}.example/page"><h3>Result {n} about desk lamps</h3><cite>https://site{n}.example / page</cite></a><p>{_WORDS[n % 4]} <em>Desk lamps</em> are on page {n}.</p></div>'
    for n in range(1, 11)
)
_CHAT = "".join(
    f'<li><b>{_PEOPLE[n % 3]}</b> <time>10:{n}0</time><p>{_WORDS[n % 4]}</p><button aria-label="React">☺</button><button aria-label="Reply">↩</button></li>'
    for n in range(1, 6)
)
_JOBS = "".join(
    f'<li><a href="/j/{n}"><h2>Engineer {n}</h2></a><div>Company {n} · Bonn · ${n}0,000</div><p>{_WORDS[n % 4]}</p><button aria-label="Save Engineer {n}" aria-pressed="{str(n == 2).lower()}">Save</button></li>'
    for n in range(1, 10)
)
_SWITCHES = "".join(
    f'<div class="row"><span id="s{n}">{name}</span><button role="switch" aria-checked="{str(n % 2 == 0).lower()}" aria-labelledby="s{n}"></button></div>'
    for n, name in enumerate(("Email alerts", "Weekly report", "Dark theme", "Public profile"))
)

PAGES = {
    "news": _page("Daily", f"<header><h1>Daily</h1>{_bar('World', 'Business', 'Science', 'Sport', current='World')}</header><main>{_NEWS}</main>"),
    "shop": _page("Lamps", f"<header>{_bar('Lamps', 'Desks', 'Chairs')}<input type=search aria-label='Search the shop'> <a href=/basket>Basket (2)</a></header><main><h1>Lamps</h1><p>Items 1-12 of 57</p><label for=sort>Sort by</label> <select id=sort><option>Position<option selected>Price<option>Name</select><aside aria-label=Filters><h2>Colour</h2><ul>{_CHECKS}</ul></aside><ul class=grid>{_CARDS}</ul><nav aria-label=Pages><a href=?p=1 aria-current=page>1</a> <a href=?p=2>2</a> <a href=?p=3>3</a> <a href=?p=2>Next</a></nav></main>"),
    "product": _page("Desk lamp", f"{_bar('Lamps', 'Desks')}<main><nav aria-label=Breadcrumb><ol class=row><li><a href=/>Home</a></li><li><a href=/l>Lamps</a></li><li>Desk lamp</li></ol></nav><h1>Desk lamp</h1><img alt='Desk lamp, lit' src='data:,'><p>$29.99 <s>$39.99</s> <b>In stock</b></p><fieldset><legend>Colour</legend><label><input type=radio name=c checked> Black</label><label><input type=radio name=c> White</label><label><input type=radio name=c disabled> Brass</label></fieldset><label for=qty>Quantity</label><input id=qty type=number min=1 max=9 value=1><button>Add to basket</button><div role=tablist aria-label=More><button role=tab aria-selected=true>Details</button><button role=tab aria-selected=false>Reviews (12)</button></div><div role=tabpanel><p>{_WORDS[0]}</p><dl><dt>Weight</dt><dd>1.2 kg</dd><dt>Height</dt><dd>40 cm</dd></dl></div></main>"),
    "orders": _page("Orders", f"{_bar('Orders', 'Products', 'Customers', current='Orders')}<main><h1>Orders</h1><div role=status>20 records found</div><input type=search aria-label='Search by keyword'><button>Filters</button>{_table(('', 'ID', 'Date', 'Customer', 'Total', 'Status', 'Action'), _ORDERS)}</main>"),
    "checkout": _page("Checkout", f"<main><h1>Checkout</h1><form>{_field('First name', '<input id=ID required value=Ada>')}{_field('Last name', '<input id=ID required>')}{_field('Email', '<input id=ID type=email placeholder=you@example.org aria-invalid=true>')}<p role=alert>Enter an email address</p>{_field('Street', '<input id=ID>')}{_field('Country', f'<select id=ID>{_COUNTRIES}</select>')}<fieldset><legend>Delivery</legend><label><input type=radio name=d checked> Standard, $5.00</label><label><input type=radio name=d> Express, $15.00</label></fieldset><label><input type=checkbox> I agree to the <a href=/terms>terms</a></label>{_field('Notes', '<textarea id=ID></textarea>')}<button type=submit disabled>Place the order</button></form><aside aria-label=Summary><h2>Summary</h2>{_table(('Item', 'Total'), [('Desk lamp x 2', '$59.98'), ('Delivery', '$5.00'), ('Total', '$64.98')])}</aside></main>"),
    "mail": _page("Inbox", f"<header><input type=search aria-label='Search mail'></header><nav aria-label=Folders><a href=#in aria-current=page>Inbox 3</a> <a href=#sent>Sent</a> <a href=#drafts>Drafts 1</a> <a href=#bin>Bin</a></nav><main><div role=toolbar aria-label=Actions><button disabled>Archive</button><button disabled>Delete</button><button aria-haspopup=menu aria-expanded=false>More</button></div><div role=grid aria-label=Messages>{_MAILS}</div></main>"),
    "calendar": _page("May 2024", f"<main><h1>May 2024</h1><button aria-label='Previous month'>&lsaquo;</button><button aria-label='Next month'>&rsaquo;</button><button aria-pressed=true>Month</button><button aria-pressed=false>Week</button><div class=grid style='grid-template-columns:repeat(7,1fr)' role=grid aria-label='May 2024'><div role=row style='display:contents'>{_DAYS}</div></div></main>"),
    "wiki": _page("Engine", f"<nav aria-label=Site><a href=/>Main page</a> <a href=/c>Contents</a> <a href=/r>Random article</a></nav><main><h1>Analytical engine</h1><nav aria-label=Contents><ol>{''.join(f'<li><a href=#s{n}>Section {n}</a></li>' for n in range(1, 10))}</ol></nav>{_WIKI}<table><caption>Facts</caption><tr><th>Year<td>1837<tr><th>Designer<td><a href=/b>Babbage</a></table></main>"),
    "forum": _page("Forum", f"{_bar('Forums', 'Wiki')}<a href=/login>Log in</a><main><h1>/f/books</h1><ul class=bar><li><a href=?hot aria-current=true>Hot</a></li><li><a href=?new>New</a></li><li><a href=?top>Top</a></li></ul>{_POSTS}<a href=?next>More</a></main>"),
    "docs": _page("lamp", f"<nav aria-label=Chapters><ul><li><a href=#i>Install</a></li><li><a href=#u>Use</a><ul><li><a href=#a>API</a></li></ul></li></ul></nav><main><h1>lamp</h1><p>{_WORDS[1]}</p><h2>Use</h2>{_CODE}<button>Copy</button><h2>API</h2>{_API}</main>"),
    "dashboard": _page("Dashboard", f"{_bar('Dashboard', 'Sales', 'Reports', current='Dashboard')}<main><h1>Dashboard</h1><div class=row>{''.join(f'<section aria-label={n}><h2>{n}</h2><p>{v}</p></section>' for n, v in (('Revenue', '$12,400'), ('Orders', '312'), ('Returns', '4.2 %'), ('Visitors', '9,120')))}</div><svg width=200 height=80 role=img aria-label='Sales by month'><text x=1 y=10>Jan</text></svg><h2>Bestsellers</h2>{_table(('Product', 'Price', 'Quantity'), [(f'<a href=/p{n}>Lamp {n}</a>', f'${n}9.00', str(n * 3)) for n in range(1, 9)])}<label for=range>Time range</label><select id=range><option>24 hours<option selected>7 days<option>Month</select></main>"),
    "settings": _page("Settings", f"<nav aria-label=Settings><a href=#p aria-current=page>Profile</a> <a href=#s>Security</a></nav><main><h1>Settings</h1>{_field('Display name', '<input id=ID value=Ada>')}{_field('Language', '<select id=ID><option selected>English<option>Deutsch<option>Français</select>')}{_SWITCHES}<label for=vol>Volume</label><input id=vol type=range min=0 max=100 value=40><details><summary>Advanced</summary><p>Hidden options</p></details><button>Save</button> <button>Cancel</button></main>"),
    "chat": _page("Chat", f"<aside aria-label=Channels><ul><li><a href=#g aria-current=page># general</a></li><li><a href=#r># random <b>3</b></a></li></ul></aside><main><h1># general</h1><ul role=log aria-label=Messages>{_CHAT}</ul><div contenteditable role=textbox aria-label='Message to general' aria-multiline=true></div><button disabled>Send</button></main>"),
    "board": _page("Board", f"{_bar('Board', 'List')}<main><h1>Release</h1><div class=row>{_BOARD}</div></main>"),
    "search": _page("desk lamps - Search", f"<form role=search><input type=search aria-label=Search value='desk lamps'><button>Search</button></form><p>About 1,240 results</p><main>{_RESULTS}</main><nav aria-label=Pages>{''.join(f'<a href=?p={n}>{n}</a> ' for n in range(1, 8))}</nav>"),
    "login": _page("Log in", "<main><h1>Log in</h1><form><label for=u>User name</label><input id=u required autofocus><label for=w>Password</label><input id=w type=password required><label><input type=checkbox checked> Stay logged in</label><button>Log in</button></form><a href=/forgot>Forgot your password?</a><p>New here? <a href=/join>Create an account</a></p></main>"),
    "files": _page("Files", f"<main><h1>Files</h1><div role=tree aria-label=Folders><div role=treeitem aria-expanded=true tabindex=0>Documents</div><div role=treeitem tabindex=-1>Letters</div><div role=treeitem aria-expanded=false tabindex=-1>Pictures</div></div>{_table(('Name', 'Size', 'Changed', ''), [(f'<a href=/d/{n}>report-{n}.pdf</a>', f'{n}40 KB', f'May {n}, 2024', '<button aria-haspopup=menu aria-label=More>⋯</button>') for n in range(1, 13)])}<p>12 items, 3.2 GB free</p><progress value=70 max=100 aria-label='Space used'></progress></main>"),
    "recipe": _page("Pancakes", f"<main><h1>Pancakes</h1><p>Serves 4 · 20 minutes · <span aria-label='Rated 4.5 of 5'>****</span></p><h2>Ingredients</h2><ul>{''.join(f'<li><label><input type=checkbox> {i}</label></li>' for i in ('200 g flour', '3 eggs', '300 ml milk', 'a pinch of salt'))}</ul><h2>Method</h2><ol>{''.join(f'<li>{w}</li>' for w in _WORDS)}</ol><h2>Comments</h2><article><b>{_PEOPLE[0]}</b><p>{_WORDS[2]}</p></article><textarea aria-label='Your comment' placeholder='Write a comment'></textarea><button>Post</button></main>"),
    "jobs": _page("Jobs", f"<main><h1>Jobs in Bonn</h1><div class=row><input aria-label=What value=engineer><input aria-label=Where value=Bonn><button>Find jobs</button></div><ul>{_JOBS}</ul></main>"),
    "timetable": _page("Departures", f"<main><h1>Departures from Bonn</h1><label for=to>To</label><input id=to list=places><datalist id=places><option value=Cologne><option value=Kiel></datalist><input type=date aria-label=Day value=2024-05-01><input type=time aria-label=Time value=10:30>{_table(('Time', 'Train', 'To', 'Platform', 'State'), [(f'1{n % 10}:0{n % 6}', f'RE {n}', ('Cologne', 'Koblenz')[n % 2], str(n % 5 + 1), ('on time', 'delayed by 5 minutes')[n % 3 == 0]) for n in range(1, 16)])}<button>Later</button></main>"),
}  # fmt: skip
"""HTML by name."""
