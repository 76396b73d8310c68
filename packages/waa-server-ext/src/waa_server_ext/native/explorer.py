"""File Explorer: folders, files and their attributes, archives, shortcuts."""

from __future__ import annotations

import io
import json
import posixpath
from collections.abc import Iterable, Mapping
from typing import Any

from waa_server_ext.native.context import OK, EvaluationContext
from waa_server_ext.native.refusals import MAX_DOCUMENT_BYTES, RefusedFileError
from waa_server_ext.native.registry import getter

_WANTED_IN_7Z = "OldProjects/example.txt"
_MAX_IN_7Z = 64 * 1024 * 1024  # refuses archives that explode


@getter("fileexplorer.py")
def vm_folder_exists_in_documents(env: EvaluationContext, config: Mapping[str, Any]) -> bool:
    """Whether the Documents folder has a folder of that name.

    Fails as: False.
    """
    path = env.documents()
    return env.holds("/folder_exists", {"folder_name": config["folder_name"], "path": path})


@getter("fileexplorer.py")
def vm_file_exists_in_desktop(env: EvaluationContext, config: Mapping[str, Any]) -> bool:
    """Whether the desktop has a file of that name.

    Fails as: False.
    """
    path = env.desktop()
    return env.holds("/file_exists", {"file_name": config["file_name"], "path": path})


@getter("fileexplorer.py")
def are_files_sorted_by_modified_time(env: EvaluationContext, config: Mapping[str, Any]) -> bool:
    """Whether Explorer shows a folder by modification time.

    Fails as: False.
    """
    if not config["directory"]:
        return False
    return env.holds("/are_files_sorted_by_modified_time", {"directory": config["directory"]})


@getter("fileexplorer.py")
def is_file_saved_desktop(env: EvaluationContext, config: Mapping[str, Any]) -> str:
    """Whether a text file on the desktop contains a text: the strings 'true' and 'false'.

    Fails as: 'false'.
    """
    text = env.text(_on_desktop(env, config["filename"]))
    return "true" if text is not None and config["textcontent"] in text else "false"


@getter("fileexplorer.py")
def is_file_desktop(env: EvaluationContext, config: Mapping[str, Any]) -> str:
    """Whether the desktop has a file that can be read: the strings 'true' and 'false'.

    Fails as: 'false'.

    Oddities: An empty file exists here.
    """
    return "true" if env.file(_on_desktop(env, config["filename"])) is not None else "false"


@getter("fileexplorer.py")
def is_details_view(env: EvaluationContext, config: Mapping[str, Any]) -> bool:
    """Whether Explorer shows a folder in the details view.

    Fails as: False.
    """
    path = config["folder_path"]
    return bool(path) and env.holds("/is_details_view", {"path": path})


@getter("fileexplorer.py")
def all_png_file_names(env: EvaluationContext, config: Mapping[str, Any]) -> str:
    """Whether a text file lists exactly the .png files of a folder: 'true' and 'false'.

    Fails as: 'false'.

    Oddities: The list is read as Windows reads it, in code page 1252, whatever the editor wrote.
    """
    listed = env.file(config["file_path"])
    folder = env.directory(config["folder_path"]) if listed is not None else None
    if listed is None or folder is None:
        return "false"
    lines = set(listed.decode("cp1252").replace("\r\n", "\n").replace("\r", "\n").splitlines())
    names = (child.get("name", "") for child in folder["children"])
    return "true" if lines == {name for name in names if _ends(name, ".png")} else "false"


@getter("fileexplorer.py", needs=("py7zr",))
def zipped_folder_in_desktop(env: EvaluationContext, config: Mapping[str, Any]) -> str:
    """Whether a .7z archive is locked with the password and has the expected file.

    Fails as: raises for an absent, damaged or differently locked archive, which counts as zero.
    """
    import py7zr

    content = io.BytesIO(env.file(config["filename"]) or b"")
    with py7zr.SevenZipFile(content, mode="r", password=config["password"]) as archive:
        if not archive.needs_password():
            return "false"
        _check_7z(config["filename"], archive)
        return "true" if _WANTED_IN_7Z in _unpacked_names(archive) else "false"


@getter("fileexplorer.py")
def is_all_docx_in_archive(env: EvaluationContext, config: Mapping[str, Any]) -> str:
    """Whether the folder's `Archive` has .docx files only and the folder itself none.

    Fails as: 'false'.

    Oddities: An empty Archive folder does not count; nor does a name with a comma in it.
    """
    folder = env.directory(config["folder_path"]) if config["folder_path"] else None
    children = folder["children"] if folder is not None else []
    archive = next((each for each in children if each.get("name", "").lower() == "archive"), None)
    if archive is None or archive.get("type") != "directory":
        return "false"
    kept, left = _file_names(archive["children"]), _file_names(children)
    moved = all(_ends(name, ".docx") for name in kept)
    return "true" if moved and not any(_ends(name, ".docx") for name in left) else "false"


