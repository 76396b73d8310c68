"""PDFs, archives, images, sound and video."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from recipes.common import Call, Drawn, damaged, file, sentence, sometimes

if TYPE_CHECKING:
    from random import Random

__all__ = [
    "compare_audios",
    "compare_images",
    "compare_pdfs",
    "compare_videos",
    "compare_zip_files",
]


def _pdf_pair(rng: Random) -> tuple[Call, Call]:
    pages = ["\n".join(sentence(rng, 5) for _ in range(rng.randint(1, 4))) for _ in range(2)]
    other = pages[:]
    if sometimes(rng, 0.5):
        other[-1] = rng.choice([other[-1] + "x", "", sentence(rng)])
    return {"pdf": {"pages": pages}}, {"pdf": {"pages": other}}


def compare_pdfs(rng: Random) -> Drawn:
    one, other = _pdf_pair(rng)
    return [damaged(rng, file("a.pdf", **one)), damaged(rng, file("b.pdf", **other))], {}


def compare_zip_files(rng: Random) -> Drawn:
    one_pdf, other_pdf = _pdf_pair(rng)
    one: Call = {"docs/a.txt": {"text": sentence(rng)}, "b.bin": {"raw": "AAEC"}}
    other = copy.deepcopy(one)
    if sometimes(rng, 0.5):
        one["c.pdf"], other[rng.choice(["c.pdf", "c.PDF"])] = one_pdf, other_pdf
    if sometimes(rng, 0.25):
        other["docs/a.txt"] = {"text": "other"}
    if sometimes(rng, 0.2):
        other.pop("b.bin")
    return [damaged(rng, file("a.zip", zip=one)), file("b.zip", zip=other)], {}


def compare_images(rng: Random) -> Drawn:
    size = [rng.randint(8, 60), rng.randint(8, 60)]
    boxes = [
        [rng.randint(0, 20), rng.randint(0, 20), rng.randint(1, 20), rng.randint(1, 20), colour]
        for colour in rng.sample(["red", "lime", "blue", "white", "black"], rng.randint(0, 3))
    ]
    mode = rng.choice(["RGB", "RGB", "L", "P", "1", "RGBA"])
    one = file("a.png", image={"size": size, "boxes": boxes, "mode": mode})
    if sometimes(rng, 0.5):
        boxes = boxes[:-1]
    if sometimes(rng, 0.3):
        size = [max(1, size[0] + rng.randint(-5, 5)), size[1]]
    kind = rng.choice(["PNG", "PNG", "BMP", "JPEG"])
    recipe = {
        "size": size,
        "boxes": boxes,
        "mode": "RGB" if kind == "JPEG" else mode,
        "format": kind,
    }
    return [damaged(rng, one), file("b.png", image=recipe)], {}


def compare_audios(rng: Random) -> Drawn:
    tones = [[rng.choice([220, 440, 880]), rng.choice([0.2, 0.4]), 0.6] for _ in range(3)]
    other = tones[:] if sometimes(rng, 0.4) else [*tones[:-1], [330, 0.3, 0.5]]
    rate = rng.choice([22050, 22050, 44100, 16000])
    one = damaged(rng, file("a.wav", wav={"tones": tones}))
    return [one, file("b.wav", wav={"tones": other, "rate": rate})], {}


def compare_videos(rng: Random) -> Drawn:
    size = [64, 48]
    frames = [
        [[rng.randint(0, 40), rng.randint(0, 30), 20, 15, rng.choice(["red", "white", "black"])]]
        for _ in range(rng.randint(1, 12))
    ]
    other = copy.deepcopy(frames)
    change = rng.randint(0, 4)
    if change == 0:
        other = other[:-1]
    elif change == 1:
        other = [[[0, 0, 30, 48, "lime"]] for _ in other]
    elif change == 2:  # one of the kinds
        other.reverse()
    one = damaged(rng, file("a.avi", video={"size": size, "frames": frames}))
    return [one, file("b.avi", video={"size": size, "frames": other})], {}
