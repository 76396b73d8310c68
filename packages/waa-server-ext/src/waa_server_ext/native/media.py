"""Sound and moving pictures, decoded in a separate process."""

from __future__ import annotations

from pathlib import Path

from waa_server_ext.native.decoder import isolated
from waa_server_ext.native.refusals import check_size
from waa_server_ext.native.registry import metric

__all__: list[str] = []

_MAX_FILM_BYTES = 256 * 1024 * 1024


@metric("vlc.py", needs=("numpy", "soundfile", "soxr"))
def compare_audios(audio_path_1: str | None, audio_path_2: str | None) -> float:
    """The similarity of two recordings: from the distance of their spectra after time warping.

    Fails as: 0 for None; files that cannot be decoded raise.

    Oddities: The score is 1 / (1 + distance): it falls with the length of the recordings, too.
    """
    if not audio_path_1 or not audio_path_2:
        return 0
    paths = [check_size(path) for path in (audio_path_1, audio_path_2)]
    return float(isolated("audio:similarity", *paths))


@metric("vlc.py", needs=("numpy", "PIL", "cv2"))
def compare_videos(
    video_path1: str | None,
    video_path2: str | None,
    max_frames_to_check: int = 100,
    threshold: int = 5,
) -> bool:
    """Whether two films look the same, by the perceptual hashes of their pictures.

    Fails as: None, absent files and files that cannot be decoded have no pictures; two such are the
    same.

    Oddities: Only the first 100 pictures count; up to five of them may differ.
    """
    paths = video_path1, video_path2
    for path in paths:
        if path is not None and Path(path).exists():
            check_size(path, _MAX_FILM_BYTES)
    return bool(isolated("video:same", *paths, max_frames_to_check, threshold))