@getter("fileexplorer.py")
def is_file_hidden(env: EvaluationContext, config: Mapping[str, Any]) -> str:
    """Whether a file is hidden, by its attribute or a leading dot: 'true' and 'false'.

    Fails as: 'false', also for an absent file.
    """
    if not config or "file_path" not in config:
        return "false"
    path = config["file_path"]
    output = env.python(
        f"import os; print(int(os.path.basename(r'{path}').startswith('.') "
        f"or bool(os.stat(r'{path}').st_file_attributes & 2)))"
    )
    return "true" if output.strip() == "1" else "false"


@getter("fileexplorer.py")
def vm_active_window_title(env: EvaluationContext, config: Mapping[str, Any]) -> str:
    """The title of the window in front.

    Fails as: an empty title.
    """
    return env.python("import pyautogui; print(pyautogui.getActiveWindowTitle())").strip()


@getter("fileexplorer.py")
def is_directory_read_only_for_user(env: EvaluationContext, config: Mapping[str, Any]) -> bool:
    """Whether a user may only read a folder.

    Fails as: False.
    """
    asked = _required(config, ("directory", "user"))
    return env.holds("/is_directory_read_only_for_user", asked)


@getter("fileexplorer.py")
def are_all_images_tagged(env: EvaluationContext, config: Mapping[str, Any]) -> bool:
    """Whether every image of a folder has a tag.

    Fails as: False.
    """
    return env.holds("/are_all_images_tagged", _required(config, ("directory", "tag")))


@getter("fileexplorer.py")
def is_files_moved_downloads(env: EvaluationContext, config: Mapping[str, Any]) -> str:
    """Whether a folder with a file went from Downloads to OldDownloads: 'true' and 'false'.

    Fails as: 'false'; a TypeError without OldDownloads.
    """
    file, folder = config["file_name"], config["folder_name"]
    downloads = json.dumps(env.directory(r"C:\Users\Docker\Downloads"))
    old = env.directory(r"C:\Users\Docker\OldDownloads")
    if file in downloads and folder in downloads:
        return "false"
    children = [each for key in old if type(old[key]) is list for each in old[key]]
    matching = (
        inner["name"] == file
        for each in children
        if each["type"] == "directory" and each["name"] == folder
        for inner in each["children"]
    )
    return "true" if any(matching) else "false"


@getter("fileexplorer.py")
def vm_library_folders(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The folders of a library, sorted.

    Fails as: None for an unknown library.
    """
    if "library_name" not in config:
        raise ValueError("library_name is required")
    answer = env.vm.post("/library_folders", json={"library_name": config["library_name"]})
    return answer.json()["output"] if answer.status == OK else None


def shortcuts(env: EvaluationContext, suffix: str) -> dict[str, Any]:
    """Return the shortcuts on the desktop: name to content, None for an unreadable one.

    Raises:
        TypeError: The desktop cannot be listed.
    """
    desktop = env.desktop()
    tree = env.directory(desktop)
    if tree is None or desktop is None:
        raise TypeError("the desktop cannot be listed")
    names = [each["name"] for each in tree["children"] if each["name"].endswith(suffix)]
    # upstream joins on Linux; Windows accepts the slash, and transcripts contain it
    return {name: env.file(posixpath.join(desktop, name)) for name in names}


def _on_desktop(env: EvaluationContext, name: str) -> str:
    desktop = env.desktop()
    if desktop is None:
        raise TypeError("the VM does not say where its desktop is")
    return f"{desktop}\\{name}"


def _ends(name: str, suffix: str) -> bool:
    return name.lower().endswith(suffix)


def _file_names(children: Iterable[Mapping[str, Any]]) -> list[str]:
    """Join names with commas and split them again, as upstream does."""
    joined = ",".join(each["name"] for each in children if each.get("type") == "file")
    return joined.strip().split(",")


def _required(config: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    for key in keys:
        if not config[key]:
            raise ValueError(f"{key} is required")
    return {key: config[key] for key in keys}


def _check_7z(name: str, archive: Any) -> None:
    size = sum(each.uncompressed for each in archive.list())
    if size > MAX_DOCUMENT_BYTES:
        raise RefusedFileError(name, f"{size} bytes unpacked are more than {MAX_DOCUMENT_BYTES}")


def _unpacked_names(archive: Any) -> set[str]:
    """Unpack everything in memory, the only way to find out whether the password is right."""
    if hasattr(archive, "readall"):  # before py7zr 1.0
        return set(archive.readall() or {})
    from py7zr.io import BytesIOFactory

    factory = BytesIOFactory(_MAX_IN_7Z)
    archive.extractall(factory=factory)
    return set(factory.products)
