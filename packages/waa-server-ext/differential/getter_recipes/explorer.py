"""File Explorer: what lies in which folder, hidden, packed or sorted how."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from getter_recipes.file_builders import HOME, case, each, files, of, seven_zip, table, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from getter_recipes.file_builders import Case

__all__ = ["cases"]

PICTURES = "C:/Users/Docker/Pictures"
DOCUMENTS = "C:/Users/Docker/Documents"


def cases() -> Iterator[Case]:
    """Yield all cases."""
    yield from _listed_pictures()
    yield from _archived_documents()
    yield from _checked_by_the_vm()
    yield from _windows_and_libraries()
    yield from _on_the_desktop()
    yield from _moved()
    yield from _packed()
    yield from _hidden()


def _listed_pictures() -> Iterator[Case]:
    getter = "all_png_file_names"
    config = {"file_path": f"{PICTURES}/list.txt", "folder_path": PICTURES}
    for name, listed in (
        ("all", "a.png\nB.PNG"),
        ("all-windows", "a.png\r\nB.PNG\r\n"),
        ("one", "a.png"),
        ("other-case", "a.png\nb.png"),
        ("too-many", "a.png\nB.PNG\nc.jpg"),
    ):
        pictures = files(PICTURES, "a.png", "B.PNG", "c.jpg")
        state = {"files": {**pictures, f"{PICTURES}/list.txt": text(listed)}}
        yield case(getter, name, config, "true", state)
    yield case(getter, "no-list", config, "false", {"files": files(PICTURES, "a.png")})


def _archived_documents() -> Iterator[Case]:
    getter, config = "is_all_docx_in_archive", {"folder_path": DOCUMENTS}
    for name, paths, expected in (
        ("moved", ["Archive/a.docx", "b.txt"], "true"),
        ("left", ["Archive/a.docx", "b.docx"], "true"),
        ("others-too", ["Archive/a.docx", "Archive/b.txt"], "true"),
        ("no-archive", ["a.docx"], "false"),
        ("comma", ["Archive/a,b.docx"], "true"),
        ("upper", ["Archive/A.DOCX"], "true"),
        ("sub-folder", ["Archive/a.docx", "Archive/sub/x.txt"], "true"),
        ("archive-is-a-file", ["Archive"], "false"),
    ):
        yield case(getter, name, config, expected, {"files": files(DOCUMENTS, *paths)})
    empty = {"dirs": [HOME + r"\Documents\Archive"]}
    yield case(getter, "empty-archive", config, "true", empty)
    yield case(getter, "no-path", {"folder_path": ""}, "false")


def _checked_by_the_vm() -> Iterator[Case]:
    states = {"there": {"dirs": [HOME + r"\Documents\F"]}, "not": {}}
    yield from each("vm_folder_exists_in_documents", {"folder_name": "F"}, True, states)  # expected
    checks: dict[str, Any] = {
        "are_all_images_tagged": {"directory": PICTURES, "tag": "t"},
        "is_details_view": {"folder_path": DOCUMENTS},
        "are_files_sorted_by_modified_time": {"directory": DOCUMENTS},
        "is_directory_read_only_for_user": {"directory": DOCUMENTS, "user": "Everyone"},
    }
    for check, config in checks.items():
        holds, not_so = {"checks": {check: True}}, {"checks": {check: False}}
        yield from table(
            check,
            config,
            ("holds", holds, True),
            ("not", not_so, True),
            ("false-is-zero", not_so, 0),
        )
        yield case(check, "nothing-asked", dict.fromkeys(config, ""), expected=False)


def _windows_and_libraries() -> Iterator[Case]:
    states = {
        "same": {"active_window_title": "Documents"},
        "other": {"active_window_title": "Desktop"},
    }
    yield from each("vm_active_window_title", {}, "Documents", states)
    getter, library = "vm_library_folders", {"library_folders": {"L": ["C:\\b", "C:\\a"]}}
    yield case(getter, "sorted", {"library_name": "L"}, ["C:\\a", "C:\\b"], library)
    yield case(getter, "unknown", {"library_name": "M"}, ["C:\\a", "C:\\b"], library)
    yield case(getter, "no-name", {}, ["C:\\a"], library)


def _on_the_desktop() -> Iterator[Case]:
    path = HOME + r"\Desktop\a.txt"
    states = {"there": of(path, ""), "not": {}}
    yield from each("vm_file_exists_in_desktop", {"file_name": "a.txt"}, True, states)  # expected
    saved = {
        "there": of(path, "say hello!"),
        "other": of(path, "bye"),
        "case": of(path, "Hello"),
        "locked": of(path, "hello", locked=True),
    }
    asked = {"filename": "a.txt", "textcontent": "hello"}
    yield from each("is_file_saved_desktop", asked, "true", saved)
    states = {"empty": of(path, ""), "absent": {}}
    yield from each("is_file_desktop", {"filename": "a.txt"}, "true", states)


def _moved() -> Iterator[Case]:
    home = "C:/Users/Docker"
    states = {
        "moved": {"files": files(home, "OldDownloads/F/a.txt")},
        "left": {"files": files(home, "Downloads/F/a.txt", "OldDownloads/F/a.txt")},
        "not": {"files": files(home, "Downloads/F/a.txt")},
        "empty": {"files": files(home, "OldDownloads/F/b.txt")},
    }
    asked = {"file_name": "a.txt", "folder_name": "F"}
    yield from each("is_files_moved_downloads", asked, "true", states)


def _packed() -> Iterator[Case]:
    path = HOME + r"\Desktop\o.7z"
    archives = {
        "locked": seven_zip("pw"),
        "other-password": seven_zip("qq"),
        "open": seven_zip(None),
        "damaged": seven_zip("pw")[:80],
    }
    states = {name: {"files": {path: {"b64": data}}} for name, data in archives.items()}
    asked = {"filename": path, "password": "pw"}
    yield from each("zipped_folder_in_desktop", asked, "true", states)


def _hidden() -> Iterator[Case]:
    path = HOME + r"\Documents\s.txt"
    yield from table(
        "is_file_hidden",
        {"file_path": path},
        ("hidden", of(path, "x", hidden=True), "true"),
        ("shown", of(path, "x", hidden=False), "true"),
        ("absent", {}, "false"),
    )
    yield case("is_file_hidden", "no-path", {}, "false")
