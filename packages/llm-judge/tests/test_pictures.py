from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image

from bench_core.errors import InputError
from bench_core.records.judge import Screenshot
from llm_judge.prompts.pictures import choose_pictures, picture_size


def encoded(kind: str, size: tuple[int, int], **options: object) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, "navy").save(out, kind, **options)
    return out.getvalue()


@pytest.mark.parametrize("size", [(1, 1), (640, 480), (1234, 7)])
@pytest.mark.parametrize(
    ("kind", "options"),
    [("PNG", {}), ("JPEG", {}), ("JPEG", {"progressive": True}), ("GIF", {}), ("WEBP", {}),
     ("WEBP", {"lossless": True})],
)  # fmt: skip
def test_sizes_are_read_off_the_bytes(
    kind: str, options: dict[str, object], size: tuple[int, int]
) -> None:
    assert picture_size(encoded(kind, size, **options)) == size


@pytest.mark.parametrize(
    "data", [b"", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"RIFF0000WEBPVP8 ", b"GIF8"]
)
def test_half_a_picture_has_no_size(data: bytes) -> None:
    assert picture_size(data) is None


def shots(folder: Path, *labels: str, size: tuple[int, int] = (20, 10)) -> list[Screenshot]:
    found = []
    for number, label in enumerate(labels):
        path = folder / f"{number}.png"
        path.write_bytes(encoded("PNG", (size[0] + number, size[1])))
        found.append(Screenshot(path=str(path), label=label))
    return found


def test_the_last_picture_of_each_label_comes_first_then_the_last_ones(tmp_path: Path) -> None:
    given = shots(tmp_path, "mail", "mail", "cal", "mail", "mail")
    pictures, findings = choose_pictures(given, 3)
    assert [each.name for each in pictures] == ["s3 cal", "s4 mail", "s5 mail"]
    assert [each.code for each in findings] == ["evidence.pictures_left_out"]


def test_a_large_picture_is_made_smaller(tmp_path: Path) -> None:
    pictures, _ = choose_pictures(shots(tmp_path, "wide", size=(4000, 1000)), 1)
    assert (pictures[0].width, pictures[0].height) == (2000, 500)
    assert pictures[0].image.media_type == "image/jpeg"


def test_what_is_not_a_picture_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_text("not a picture")
    with pytest.raises(InputError, match="not a PNG"):
        choose_pictures([Screenshot(path=str(tmp_path / "a.png"))], 1)
    with pytest.raises(InputError, match="cannot read the screenshot"):
        choose_pictures([Screenshot(path=str(tmp_path / "gone.png"))], 1)


def test_pictures_along_the_way_are_told_with_their_step_and_once_each(tmp_path: Path) -> None:
    given = shots(tmp_path, *[""] * 9)
    for number in (3, 6):
        Path(given[number].path).write_bytes(Path(given[number + 1].path).read_bytes())
    steps = [each.model_copy(update={"step": 10 * n}) for n, each in enumerate(given)]
    pictures, _ = choose_pictures(steps, 3)
    # the last, and from end to start of the others that differ from the next
    assert [each.name for each in pictures] == ["s3 step 20", "s8 step 70", "s9 step 80"]
    assert len(choose_pictures(steps, 9)[0]) == 9


def test_a_region_of_one_colour_shows_nothing(tmp_path: Path) -> None:
    picture = Image.new("RGB", (20, 10), "white")
    picture.putpixel((15, 5), (90, 0, 0))
    picture.save(tmp_path / "a.png")
    (shown,), _ = choose_pictures([Screenshot(path=str(tmp_path / "a.png"))], 1)
    assert shown.is_blank((0, 0, 15, 10))
    assert not shown.is_blank((0, 0, 16, 10))
