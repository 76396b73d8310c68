"""Other ways to do the built-in tasks than the kept solutions: by menu, by keys, and saving where no one asked."""

from __future__ import annotations

from waa_server_ext.built_in.solutions import scripts

__all__ = ["WAYS", "Step"]

Step = list[str | int]


def click(name: str) -> Step:
    return ["click", name]


def double(name: str) -> Step:
    return ["double-click", name]


def right(name: str) -> Step:
    return ["right-click", name]


def typed(text: str) -> Step:
    return ["type", text]


def drag(name: str, x: int, y: int) -> Step:
    return ["drag", name, x, y]


def keys(pressed: str) -> Step:
    return ["keys", pressed]


def start(app: str) -> list[Step]:
    return [click("Start"), click(app)]


def _solved(task: str, *more: Step) -> list[Step]:
    """The kept solution, and what someone does after it."""
    return [*scripts()[task]["steps"], *more]


def _saved_as(path: str) -> list[Step]:
    """Type a whole path into the dialog that is open."""
    return [keys("ctrl+a"), typed(path), keys("enter")]


def _note(text: str, path: str) -> list[Step]:
    return [*start("Notepad"), typed(text), keys("ctrl+s"), *_saved_as(path)]


def _run(program: str) -> list[Step]:
    return [keys("win+r"), typed(program), keys("enter")]


def _found(setting: str) -> list[Step]:
    """Find a page of Settings by its search box."""
    return [*start("Settings"), click("Find a setting"), typed(setting), keys("enter")]


def _at(address: str) -> list[Step]:
    """Open a page of a browser by its address."""
    return [keys("ctrl+l"), typed(address), keys("enter")]


