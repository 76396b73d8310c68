"""Runs whose workers put what trials leave into an object store, and who reads it from there."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from worker_runs import Runs, comparable
from worker_toys import Toys

from bench_core.__about__ import __version__
from bench_core.errors import (
    EnvironmentFaultError,
    InputError,
    MissingExtraError,
    RefusedFileError,
)
from bench_core.records import ArtifactFile, Status, StoredFolder
from bench_core.run_folder import check_run, describe_artifacts, read_run, read_stored, trial_files
from bench_core.run_folder.stored import (
    attempt_url,
    changed_objects,
    refuse_other_store,
    store_folder,
    stored_folder,
    write_probe,
)
from bench_core.run_spec import ExecutorSpec
from bench_core.runs import rescore_run_sync

pytest.importorskip("obstore")
pytest.importorskip("moto")
from s3_server import KEY, S3, SECRET, CuttingProxy, s3_server  # needs moto

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow
NAMES = ("quick-1", "wrong-1", "large-1")


@pytest.fixture(scope="module")
def s3() -> Iterator[S3]:
    with pytest.MonkeyPatch.context() as patch, s3_server() as server:
        for name, value in server.variables.items():
            patch.setenv(name, value)
        # else a lost server is asked for three minutes
        patch.setattr("bench_core.objects.folder._RETRIES", {"max_retries": 1})
        yield server


@pytest.fixture
def runs(tmp_path: Path, variables: dict[str, str], s3: S3) -> Runs:
    return Runs(tmp_path, {**variables, **s3.variables})


def put(url: str) -> dict[str, Any]:
    return {"executor": ExecutorSpec(artifacts=url)}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, variables: dict[str, str], s3: S3) -> Runs:
    """A run whose trials left their files in the store."""
    runs = Runs(tmp_path_factory.mktemp("stored"), {**variables, **s3.variables})
    runs.run(*NAMES, spec=put(f"{s3.url}/some/prefix"))
    return runs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What an attempt left: names of all kinds, an empty file, and one that goes in parts."""
    place = tmp_path / "left"
    (place / "deep").mkdir(parents=True)
    (place / "deep" / "a%20b ü#?.txt").write_text("deep")
    (place / "line\nfeed").write_bytes(b"odd")
    (place / "empty").touch()
    (place / "large.bin").write_bytes(os.urandom((5 << 20) + 7))
    return place


def key_of(stored: StoredFolder, name: str) -> str:
    return f"{stored.url.split('/', 3)[3]}/{name}"


