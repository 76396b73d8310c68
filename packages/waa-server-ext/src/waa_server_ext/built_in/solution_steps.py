"""The steps of each solved task: what to click on by its name, what to type, which keys to press.

The second part of an entry says what the wrong variant does instead.
"""

from __future__ import annotations

from typing import Any

__all__ = ["SCRIPTS", "Step", "click", "double", "drag", "keys", "right", "start", "typed"]

Step = tuple[str, str, dict[str, Any]]
Script = tuple[list[Step], dict[str, str]]


def click(name: str, *, count: int = 1, button: str = "left") -> Step:
    """Click on an element."""
    return "click", name, {"count": count, "button": button}


def double(name: str) -> Step:
    """Click on an element twice."""
    return click(name, count=2)


def right(name: str) -> Step:
    """Click on an element with the right button."""
    return click(name, button="right")


def typed(text: str) -> Step:
    """Type a text."""
    return "type", text, {}


def drag(name: str, x: int, y: int) -> Step:
    """Drag from the middle of an element to a pixel."""
    return "drag", name, {"x": x, "y": y}


def keys(pressed: str) -> Step:
    """Press keys together, such as `ctrl+s`."""
    return "keys", pressed, {}


def start(app: str) -> list[Step]:
    """Start a program by the Start menu."""
    return [click("Start"), click(app)]


def _notepad_file(text: str, name: str, place: str) -> list[Step]:
    save = [
        click("File"),
        click("Save as"),
        click(place),
        click("File name:#2"),
        keys("ctrl+a"),
        typed(name),
        click("Save"),
    ]
    return [*start("Notepad"), typed(text), *save]


def _settings(*steps: Step) -> list[Step]:
    return [*start("Settings"), *steps]


def _timer(hours: str, minutes: str) -> list[Step]:
    def number(field: str, value: str) -> list[Step]:
        return [click(f"{field}#2"), keys("ctrl+a"), typed(value)]

    add = [click("Timer"), click("Add new timer")]
    fill = [*number("Hours", hours), *number("Minutes", minutes), *number("Seconds", "00")]
    # the new timer is the fourth: stop at its Start button, the last of that name
    return [*add, *fill, click("Save"), click("Timer paused, Start#4")]


def _city(city: str, country: str) -> list[Step]:
    return [
        click("World clock"),
        click("Add a new city"),
        typed(city),
        click(f"{city}, {country}"),
        click("Add"),
    ]


def _dates(start: str, end: str, text: str, name: str) -> list[Step]:
    def date(field: str, value: str) -> list[Step]:
        return [click(f"{field} (MM/DD/YYYY)"), keys("ctrl+a"), typed(value)]

    compute = [
        click("Open Navigation"),
        click("Date calculation"),
        *date("From", start),
        *date("To", end),
    ]
    return [*compute, *_notepad_file(text, name, "Desktop")]


def _edge(*steps: Step) -> list[Step]:
    return [click("Settings and more"), click("Settings"), *steps]


def _chrome(*steps: Step) -> list[Step]:
    return [click("Chrome"), click("Settings"), *steps]


def _extension(name: str) -> list[Step]:
    return [click("Extensions"), typed(name.casefold()), click(f"Install {name}")]


def _code_settings(text: str) -> list[Step]:
    return [
        click("File"),
        click("Settings (JSON)"),
        click("Editor content"),
        keys("ctrl+a"),
        typed(text),
        keys("ctrl+s"),
    ]


def _tag(name: str, tag: str) -> list[Step]:
    return [
        right(name),
        click("Properties"),
        click("Details"),
        click("Tags#2"),
        typed(tag),
        click("OK"),
    ]


def _cut_into(name: str, folder: str) -> list[Step]:
    return [click(name), click("Cut"), double(folder), click("Paste"), click("Back")]


_EXPLORER = click("File Explorer pinned")
_DO_NOT_TRACK = 'Send "Do Not Track" requests#2'
_ENHANCED = "Enhanced security#2"
_ON_CLOSE = "Clear browsing data on close#2"