HOME = "C:\\Users\\Docker"
CANVAS = "microsoft_paint/44dbac63-32bf-4cd2-81b4-ad6803ec812d-WOS"
CIRCLE = "microsoft_paint/15f8de6e-3d39-40e4-af17-bdbb2393c0d9-WOS"
PICTURE = "microsoft_paint/3544ac9a-6aee-4a0b-a203-bc7b59b272b6-WOS"
DRAFT = "notepad/366de66e-cbae-4d72-b042-26390db2b145-WOS"
COUNT = "notepad/a7d4b6c5-569b-452e-9e1d-ffdb3d431d15-WOS"
WRAP = "vs_code/276cc624-87ea-4f08-ab93-f770e3790175-WOS"
PNGS = "file_explorer/016c9a9d-f2b9-4428-8fdb-f74f4439ece6-WOS"
ARCHIVE = "file_explorer/0c9dda13-428c-492b-900b-f48562111f93-WOS"
MOVED = "file_explorer/1876fe7f-6fdc-5dd6-c9e0-237d4c8411f0-WOS"
TAGGED = "file_explorer/22e529ff-4199-4ffb-95b7-8e5be9b7a860-WOS"
SHOWN = "file_explorer/2b0c0844-bd4f-42ba-a25e-afb4267d51e2-WOS"
LARGE = "file_explorer/2d292a2d-686b-4e72-80f7-af6c232b1258-WOS"
DETAILS = "file_explorer/34a4fee9-e52e-4a4a-96d2-68d35091504a-WOS"
HIDDEN = "file_explorer/5316686e-5688-4115-be24-052037df599f-WOS"
LINK = "file_explorer/7AB09EF1-331B-4A21-90C9-996ADE3B6E1A-WOS"
SORTED = "file_explorer/7c70e16b-e14f-4baa-b046-3e022b2d0305-WOS"
OLD = "file_explorer/ac46b5cb-616a-46e0-b287-9628fd0dab06-WOS"
COPY = "file_explorer/b8ab0ae1-d2b4-4e6f-b609-df7d76b456d7-WOS"
SECRET = "file_explorer/e27984c7-968c-48d7-b2c3-6e45cdcc5249-WOS"
RESTORED = "file_explorer/f934d80d-84d2-4b46-953c-89f77b5a709a-WOS"
DAYS = "windows_calc/28b91a24-5d97-4c2a-891c-dccbd3820c62-WOS-2"
TIMER = "clock/02F10F89-7171-4D37-8550-A00BA8930CDF-2-WOS"
CITY = "clock/91A30BE9-0E11-4374-8D43-41D4D097080A-WOS"
FAVOURITE = "msedge/049d3788-c979-4ea6-934d-3a35c4630faf-WOS"
EDGE_NAME = "msedge/1a1ec621-b675-4099-96a9-f702dc27afb4-wos"
EDGE_DOWNLOADS = "msedge/58f493b5-5a96-4450-99ca-7cebe144c7e5-wos"
EDGE_HOME = "msedge/ccb22f83-0831-4655-b557-225144b70c71-wos"
CHROME_NAME = "chrome/2ae9ba84-3a0d-4d4c-8338-3a1478dc5fe3-wos"
PYLANCE = "vs_code/4e60007a-f5be-4bfc-9723-c39affa0a6d3-2-WOS"
NIGHT = "settings/46adf721-2949-4426-b069-010b7c128d8f-wos"
HOURS = "clock/02F10F89-7171-4D37-8550-A00BA8930CDF-WOS"
KYOTO = "clock/91A30BE9-0E11-4374-8D43-41D4D097080A-WOS-2"
QUIET = "settings/37e10fc4-b4c5-4b02-a65c-bfae8bc51d3f-wos"
ZONE = "settings/9504989a-0d6e-4017-aefb-d359f6c752aa-wos"
PLAIN = "settings/a659b26e-4e31-40c1-adaf-34742b6c44ac-wos"
STORAGE = "settings/e8f68f22-1f6a-4cba-a97a-ac611bb4c67b-wos"
DAYS_OF_TWO_YEARS = "windows_calc/28b91a24-5d97-4c2a-891c-dccbd3820c62-WOS-3"
DIFFERENCE = "windows_calc/28b91a24-5d97-4c2a-891c-dccbd3820c62-WOS"
EDGE_TRACK = "msedge/004587f8-6028-4656-94c1-681481abbc9c-wos"
EDGE_CLEARS = "msedge/1c9d2c6c-ae4b-4359-9a93-9d3c42f48417-wos"
EDGE_FONT = "msedge/2acd62b4-a2ab-44a7-a7e3-f5227bbd8324-wos"
EDGE_SECURE = "msedge/98cfcec4-c74e-4faa-b70d-664fb0a1d457-wos"
CHROME_TRACK = "chrome/030eeff7-b492-4218-b312-701ec99ee0cc-wos"
CHROME_SAFE = "chrome/9656a811-9b5b-4ddf-99c7-5117bcef0626-wos"
CHROME_FONT = "chrome/af630914-714e-4a24-a7bb-f9af687d3b91-wos"
DOCSTRING = "vs_code/4e60007a-f5be-4bfc-9723-c39affa0a6d3-WOS"
_NAMES = "cs-black-000.png\ncs-gray-7f7f7f.png\ncs-white-fff.png"