def test_results_say_where_the_files_of_trials_are_and_the_run_folder_has_none(
    done: Runs, s3: S3
) -> None:
    run_id = read_run(done.out).info.run_id
    for name in NAMES:
        result = done.results[name]
        assert result.stored is not None
        token = result.attempts[-1].token
        assert result.stored.url == f"{s3.url}/some/prefix/{run_id}/{name}/1/{token}"
        assert not any((done.out / "trials" / "1" / name).iterdir())
        for each in result.artifacts:
            data = s3.read(key_of(result.stored, f"files/{each.path}"))
            assert (each.size, each.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    assert not (done.out / "incoming").exists()
    assert not check_run(done.out).problems


def test_trials_end_as_those_whose_files_come_home(done: Runs, runs: Runs) -> None:
    runs.run(*NAMES)

    def of(given: Runs) -> dict[str, Any]:
        found = {name: comparable(each) for name, each in given.results.items()}
        return {name: {**each, "run_id": None, "stored": None} for name, each in found.items()}

    assert of(runs) == of(done)


def test_rescoring_reads_the_store_and_leaves_the_run_folder_as_it_was(done: Runs) -> None:
    before = sorted(each for each in (done.out / "trials").rglob("*"))
    outcome = rescore_run_sync(Toys(NAMES, done.place), done.out, name="again")
    assert (outcome.rescored, outcome.changes) == (3, ())
    assert sorted(each for each in (done.out / "trials").rglob("*")) == before


def test_a_copy_of_a_trial_is_as_it_was_and_gone_after_it_was_read(done: Runs) -> None:
    view = read_run(done.out)
    result = done.results["large-1"]
    with trial_files(view, result) as copy:
        assert describe_artifacts(copy) == result.artifacts
        assert copy.parts[-3:] == ("trials", "1", "large-1")
    assert not copy.exists()
    with trial_files(view, result, lambda each: each.path == "picture.png") as copy:
        assert [each.path for each in describe_artifacts(copy)] == ["picture.png"]


def test_files_that_were_copied_to_the_run_folder_are_read_there(runs: Runs, s3: S3) -> None:
    runs.run("quick-1", spec=put(s3.url))
    view, result = read_run(runs.out), runs.results["quick-1"]
    assert result.stored is not None
    for each in result.artifacts:
        path = view.trial_folder(result.key) / each.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(read_stored(result.stored, each))
    with trial_files(view, result) as found:
        assert found == view.trial_folder(result.key)
    assert not check_run(runs.out).problems
    path.write_bytes(b"other")
    assert len(check_run(runs.out).problems) == 1


@pytest.mark.parametrize(
    ("damage", "problem", "rescored"),
    [
        ("missing", "deep/answer.txt in {url} is missing: restore it from a copy", "No such file"),
        ("changed", "deep/answer.txt in {url} is not what the trial left: restore it", "is not what"),
        ("longer", "deep/answer.txt in {url} is not what the trial left: restore it", "is not what"),
        ("no list", "manifest.json in {url} is missing or is not what the trial left", None),
        ("another list", "manifest.json in {url} is missing or is not what the trial left", None),
    ],
    ids=["missing", "changed", "longer", "no list", "another list"],
)  # fmt: skip
def test_check_and_rescoring_tell_what_was_lost_or_changed_in_the_store(
    runs: Runs, s3: S3, damage: str, problem: str, rescored: str | None
) -> None:
    runs.run("quick-1", spec=put(s3.url))
    stored = runs.results["quick-1"].stored
    assert stored is not None
    key = key_of(stored, "manifest.json" if "list" in damage else "files/deep/answer.txt")
    data = s3.read(key)
    if damage in {"missing", "no list"}:
        s3.delete(key)
    else:
        s3.write(key, data[::-1] if damage == "changed" else data + b"!")
    (found,) = check_run(runs.out).problems
    assert found.startswith(problem.format(url=stored.url))
    outcome = rescore_run_sync(Toys(("quick-1",), runs.place), runs.out, name="again")
    if rescored is None:
        assert outcome.changes == ()
    else:
        (change,) = outcome.changes
        assert (change.status, change.score) == (Status.EVALUATION_ERROR, None)
        assert rescored in (change.reason or "")


def test_a_store_that_takes_no_files_is_a_fault_of_the_environment_and_the_trial_tried_again(
    runs: Runs, s3: S3
) -> None:
    refused = iter([True])
    s3.refuse = lambda method, path: (
        method == "PUT" and "answer.txt" in path and next(refused, False)
    )
    try:
        runs.run("quick-1", spec=put(s3.url))
    finally:
        s3.refuse = lambda *_: False
    result = runs.results["quick-1"]
    assert (result.status, result.score) == (Status.COMPLETED, 1.0)
    first, second = result.attempts
    assert first.error is not None
    assert first.status is Status.ENVIRONMENT_ERROR
    assert "the files of the attempt could not be stored: files/deep/answer.txt" in (
        first.error.message
    )
    assert result.stored is not None
    assert result.stored.url.endswith(f"/{second.token}")
    assert len(runs.events("worker_ready")) == 1  # which is not lost with it


def test_a_trial_whose_files_are_not_in_the_store_is_not_done(runs: Runs, s3: S3) -> None:
    s3.refuse = lambda method, path: method == "PUT" and path.endswith("/manifest.json")
    try:
        outcome = runs.run("quick-1", spec=put(s3.url), attempts=2)
    finally:
        s3.refuse = lambda *_: False
    result = runs.results["quick-1"]
    assert (result.status, result.score, result.stored) == (Status.ENVIRONMENT_ERROR, None, None)
    assert outcome.remaining == 1
    runs.run("quick-1", spec=put(s3.url))
    assert runs.results["quick-1"].score == 1.0


def test_a_run_goes_on_with_files_elsewhere_and_each_result_says_where(runs: Runs, s3: S3) -> None:
    runs.run("quick-1", workers=False, spec={"trials": 1})
    runs.run("quick-1", spec={"trials": 2, **put(f"{s3.url}/a")})
    runs.run("quick-1", spec={"trials": 3, **put(f"{s3.url}/b")})
    runs.run("quick-1", spec={"trials": 4})
    found = read_run(runs.out).latest
    places = [each.stored and each.stored.url.split("/")[3] for each in found]
    assert places == [None, "a", "b", None]
    assert not check_run(runs.out).problems
    assert rescore_run_sync(Toys(("quick-1",), runs.place), runs.out).changes == ()


def test_keys_of_the_store_are_nowhere_in_the_run_folder(done: Runs) -> None:
    for path in done.out.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert SECRET.encode() not in data
            assert KEY.encode() not in data


def test_a_store_that_refuses_the_keys_ends_the_run_before_its_first_trial(
    tmp_path: Path, variables: dict[str, str], s3: S3
) -> None:
    wrong = SECRET[::-1]
    runs = Runs(tmp_path, {**variables, **s3.variables, "AWS_SECRET_ACCESS_KEY": wrong})
    with pytest.raises(
        InputError, match=r"cannot run this benchmark: .* could not be written"
    ) as e:
        runs.run("quick-1", spec=put(s3.url))
    assert wrong not in str(e.value)
    assert not read_run(runs.out).results


def test_a_store_that_this_process_may_not_read_ends_the_run_before_its_first_trial(
    runs: Runs, s3: S3
) -> None:
    s3.refuse = lambda method, path: method == "GET" and "probes" in path
    try:
        with pytest.raises(EnvironmentFaultError, match="probes could not be listed in the object"):
            runs.run("quick-1", spec=put(s3.url))
    finally:
        s3.refuse = lambda *_: False
    assert not read_run(runs.out).results


def test_workers_that_write_to_another_store_are_refused(s3: S3) -> None:
    write_probe(f"{s3.url}/run", "probe-1")
    refuse_other_store(f"{s3.url}/run", "probe-1")
    with pytest.raises(InputError, match="AWS_ENDPOINT_URL and AWS_REGION must be the same"):
        refuse_other_store(f"{s3.url}/run", "probe-2")


def test_a_late_result_is_pointed_to_and_never_taken(folder: Path, s3: S3) -> None:
    old, new = (attempt_url(f"{s3.url}/run", "task", 1, each) for each in ("old", "new"))
    late = store_folder(folder, old)
    with pytest.raises(EnvironmentFaultError, match="they are elsewhere"):
        stored_folder(new, late.model_dump(mode="json"), ())


def test_what_was_stored_is_what_was_left(folder: Path, s3: S3) -> None:
    url = f"{s3.url}/whole"
    files = describe_artifacts(folder)
    stored = store_folder(folder, url)
    assert stored_folder(url, stored.model_dump(mode="json"), files) == stored
    assert list(changed_objects(stored, files)) == []
    lost = ArtifactFile(path="lost", size=1, sha256="0" * 64)
    assert len(list(changed_objects(stored, [lost] * 100))) == 1
    assert [read_stored(stored, each) for each in files] == [
        (folder / each.path).read_bytes() for each in files
    ]


def test_an_upload_that_is_cut_anywhere_is_never_whole(
    folder: Path, s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    def upload(most: int) -> int:
        """Upload until so many bytes have been sent, and return how many."""
        with CuttingProxy(s3.port, most) as proxy:
            monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{proxy.port}")
            try:
                store_folder(folder, f"{s3.url}/cut/{most:016}")
            finally:
                monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{s3.port}")
        return most - proxy.left

    total = upload(1 << 40)
    # heads and bodies of requests, the parts of the large file, and the manifest's every region
    points = [1, 300, 700, 1000, 1500, 2500, 4000, 9000, 100_000, 3 << 20, (5 << 20) + 2000]
    points += [total - each for each in (5000, 2500, 1500, 900, 400, 150, 60)]
    for most in points:
        with pytest.raises(EnvironmentFaultError):
            upload(most)
        assert f"cut/{most:016}/manifest.json" not in s3.keys(f"cut/{most:016}/")
        url = f"{s3.url}/cut/{most:016}"
        with pytest.raises(EnvironmentFaultError, match="not in the object store as a whole"):
            stored_folder(url, {"url": url, "manifest_sha256": "0" * 64}, ())


def manifest_of(*files: dict[str, Any]) -> bytes:
    return json.dumps({"files": files}).encode()


HI = {"path": "hi", "size": 2, "sha256": hashlib.sha256(b"hi").hexdigest()}


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"[" * 100_000, id="nested"),
        pytest.param(b"[]", id="list"),
        pytest.param(b'{"files": 1}', id="no list"),
        pytest.param(manifest_of({**HI, "path": ["hi"]}), id="no name"),
        pytest.param(manifest_of({**HI, "path": "../hi"}), id="name that leads out"),
        pytest.param(manifest_of({**HI, "size": 3}), id="another size"),
        pytest.param(manifest_of({**HI, "size": "2"}), id="size in words"),
        pytest.param(manifest_of({**HI, "sha256": "0" * 64}), id="another digest"),
        pytest.param(manifest_of(HI, {**HI, "path": "more"}), id="a file that is not there"),
        pytest.param(manifest_of(), id="a file too many"),
    ],
)
def test_what_a_manifest_says_is_not_believed(manifest: bytes, s3: S3) -> None:
    url = f"{s3.url}/hostile/{hashlib.sha256(manifest).hexdigest()[:8]}"
    key = url.split("/", 3)[3]
    s3.write(f"{key}/files/hi", b"hi")
    s3.write(f"{key}/manifest.json", manifest)
    claimed = {"url": url, "manifest_sha256": hashlib.sha256(manifest).hexdigest()}
    with pytest.raises(EnvironmentFaultError, match="not in the object store as a whole"):
        stored_folder(url, claimed, (ArtifactFile.model_validate(HI),))


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ([("hi", 3 << 30, HI["sha256"])], "is too large to be read"),
        ([("hi", None, HI["sha256"])], "is too large to be read"),
        ([("hi", 2, None)], "is not what the trial left"),
        ([("hi", 2, "0" * 64)], "is not what the trial left"),
        ([("hi", 1, hashlib.sha256(b"h").hexdigest())], "is not what the trial left"),
        ([("hi", 3, HI["sha256"])], "is not what the trial left"),
    ],
    ids=["gigabytes", "no size", "no digest", "another digest", "shorter", "longer"],
)
def test_what_a_result_says_of_its_files_is_compared_with_what_comes(
    files: list[Any], problem: str, done: Runs, s3: S3
) -> None:
    s3.write("lies/files/hi", b"hi")
    stored = StoredFolder(url=f"{s3.url}/lies", manifest_sha256="0" * 64)
    listed = tuple(ArtifactFile(path=p, size=size, sha256=sha) for p, size, sha in files)
    result = done.results["quick-1"].model_copy(update={"stored": stored, "artifacts": listed})
    with pytest.raises(RefusedFileError, match=problem), trial_files(read_run(done.out), result):
        pass


