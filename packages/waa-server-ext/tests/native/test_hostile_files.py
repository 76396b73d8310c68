"""Files made to exhaust or to escape end in a score or a clear error, within bounds."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import zipfile
from pathlib import Path
from random import Random

import pytest
from document_builder import build
from hostile import hostile_call

from bench_core.errors import EvaluationError
from waa_server_ext.evaluation.evaluators import EvaluatorSettings
from waa_server_ext.fixture import FixtureVm
from waa_server_ext.native import NativeEvaluator
from waa_server_ext.native.decoder import DecoderError, isolated
from waa_server_ext.native.registry import find
from waa_server_ext.vm.state import VmState

pytest.importorskip("cv2", reason="needs the extra [all]")

MEGABYTES = 1500
SECONDS = 60
ROUNDS = int(os.environ.get("PROCTOR_HOSTILE_ROUNDS", "200"))
"""Five thousand take a quarter of an hour."""
HERE = Path(__file__).resolve().parent
pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="limits itself with resource"),
]


def rounds(seed: int, count: int, folder: Path) -> dict[str, int]:
    """Run hostile calls in this process; count scores, refusals and what vanilla raises too."""
    counts = {"score": 0, "refused": 0, "raised": 0}
    for number in range(count):
        rng = Random(f"{seed} {number}")  # noqa: S311  # chance, not secrets
        name, arguments, options = hostile_call(rng, folder)
        resource.setrlimit(resource.RLIMIT_CPU, (int(cpu()) + SECONDS, -1))
        try:
            score = find("metric", name).bind("v2")(*arguments, **options)
        except EvaluationError:
            counts["refused"] += 1
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001  # a clear error: no score
            counts["raised"] += 1
        else:
            assert score is None or float(score) == float(score)  # no NaN
            counts["score"] += 1
        assert {path.stem for path in folder.iterdir()} == {"gold", "result"}
    return counts


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def run_limited(count: int, seed: int, folder: Path) -> dict[str, int]:
    """Run the rounds in a child that may not have more memory, nor more CPU time per file."""
    code = (
        "import json, resource, sys; from pathlib import Path\n"
        f"sys.path.insert(0, {str(HERE)!r})\n"
        f"resource.setrlimit(resource.RLIMIT_AS, ({MEGABYTES} * 2**20,) * 2)\n"
        "import test_hostile_files as hostile\n"
        f"print(json.dumps(hostile.rounds({seed}, {count}, Path({str(folder)!r}))))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    counts: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return counts


def test_hostile_files_end_in_a_score_or_an_error_within_bounds(tmp_path: Path) -> None:
    counts = run_limited(150, 1, tmp_path)
    assert (sum(counts.values()), all(counts.values())) == (150, True)


@pytest.mark.slow
def test_hostile_files_end_in_a_score_or_an_error_for_many_rounds(tmp_path: Path) -> None:
    assert sum(run_limited(ROUNDS, 2, tmp_path).values()) == ROUNDS


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.7, 0.99])
def test_a_damaged_pdf_gives_a_score(keep: float, tmp_path: Path) -> None:
    pdf = build({"pdf": {"pages": ["hello there"]}})
    paths = tmp_path / "a.pdf", tmp_path / "b.pdf"
    paths[0].write_bytes(pdf[: int(len(pdf) * keep)])
    paths[1].write_bytes(pdf)
    score = find("metric", "compare_pdfs").bind("v2")(*map(str, paths))
    assert 0 <= score <= 1


def test_a_picture_of_100_megabytes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    with path.open("wb") as file:
        file.truncate(100 * 1024 * 1024)
    with pytest.raises(EvaluationError, match="bytes are more than"):
        find("metric", "compare_images").bind("v2")(str(path), str(path))


def archive(path: Path, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    with zipfile.ZipFile(path, "w", method) as made:
        made.writestr("a.txt", "hello")
    return path.read_bytes()


def test_a_part_that_declares_more_than_the_file_has_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    data = bytearray(archive(path))
    entry = data.index(b"PK\x01\x02")
    data[entry + 20 : entry + 24] = (1258291555).to_bytes(4, "little")  # its packed size
    path.write_bytes(data)
    with pytest.raises(EvaluationError, match=r"a\.txt declares 1258291555 bytes in a file of"):
        find("metric", "compare_zip_files").bind("v2")(str(path), str(path))


@pytest.mark.parametrize(
    ("method", "name"), [(zipfile.ZIP_BZIP2, "bzip2"), (zipfile.ZIP_LZMA, "LZMA")]
)
def test_a_part_whose_method_unpacks_without_a_limit_is_refused(
    method: int, name: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.zip"
    archive(path, method)
    with pytest.raises(EvaluationError, match=f"packed by {name}, not by deflate"):
        find("metric", "compare_zip_files").bind("v2")(str(path), str(path))


@pytest.mark.parametrize("endless", [b"<a b='" + b"x" * 6_000_000, b"x" * 6_000_000])
def test_a_sheet_with_an_endless_tag_is_refused(endless: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("xl/worksheets/sheet1.xml", endless)
    with pytest.raises(EvaluationError, match=r"sheet1\.xml has no tag within 4194304 bytes"):
        find("metric", "compare_table").bind("v2")(str(path), str(path), rules=[])


def test_a_decoder_that_hangs_is_ended(tmp_path: Path) -> None:
    pipe = tmp_path / "a.mp4"
    os.mkfifo(pipe)  # nothing is ever written to it
    with pytest.raises(DecoderError, match="not decoded within 1 s"):
        isolated("video:same", str(pipe), str(pipe), 1, 1, seconds=1)


DOCTYPES = {
    "plain": "<!DOCTYPE desktop>",
    "external": '<!DOCTYPE desktop SYSTEM "http://a.example/d">',
    "entity": '<!DOCTYPE desktop [<!ENTITY a "https://a.example">]>',
}
BAR = (
    '{}<desktop xmlns:val="uri:deskat:value.at-spi.gnome.org"><chrome_widgetwin_1>'
    '<edit name="Address and search bar" val:value="a.example">text</edit>'
    "</chrome_widgetwin_1></desktop>"
)
LOOKS = {
    "bar": {
        "func": "is_expected_active_tab",
        "result": {"type": "active_url_from_accessTree"},
        "expected": {"type": "rule", "rules": {"type": "url", "url": "https://a.example"}},
    },
    "tree": {
        "func": "check_accessibility_tree",
        "result": {"type": "accessibility_tree"},
        "expected": {"type": "rule", "rules": [{"xpath": "//edit", "text": "text", "exact": True}]},
    },
}


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("doctype", [None, *DOCTYPES])
def test_an_accessibility_tree_with_a_document_type_is_refused(
    look: str, doctype: str | None, tmp_path: Path
) -> None:
    tree = BAR.format(DOCTYPES[doctype] if doctype else "")
    state = VmState.load({"accessibility": {"uia": tree, "win32": tree}})
    task = {"id": "a", "instruction": "x", "evaluator": LOOKS[look]}
    with FixtureVm(state, port=0) as vm:
        native = NativeEvaluator(EvaluatorSettings(cache=tmp_path))
        verdict = native.evaluate(task, ["DONE"], vm=vm.address)
    fault = verdict.evaluation_error.type if verdict.evaluation_error else None
    expected = (1.0, None) if doctype is None else (None, "RefusedFileError")
    assert (verdict.score, fault) == expected, verdict.reason


@pytest.mark.parametrize("doctype", DOCTYPES)
def test_settings_with_a_document_type_are_refused(doctype: str, tmp_path: Path) -> None:
    path = tmp_path / "registrymodifications.xcu"
    path.write_text(DOCTYPES[doctype] + "<desktop/>")
    with pytest.raises(EvaluationError, match="document type"):
        find("metric", "find_default_font").bind("v2")(str(path), {"font_name": "Arial"})