SCRIPTS: dict[str, Script] = {
    "notepad/366de66e-cbae-4d72-b042-26390db2b145-WOS": (
        _notepad_file("This is a draft.", "draft.txt", "Documents"),
        {"This is a draft.": "This is no draft."},
    ),
    "notepad/a7d4b6c5-569b-452e-9e1d-ffdb3d431d15-WOS": (
        [
            *start("Notepad"),
            click("File"),
            click("Open"),
            double("largefile.txt"),
            keys("ctrl+f"),
            typed("example"),
            click("Find next"),
            keys("escape"),
            keys("ctrl+n"),
            typed("17"),
            keys("ctrl+s"),
            typed("example_count.txt"),
            click("Save"),
        ],
        {"17": "18"},
    ),
    "file_explorer/016c9a9d-f2b9-4428-8fdb-f74f4439ece6-WOS": (
        _notepad_file(
            "cs-black-000.png\ncs-gray-7f7f7f.png\ncs-white-fff.png", "png_files.txt", "Pictures"
        ),
        {
            "cs-black-000.png\ncs-gray-7f7f7f.png\ncs-white-fff.png": "cs-black-000.png\ncs-white-fff.png"
        },
    ),
    "file_explorer/0c9dda13-428c-492b-900b-f48562111f93-WOS": (
        [
            click("New"),
            click("Folder"),
            typed("Archive"),
            keys("enter"),
            *_cut_into("Doc01.docx", "Archive"),
            *_cut_into("Doc02.docx", "Archive"),
        ],
        {"Archive": "Arch"},
    ),
    "file_explorer/1876fe7f-6fdc-5dd6-c9e0-237d4c8411f0-WOS": (
        [click("MyFolder"), keys("ctrl+x"), _EXPLORER, double("Documents#2"), click("Paste")],
        {"Documents#2": "Music#2"},
    ),
    "file_explorer/22e529ff-4199-4ffb-95b7-8e5be9b7a860-WOS": (
        [*_tag("TestImage1.jpg", "2023Vacation"), *_tag("TestImage2.jpg", "2023Vacation")],
        {"2023Vacation": "2024Vacation"},
    ),
    "file_explorer/2b0c0844-bd4f-42ba-a25e-afb4267d51e2-WOS": (
        [_EXPLORER, click("Documents")],
        {"Documents": "Downloads"},
    ),
    "file_explorer/2d292a2d-686b-4e72-80f7-af6c232b1258-WOS": (
        _notepad_file("testing.bin", "report.txt", "Desktop"),
        {"testing.bin": "example.txt"},
    ),
    "file_explorer/34a4fee9-e52e-4a4a-96d2-68d35091504a-WOS": (
        [click("View"), click("Details")],
        {"Details": "List"},
    ),
    "file_explorer/5316686e-5688-4115-be24-052037df599f-WOS": (
        [_EXPLORER, click("View"), click("Show"), click("Hidden items")],
        {"Show": "List", "Hidden items": "Sort"},
    ),
    "file_explorer/7AB09EF1-331B-4A21-90C9-996ADE3B6E1A-WOS": (
        [
            _EXPLORER,
            click("Documents"),
            right("Projects"),
            click("Send to"),
            click("Desktop (create shortcut)"),
        ],
        {"Send to": "Create shortcut", "Desktop (create shortcut)": "Projects"},
    ),
    "file_explorer/7c70e16b-e14f-4baa-b046-3e022b2d0305-WOS": (
        [click("Sort"), click("Date modified")],
        {"Date modified": "Type"},
    ),
    "file_explorer/ac46b5cb-616a-46e0-b287-9628fd0dab06-WOS": (
        [
            _EXPLORER,
            click("Downloads"),
            click("Test"),
            keys("ctrl+a"),
            keys("ctrl+x"),
            click("Address Bar"),
            typed("C:\\Users\\Docker\\OldDownloads"),
            keys("enter"),
            click("Paste"),
        ],
        {"ctrl+x": "ctrl+c", "C:\\Users\\Docker\\OldDownloads": "C:\\Users\\Docker\\Music"},
    ),
    "file_explorer/b8ab0ae1-d2b4-4e6f-b609-df7d76b456d7-WOS": (
        [
            click("Desktop"),
            click("example.txt"),
            keys("ctrl+c"),
            click("Documents"),
            click("Paste"),
            click("example.txt"),
            keys("f2"),
            keys("ctrl+a"),
            typed("example_renamed.txt"),
            keys("enter"),
        ],
        {"example_renamed.txt": "renamed.txt"},
    ),
    "file_explorer/e27984c7-968c-48d7-b2c3-6e45cdcc5249-WOS": (
        [right("secret.txt"), click("Properties"), click("Hidden"), click("OK")],
        {"Hidden": "Read-only"},
    ),
    "file_explorer/f934d80d-84d2-4b46-953c-89f77b5a709a-WOS": (
        [double("Recycle Bin"), right("example.txt"), click("Restore#1")],
        {"Restore#1": "Delete"},
    ),
    "clock/02F10F89-7171-4D37-8550-A00BA8930CDF-WOS": (_timer("3", "00"), {"3": "2"}),
    "clock/02F10F89-7171-4D37-8550-A00BA8930CDF-2-WOS": (_timer("0", "30"), {"30": "20"}),
    "clock/91A30BE9-0E11-4374-8D43-41D4D097080A-WOS": (
        _city("Munich", "Germany"),
        {"Munich": "Berlin", "Munich, Germany": "Berlin, Germany"},
    ),
    "clock/91A30BE9-0E11-4374-8D43-41D4D097080A-WOS-2": (
        _city("Kyoto", "Japan"),
        {"Kyoto": "Osaka", "Kyoto, Japan": "Osaka, Japan"},
    ),
    "settings/37e10fc4-b4c5-4b02-a65c-bfae8bc51d3f-wos": (
        _settings(click("Notifications"), click("Notifications#2")),
        {"Notifications#2": "Do not disturb#2"},
    ),
    "settings/46adf721-2949-4426-b069-010b7c128d8f-wos": (
        _settings(
            click("Display"),
            click("Night light#3"),
            click("Schedule night light#2"),
            click("Turn on#2"),
            click("7:00 PM"),
            click("Turn off#2"),
            click("7:00 AM"),
        ),
        {"7:00 PM": "8:00 PM"},
    ),
    "settings/9504989a-0d6e-4017-aefb-d359f6c752aa-wos": (
        _settings(
            click("Time & language"),
            click("Date & time"),
            click("Time zone#2"),
            click("(UTC-08:00) Pacific Time (US & Canada)"),
        ),
        {"(UTC-08:00) Pacific Time (US & Canada)": "(UTC-09:00) Alaska"},
    ),
    "settings/a659b26e-4e31-40c1-adaf-34742b6c44ac-wos": (
        _settings(
            click("Personalization"),
            click("Background"),
            click("Personalize your background#2"),
            click("Solid color"),
        ),
        {"Solid color": "Picture"},
    ),
    "settings/e8f68f22-1f6a-4cba-a97a-ac611bb4c67b-wos": (
        [
            click("Automatic User content cleanup#2"),
            click("Run Storage Sense#2"),
            click("Every week"),
        ],
        {"Every week": "Every day"},
    ),
    "windows_calc/28b91a24-5d97-4c2a-891c-dccbd3820c62-WOS-2": (
        _dates("01/03/2024", "08/20/2024", "230 days", "numdays.txt"),
        {"230 days": "229 days"},
    ),
    "windows_calc/28b91a24-5d97-4c2a-891c-dccbd3820c62-WOS-3": (
        _dates("01/13/2023", "08/20/2024", "585 days", "numdays.txt"),
        {"585 days": "584 days"},
    ),
    "windows_calc/28b91a24-5d97-4c2a-891c-dccbd3820c62-WOS": (
        _dates(
            "10/08/1980", "08/02/2024", "43 years, 9 months, 3 weeks, 4 days", "Differences.txt"
        ),
        {"43 years, 9 months, 3 weeks, 4 days": "43 years, 9 months, 25 days"},
    ),
    "microsoft_paint/15f8de6e-3d39-40e4-af17-bdbb2393c0d9-WOS": (
        [*start("Paint"), click("Oval"), click("Red"), drag("Canvas", 690, 590)],
        {"Oval": "Fill"},
    ),
    "microsoft_paint/3544ac9a-6aee-4a0b-a203-bc7b59b272b6-WOS": (
        [
            keys("ctrl+s"),
            click("Downloads"),
            click("File name:#2"),
            keys("ctrl+a"),
            typed("circle.png"),
            click("Save"),
        ],
        {"circle.png": "circles.png"},
    ),
    "microsoft_paint/44dbac63-32bf-4cd2-81b4-ad6803ec812d-WOS": (
        [
            keys("ctrl+e"),
            click("Horizontal"),
            keys("ctrl+a"),
            typed("800"),
            click("Vertical"),
            keys("ctrl+a"),
            typed("600"),
            click("OK"),
        ],
        {"600": "640"},
    ),
    "msedge/004587f8-6028-4656-94c1-681481abbc9c-wos": (
        _edge(click(_DO_NOT_TRACK)),
        {_DO_NOT_TRACK: _ENHANCED},
    ),
    "msedge/049d3788-c979-4ea6-934d-3a35c4630faf-WOS": (
        [click("Favorite this page")],
        {"Favorite this page": "Reload"},
    ),
    "msedge/1a1ec621-b675-4099-96a9-f702dc27afb4-wos": (
        _edge(click("Profile name#2"), keys("ctrl+a"), typed("Thomas"), click("OK")),
        {"Thomas": "Tom"},
    ),
    "msedge/1c9d2c6c-ae4b-4359-9a93-9d3c42f48417-wos": (
        _edge(click(_ON_CLOSE)),
        {_ON_CLOSE: _ENHANCED},
    ),
    "msedge/2acd62b4-a2ab-44a7-a7e3-f5227bbd8324-wos": (
        _edge(click("Font size#2"), click("Very large")),
        {"Very large": "Small"},
    ),
    "msedge/58f493b5-5a96-4450-99ca-7cebe144c7e5-wos": (
        _edge(click("Downloads location#2"), keys("ctrl+a"), typed("C:\\"), click("OK")),
        {"C:\\": "D:\\"},
    ),
    "msedge/98cfcec4-c74e-4faa-b70d-664fb0a1d457-wos": (
        _edge(click(_ENHANCED)),
        {_ENHANCED: _DO_NOT_TRACK},
    ),
    "msedge/ccb22f83-0831-4655-b557-225144b70c71-wos": (
        _edge(click("Home page#2"), typed("www.wikipedia.org"), click("OK")),
        {"www.wikipedia.org": "wikipedia.com"},
    ),
    "chrome/030eeff7-b492-4218-b312-701ec99ee0cc-wos": (
        _chrome(click(_DO_NOT_TRACK)),
        {_DO_NOT_TRACK: _ENHANCED},
    ),
    "chrome/2ae9ba84-3a0d-4d4c-8338-3a1478dc5fe3-wos": (
        _chrome(click("Profile name#2"), keys("ctrl+a"), typed("Thomas"), click("OK")),
        {"Thomas": "Tom"},
    ),
    "chrome/9656a811-9b5b-4ddf-99c7-5117bcef0626-wos": (
        _chrome(click(_ENHANCED)),
        {_ENHANCED: _DO_NOT_TRACK},
    ),
    "chrome/af630914-714e-4a24-a7bb-f9af687d3b91-wos": (
        _chrome(click("Font size#2"), click("Very large")),
        {"Very large": "Very small"},
    ),
    "vs_code/4e60007a-f5be-4bfc-9723-c39affa0a6d3-WOS": (
        _extension("autoDocstring"),
        {"autodocstring": "jupyter", "Install autoDocstring": "Install Jupyter"},
    ),
    "vs_code/4e60007a-f5be-4bfc-9723-c39affa0a6d3-2-WOS": (
        _extension("Pylance"),
        {"pylance": "jupyter", "Install Pylance": "Install Jupyter"},
    ),
    "vs_code/276cc624-87ea-4f08-ab93-f770e3790175-WOS": (
        _code_settings('{"editor.wordWrapColumn": 50}'),
        {'{"editor.wordWrapColumn": 50}': '{"editor.wordWrapColumn": 80}'},
    ),
}