@pytest.mark.parametrize("names", [("hi", "hi/hi"), ("hi", "hi")], ids=["below a file", "twice"])
def test_names_that_cannot_be_files_beside_each_other_are_refused(
    names: tuple[str, str], done: Runs, s3: S3
) -> None:
    for name in names:
        s3.write(f"lies/files/{name}", b"hi")
    stored = StoredFolder(url=f"{s3.url}/lies", manifest_sha256="0" * 64)
    listed = tuple(ArtifactFile.model_validate({**HI, "path": each}) for each in names)
    result = done.results["quick-1"].model_copy(update={"stored": stored, "artifacts": listed})
    refused = pytest.raises(RefusedFileError, match="has the name of another file")
    with refused, trial_files(read_run(done.out), result):
        pass


@pytest.mark.parametrize(
    "url",
    ["http://169.254.169.254/latest", "file:///etc", "s3://bucket/../other", "s3://a:b@bucket/x", "x"],
)  # fmt: skip
def test_a_received_run_cannot_have_another_address_read(
    url: str, done: Runs, tmp_path: Path
) -> None:
    stored = StoredFolder(url=url, manifest_sha256="0" * 64)
    result = done.results["quick-1"].model_copy(update={"stored": stored})
    with (
        pytest.raises(RefusedFileError, match="names a place of files that is no s3://"),
        trial_files(read_run(done.out), result),
    ):
        pass
    assert len(list(changed_objects(stored, result.artifacts))) == 1
    assert not list(tmp_path.iterdir())


def test_a_missing_extra_is_named_with_the_command_that_adds_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    monkeypatch.delitem(sys.modules, "bench_core.objects.folder", raising=False)
    with pytest.raises(MissingExtraError) as error:
        store_folder(Path(), "s3://bucket/x")
    assert str(error.value) == (
        "an object store needs obstore, which is not installed: "
        f"`pip install 'bench-core[objects]=={__version__}'` adds it"
    )
