"""Files of the VM and of the web, and comparisons of text, tables of text, JSON and archives."""

from __future__ import annotations

import csv
import difflib
import json
import posixpath
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from waa_server_ext.native.context import EvaluationContext
from waa_server_ext.native.databases import query_number
from waa_server_ext.native.refusals import MAX_TEXT_BYTES, check_archive, check_size, read_member
from waa_server_ext.native.registry import getter, metric
from waa_server_ext.native.rules import matches_rule


@getter("file.py")
def vm_file(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """A file of the VM, fetched; its local path.

    Fails as: None for a file that is absent or locked.

    Oddities: With `multi`, the files of `gives` (default: the first); a single path if there is only one.
    """
    return fetch(env, config)


@vm_file.differs("fixed", "looks for DownloadsBackup.zip where a task says DownloadssBackup.zip")
def _vm_file_fixed(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    path = config["path"]
    if isinstance(path, str) and "DownloadssBackup" in path:
        env.note("fixed: DownloadssBackup.zip in the task is read as DownloadsBackup.zip")
        config = {**config, "path": path.replace("DownloadssBackup", "DownloadsBackup")}
    return fetch(env, config)


@getter("file.py")
def cloud_file(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """A reference file of the web, fetched or from the cache; its local path.

    Fails as: an HTTP error if the file cannot be fetched.

    Oddities: A `dest` that exists already is not fetched again in the same evaluation.
    """
    given = []
    gives = set(config.get("gives", [0]))
    for index, (url, dest) in enumerate(_pairs(config)):
        path = env.scratch_path(dest)
        if index in gives:
            given.append(str(path))
        if not path.exists():
            path.write_bytes(env.download(url))
    return given[0] if len(given) == 1 else given


@getter("file.py")
def cache_file(env: EvaluationContext, config: Mapping[str, Any]) -> str:
    """A file that an earlier step of the same task left in the cache.

    Fails as: AssertionError for a file that no step has put there.
    """
    path = env.scratch_path(config["path"])
    if not path.exists():
        raise AssertionError(f"{config['path']} is not in the cache of this task")
    return str(path)


@getter("file.py")
def vm_file_exists_in_vm_folder(env: EvaluationContext, config: Mapping[str, Any]) -> float:
    """Whether a folder of the VM has a file of that name: 1.0 or 0.0.

    Fails as: 0.0 for an absent file.

    Oddities: An empty file counts as absent. Folder and name are joined with a slash.
    """
    return float(bool(_in_folder(env, config)))


@vm_file_exists_in_vm_folder.differs("fixed", "an empty file exists")
def _vm_file_exists_fixed(env: EvaluationContext, config: Mapping[str, Any]) -> float:
    content = _in_folder(env, config)
    if content == b"":
        env.note("fixed: an empty file exists")
    return float(content is not None)


@getter("file.py", needs=("openpyxl", "defusedxml"))
def content_from_vm_file(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """The last row of a spreadsheet of the VM, as strings.

    Fails as: NotImplementedError for anything but .xlsx.
    """
    path = fetch(env, {"path": config["path"], "dest": posixpath.basename(config["path"])})
    if config["file_type"] != "xlsx":
        raise NotImplementedError(f"File type {config['file_type']} not supported")
    if config["file_content"] != "last_row":
        return None
    from waa_server_ext.native.sheet_values import last_row

    return last_row(path)


@getter("calc.py")
def conference_city_in_order(env: EvaluationContext, config: Mapping[str, Any]) -> list[str]:
    """The third column of a table that lies on the evaluating machine.

    Fails as: FileNotFoundError: the file is sought on the machine that evaluates.

    Oddities: Upstream reads the file after closing it, so it can only fail.
    """
    with Path(config["csv_path"]).open(encoding="utf-8"):
        raise ValueError("I/O operation on closed file.")


@metric("vscode.py")
def compare_text_file(actual: str | None, expected: str, **options: Any) -> float:
    """Whether two text files are the same except for line ends.

    Fails as: 0.0 for None; text that is not UTF-8 raises.
    """
    if not actual:
        return 0.0
    texts = [_normalised(read_text(path), options) for path in (actual, expected)]
    return float(texts[0] == texts[1])


@compare_text_file.differs("fixed", "a byte order mark, as Notepad writes it, is no difference")
def _compare_text_file_fixed(actual: str | None, expected: str, **options: Any) -> float:
    if not actual:
        return 0.0
    texts = [_normalised(read_text(path).lstrip("\ufeff"), options) for path in (actual, expected)]
    return float(texts[0] == texts[1])


@metric("general.py")
def diff_text_file(result: str | None, expected: str) -> float:
    """How many of the lines of two files agree in order, from 0 to 1.

    Fails as: 0.0 for None.
    """
    if result is None:
        return 0.0
    lines = [read_text(path).splitlines() for path in (result, expected)]
    return difflib.SequenceMatcher(a=lines[0], b=lines[1]).ratio()


@metric("table.py")
def compare_csv(result: str | None, expected: str, **options: Any) -> float:
    """Whether two files have the same lines.

    Fails as: 0.0 for None.
    """
    if result is None:
        return 0.0
    lines = [read_text(path).splitlines() for path in (result, expected)]
    if not options.get("strict", True):
        lines = [[line.strip() for line in each] for each in lines]
    if options.get("ignore_case", False):
        lines = [[line.lower() for line in each] for each in lines]
    return float(lines[0] == lines[1])


@metric("general.py")
def check_csv(result: str | None, rules: Mapping[str, Any]) -> float:
    """Whether a CSV file has each record of `expect` and none of `unexpect`.

    Fails as: 0.0 for None.
    """
    if result is None:
        return 0.0
    records = list(csv.DictReader(read_text(result).splitlines(keepends=True)))
    wanted = all(any(_has(r, record) for record in records) for r in rules.get("expect", []))
    unwanted = any(_has(r, record) for record in records for r in rules.get("unexpect", []))
    return float(wanted and not unwanted)


@metric("general.py")
def check_json(
    result: str | None, rules: Mapping[str, Any], is_yaml: bool = False
) -> float:  # an option of tasks
    """Whether a JSON file satisfies each rule of `expect` and none of `unexpect`.

    Fails as: 0.0 for None and for an absent key.
    """
    if result is None:
        return 0.0
    if is_yaml:
        raise NotImplementedError("YAML is not read: score this task with --waa-checkout")
    data = json.loads(read_text(result))
    holds = True
    for each in rules.get("expect", {}):
        try:
            value = _at(data, each["key"])
        except KeyError:
            return 0.0
        holds = holds and matches_rule(value, each)
    for each in rules.get("unexpect", {}):
        holds = holds and not matches_rule(_at_or_none(data, each["key"]), each)
    return float(holds)


@metric("vscode.py", needs=("pypdf",))
def compare_zip_files(actual: str | None, expected: str, **_: Any) -> float:
    """Whether two archives have the same names with the same contents.

    Fails as: 0.0 for None; anything but a ZIP archive raises.

    Oddities: PDF files are the same from 95 % of their text on.
    """
    if not actual:
        return 0.0
    check_archive(actual, markup=False)
    check_archive(expected, markup=False)
    with zipfile.ZipFile(actual) as ours, zipfile.ZipFile(expected) as gold:
        if set(ours.namelist()) != set(gold.namelist()):
            return 0.0
        return float(all(_same_member(name, ours, gold) for name in set(ours.namelist())))


@metric("general.py")
def run_sqlite3(result: str, rules: Mapping[str, Any]) -> float:
    """The first number that the task's query gives on a database.

    Fails as: TypeError for None; anything but a database raises.
    """
    return query_number(check_size(result), rules["sql"])


def fetch(env: EvaluationContext, config: Mapping[str, Any]) -> Any:
    """Fetch files of the VM; return the local paths of those that `gives` names, None for absent ones."""
    given: list[str | None] = []
    gives = set(config.get("gives", [0]))
    pairs = _pairs(config)
    if not config.get("multi", False) and config.get("time_suffix"):
        stamp = env.now().strftime(config.get("time_format", "%Y_%m_%d"))
        pairs = [(_with_stamp(source, stamp), _with_stamp(dest, stamp)) for source, dest in pairs]
    for index, (source, dest) in enumerate(pairs):
        path = env.scratch_path(dest)
        content = env.file(source)
        if content is not None:
            path.write_bytes(content)
        if index in gives:
            given.append(None if content is None else str(path))
    return given[0] if len(given) == 1 else given


def read_text(path: str | Path) -> str:
    """Return a text file as vanilla's container reads it: UTF-8, any line end as a line feed.

    Raises:
        UnicodeDecodeError: It is not UTF-8.
        RefusedFileError: It is too large.
    """
    return Path(check_size(path, MAX_TEXT_BYTES)).read_text(encoding="utf-8")


def _pairs(config: Mapping[str, Any]) -> list[tuple[str, str]]:
    if config.get("multi", False):
        return list(zip(config["path"], config["dest"], strict=False))
    return [(config["path"], config["dest"])]


def _with_stamp(name: str, stamp: str) -> str:
    parts = name.split(".")
    return f"{parts[0]}{stamp}.{parts[1]}" if len(parts) > 1 else name


def _in_folder(env: EvaluationContext, config: Mapping[str, Any]) -> bytes | None:
    folder, name = config["folder_name"], config["file_name"]
    if not folder or not name:
        return None
    return env.file(posixpath.join(folder, name))


def _normalised(text: str, options: Mapping[str, Any]) -> str:
    if options.get("ignore_blanks", False):
        text = re.sub(r"\s+", " ", re.sub(r"[\t\n]", " ", text).strip())
    return text.lower() if options.get("ignore_case", False) else text


def _has(pattern: Mapping[str, Any], record: Mapping[str, Any]) -> bool:
    return all(key in record and record[key] == value for key, value in pattern.items())


def _at(data: Any, keys: list[Any]) -> Any:
    for key in keys:
        data = data[key]
    return data


def _at_or_none(data: Any, keys: list[Any]) -> Any:
    try:
        return _at(data, keys)
    except KeyError:
        return None


def _same_member(name: str, ours: zipfile.ZipFile, gold: zipfile.ZipFile) -> bool:
    contents = read_member(ours, name), read_member(gold, name)
    if not name.lower().endswith(".pdf"):
        return contents[0] == contents[1]
    from waa_server_ext.native.pdfs import similar_text

    return similar_text(*contents)