WAYS: dict[str, dict[str, list[Step]]] = {
    CANVAS: {
        "saved by keys": _solved(CANVAS, keys("ctrl+s"), *_saved_as(f"{HOME}\\Pictures\\canvas.png")),
        "saved by the menu": _solved(
            CANVAS, click("File"), click("Save"), *_saved_as(f"{HOME}\\Pictures\\canvas.png")
        ),
        "confirmed by enter": [
            keys("ctrl+e"), click("Horizontal"), keys("ctrl+a"), typed("800"), click("Vertical"),
            keys("ctrl+a"), typed("600"), keys("enter"),
        ],
        "by the menu": [
            click("File"), click("Image properties"), click("Horizontal"), keys("ctrl+a"),
            typed("800"), keys("tab"), keys("ctrl+a"), typed("600"), click("OK"),
        ],
    },
    CIRCLE: {
        "saved": _solved(CIRCLE, keys("ctrl+s"), *_saved_as(f"{HOME}\\Pictures\\circle.png")),
        "colour first": [*start("Paint"), click("Red"), click("Oval"), drag("Canvas", 690, 590)],
        "with another window in front": _solved(CIRCLE, click("File Explorer pinned")),
    },
    PICTURE: {
        "by the menu": [click("File"), click("Save"), *_saved_as(f"{HOME}\\Downloads\\circle.png")],
        "by f12": [keys("f12"), *_saved_as(f"{HOME}\\Downloads\\circle.png")],
    },
    DRAFT: {
        "by keys": _note("This is a draft.", f"{HOME}\\Documents\\draft.txt"),
        "without the extension": _note("This is a draft.", f"{HOME}\\Documents\\draft"),
        "closed after it": _solved(DRAFT, click("Close")),
    },
    COUNT: {
        "by keys": _note("17", f"{HOME}\\Documents\\example_count.txt"),
        "closed after it": _solved(COUNT, click("Close")),
    },
    WRAP: {
        "with wrapping on": [
            keys("ctrl+,"), click("Editor content"), keys("ctrl+a"),
            typed('{"editor.wordWrap": "wordWrapColumn", "editor.wordWrapColumn": 50}'), keys("ctrl+s"),
        ],
        "by the menu": [
            click("File"), click("Settings (JSON)"), click("Editor content"), keys("ctrl+a"),
            typed('{\n"editor.wordWrapColumn": 50\n}'), click("File"), click("Save"),
        ],
        "by the palette": [
            keys("ctrl+shift+p"), typed("settings json"), keys("enter"), click("Editor content"),
            keys("ctrl+a"), typed('{"editor.wordWrapColumn": 50}'), keys("ctrl+s"),
        ],
    },
    PNGS: {
        "by keys": _note(_NAMES, f"{HOME}\\Pictures\\png_files.txt"),
        "with a line break at the end": _note(f"{_NAMES}\n", f"{HOME}\\Pictures\\png_files.txt"),
        "in another order": _note(
            "cs-white-fff.png\ncs-black-000.png\ncs-gray-7f7f7f.png", f"{HOME}\\Pictures\\png_files.txt"
        ),
    },
    ARCHIVE: {
        "by keys": [
            keys("ctrl+shift+n"), typed("Archive"), keys("enter"), click("Doc01.docx"), keys("ctrl+x"),
            double("Archive"), keys("ctrl+v"), keys("alt+left"), click("Doc02.docx"), keys("ctrl+x"),
            double("Archive"), keys("ctrl+v"),
        ],
        "by context menus": [
            click("New"), click("Folder"), typed("Archive"), keys("enter"), right("Doc01.docx"), click("Cut#2"),
            double("Archive"), click("Paste"), click("Back"), right("Doc02.docx"), click("Cut#2"), double("Archive"),
            click("Paste"),
        ],
    },
    MOVED: {
        "by keys": [
            click("MyFolder"), keys("ctrl+x"), keys("win+e"), click("Documents"), keys("ctrl+v"),
        ],
        "by context menu": [
            right("MyFolder"), click("Cut"), click("File Explorer pinned"), click("Documents"), keys("ctrl+v"),
        ],
    },
    TAGGED: {
        "both at once": [
            click("TestImage1.jpg"), keys("ctrl+a"), keys("alt+enter"), click("Details"), click("Tags#2"),
            typed("2023Vacation"), click("OK"),
        ],
        "confirmed by enter": [
            *(step for name in ("TestImage1.jpg", "TestImage2.jpg") for step in (
                click(name), keys("alt+enter"), click("Details"), click("Tags#2"), typed("2023Vacation"), keys("enter"),
            )),
        ],
    },
    SHOWN: {
        "by the address": [
            click("File Explorer pinned"), keys("ctrl+l"), keys("ctrl+a"), typed(f"{HOME}\\Documents"), keys("enter"),
        ],
        "by keys": [keys("win+e"), click("Documents")],
        "by a double click": [click("File Explorer pinned"), double("Documents#2")],
    },
    LARGE: {
        "by keys": _note("testing.bin", f"{HOME}\\Desktop\\report.txt"),
        "with a line break": _note("testing.bin\n", f"{HOME}\\Desktop\\report.txt"),
    },
    DETAILS: {
        "by the button below": [click("Documents#1"), click("View"), click("Details")],
        "by keys": [click("Documents#1"), keys("ctrl+shift+6")],
    },
    HIDDEN: {
        "in a folder that is open": [
            click("File Explorer pinned"), click("Documents"), click("View"), click("Show"), click("Hidden items"),
        ],
        "by options": [
            click("File Explorer pinned"), click("See more"), click("Options"),
            click("Show hidden files, folders, and drives"), click("OK"),
        ],
    },
    LINK: {
        "by send to": [
            click("File Explorer pinned"), click("Documents"), right("Projects"), click("Send to"),
            click("Desktop (create shortcut)"),
        ],
        "made and moved": [
            click("File Explorer pinned"), click("Documents"), right("Projects"), click("Create shortcut"),
            click("Projects - Shortcut.lnk"), keys("ctrl+x"), click("Desktop"), keys("ctrl+v"),
        ],
    },
    SORTED: {
        "by the column": [click("View"), click("Details"), click("Date modified")],
        "the other way": [
            click("View"), click("Details"), click("Date modified"), click("Date modified"),
        ],
    },
    OLD: {
        "by keys": [
            keys("win+e"), click("Downloads"), click("Test"), keys("ctrl+a"), keys("ctrl+x"), keys("alt+d"),
            typed(f"{HOME}\\OldDownloads"), keys("enter"), keys("ctrl+v"),
        ],
        "by menus": [
            click("File Explorer pinned"), click("Downloads"), click("Test"), click("Cut"), click("Address Bar"),
            keys("ctrl+a"), typed(f"{HOME}\\OldDownloads"), keys("enter"), keys("ctrl+v"),
        ],
    },
    COPY: {
        "by keys": [
            click("example.txt"), keys("ctrl+c"), keys("win+e"), click("Documents"), keys("ctrl+v"),
            keys("f2"), keys("ctrl+a"), typed("example_renamed.txt"), keys("enter"),
        ],
        "by context menu": [
            right("example.txt"), click("Copy"), click("Paste"), right("example.txt"), click("Rename#2"),
            keys("ctrl+a"), typed("example_renamed.txt"), keys("enter"),
        ],
    },
    SECRET: {
        "by keys": [click("secret.txt"), keys("alt+enter"), click("Hidden"), keys("enter")],
        "applied first": [
            right("secret.txt"), click("Properties"), click("Hidden"), click("Apply"), click("OK"),
        ],
    },
    RESTORED: {
        "by the bar": [double("Recycle Bin"), click("example.txt"), click("Restore the selected items")],
        "all": [double("Recycle Bin"), click("Restore all items")],
    },
    DAYS: {
        "by keys": _note("230 days", f"{HOME}\\Desktop\\numdays.txt"),
        "with a line break": _note("230 days\n", f"{HOME}\\Desktop\\numdays.txt"),
    },
    TIMER: {
        "while time passes": _solved(TIMER, keys("shift"), keys("shift"), click("Clock")),
        "edited": [
            click("Timer"), click("Edit#1"), click("Hours#2"), keys("ctrl+a"), typed("0"), click("Minutes#2"),
            keys("ctrl+a"), typed("30"), click("Seconds#2"), keys("ctrl+a"), typed("0"), click("Save"),
            click("Timer paused, Start#1"),
        ],
        "confirmed by enter": [
            click("Timer"), click("Add new timer"), click("Minutes#2"), keys("ctrl+a"), typed("30"), keys("enter"),
            click("Timer paused, Start#4"),
        ],
    },
    CITY: {
        "typed in full": [
            click("World clock"), click("Add a new city"), typed("Munich, Germany"), click("Munich, Germany"), click("Add"),
        ],
        "first of what is found": [
            click("World clock"), click("Add a new city"), typed("munich"), keys("enter"),
        ],
    },
    FAVOURITE: {
        "by the menu": [keys("alt+f"), click("Favorite this page#2")],
        "by keys": [keys("ctrl+d"), keys("enter")],
    },
    EDGE_NAME: {
        "confirmed by enter": [
            click("Settings and more"), click("Settings"), click("Profile name#2"), keys("ctrl+a"), typed("Thomas"),
            keys("enter"),
        ],
        "by the address": [
            keys("ctrl+l"), typed("edge://settings"), keys("enter"), click("Profile name#2"), keys("ctrl+a"),
            typed("Thomas"), click("OK"),
        ],
    },
    EDGE_DOWNLOADS: {
        "by the address": [
            *_at("edge://settings/downloads"), click("Downloads location#2"), keys("ctrl+a"), typed("C:\\"), click("OK"),
        ],
        "confirmed by enter": [
            click("Settings and more"), click("Settings"), click("Downloads location#2"), keys("ctrl+a"), typed("C:\\"),
            keys("enter"),
        ],
    },
    EDGE_HOME: {
        "by the address": [
            *_at("edge://settings/startHomeNTP"), click("Home page#2"), keys("ctrl+a"), typed("www.wikipedia.org"), click("OK"),
        ],
        "with the scheme": [
            click("Settings and more"), click("Settings"), click("Home page#2"), keys("ctrl+a"),
            typed("https://www.wikipedia.org"), keys("enter"),
        ],
    },
    CHROME_NAME: {
        "by the address": [
            *_at("chrome://settings/manageProfile"), click("Profile name#2"), keys("ctrl+a"), typed("Thomas"), click("OK"),
        ],
        "confirmed by enter": [
            click("Chrome"), click("Settings"), click("Profile name#2"), keys("ctrl+a"), typed("Thomas"), keys("enter"),
        ],
    },
    PYLANCE: {
        "by the menu": [click("View"), click("Extensions#2"), typed("Pylance"), click("Install Pylance")],
        "by keys": [keys("ctrl+shift+x"), typed("Pylance"), click("Install Pylance")],
    },
    NIGHT: {
        "by search": [
            *_found("night"), click("Schedule night light#2"), click("Turn on#2"), click("7:00 PM"), click("Turn off#2"),
            click("7:00 AM"),
        ],
        "the end first": [
            *start("Settings"), click("Display"), click("Night light#3"), click("Schedule night light#2"),
            click("Turn off#2"), click("7:00 AM"), click("Turn on#2"), click("7:00 PM"),
        ],
    },
    HOURS: {
        "by the arrows": [
            click("Timer"), click("Add new timer"), *[click("Increase Hours")] * 3, *[click("Decrease Minutes")] * 5,
            click("Save"), click("Timer paused, Start#4"),
        ],
        "confirmed by enter": [
            click("Timer"), click("Add new timer"), click("Hours#2"), keys("ctrl+a"), typed("3"), click("Minutes#2"),
            keys("ctrl+a"), typed("0"), keys("enter"), click("Timer paused, Start#4"),
        ],
    },
    KYOTO: {
        "by keys": [
            click("World clock"), click("Add a new city"), typed("Kyoto"), keys("tab"), keys("enter"), keys("enter"),
        ],
        "first of what is found": [
            click("World clock"), click("Add a new city"), typed("kyoto, japan"), keys("enter"),
        ],
    },
    QUIET: {
        "by search": [*_found("notif"), click("Notifications#2")],
        "by run": [*_run("ms-settings:notifications"), click("Notifications#2")],
        "by keys": [keys("win+i"), click("Notifications"), click("Notifications#2")],
    },
    ZONE: {
        "by search": [
            *_found("date"), click("Time zone#2"), click("(UTC-08:00) Pacific Time (US & Canada)"),
        ],
        "by keys": [*_run("ms-settings:dateandtime"), click("Time zone#2"), *[keys("up")] * 4, keys("enter")],
    },
    PLAIN: {
        "with a colour": _solved(PLAIN, click("Black")),
        "from the desktop": [
            right("Desktop"), click("Personalize"), click("Background"), click("Personalize your background#2"),
            click("Solid color"), click("Green"),
        ],
        "by search": [
            *_found("background"), click("Personalize your background#2"), keys("down"), keys("enter"),
        ],
    },
    STORAGE: {
        "how often first": [
            click("Run Storage Sense#2"), click("Every week"), click("Automatic User content cleanup#2"),
        ],
        "by search": [
            *_found("storage"), click("Storage Sense#2"), click("Storage Sense#3"), click("Run Storage Sense#2"),
            click("Every week"),
        ],
    },
    DAYS_OF_TWO_YEARS: {
        "by keys": _note("585 days", f"{HOME}\\Desktop\\numdays.txt"),
        "with a line break": _note("585 days\n", f"{HOME}\\Desktop\\numdays.txt"),
    },
    DIFFERENCE: {
        "by keys": _note("43 years, 9 months, 3 weeks, 4 days", f"{HOME}\\Desktop\\Differences.txt"),
        "with a line break": _note("43 years, 9 months, 3 weeks, 4 days\n", f"{HOME}\\Desktop\\Differences.txt"),
    },
    EDGE_TRACK: {
        "by the address": [*_at("edge://settings/privacy"), click('Send "Do Not Track" requests#2')],
        "by search": [
            keys("alt+f"), click("Settings"), click("Search settings"), typed("track"),
            click('Send "Do Not Track" requests#2'),
        ],
    },
    EDGE_CLEARS: {
        "found": [
            click("Settings and more"), click("Settings"), click("Search settings"), typed("clear"), click("Clear browsing data on close#2"),
        ],
        "by the address": [
            *_at("edge://settings/clearBrowsingDataOnClose"), click("Clear browsing data on close#2"),
        ],
    },
    EDGE_FONT: {
        "found": [
            click("Settings and more"), click("Settings"), click("Search settings"), typed("font"), click("Font size#2"), click("Very large"),
        ],
        "by keys": [
            *_at("edge://settings/appearance"), click("Font size#2"), *[keys("down")] * 2, keys("enter"),
        ],
    },
    EDGE_SECURE: {
        "found": [
            click("Settings and more"), click("Settings"), click("Search settings"), typed("security"), click("Enhanced security#2"),
        ],
        "by the address": [*_at("edge://settings/privacy"), click("Enhanced security#2")],
    },
    CHROME_TRACK: {
        "found": [
            click("Chrome"), click("Settings"), click("Search settings"), typed("track"), click('Send "Do Not Track" requests#2'),
        ],
        "by the address": [*_at("chrome://settings/cookies"), click('Send "Do Not Track" requests#2')],
    },
    CHROME_SAFE: {
        "by the address": [*_at("chrome://settings/security"), click("Enhanced security#2")],
        "by the menu's key": [keys("alt+e"), click("Settings"), click("Enhanced security#2")],
    },
    CHROME_FONT: {
        "found": [
            click("Chrome"), click("Settings"), click("Search settings"), typed("font"), click("Font size#2"), click("Very large"),
        ],
        "by keys": [
            *_at("chrome://settings/fonts"), click("Font size#2"), *[keys("down")] * 2, keys("enter"),
        ],
    },
    DOCSTRING: {
        "by keys": [keys("ctrl+shift+x"), typed("autodocstring"), click("Install autoDocstring")],
        "by the menu": [
            click("View"), click("Extensions#2"), typed("autodocstring"), click("Install autoDocstring"),
        ],
        "by the palette": [
            keys("ctrl+shift+p"), typed("install extensions"), keys("enter"), typed("docstring"),
            click("Install autoDocstring"),
        ],
    },
}  # fmt: skip
