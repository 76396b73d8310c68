"""Sound and moving pictures; decoded in a process of their own."""

from __future__ import annotations

from waa_server_ext.native.isolation import isolated
from waa_server_ext.native.refusals import check_size
from waa_server_ext.native.registry import metric

__all__: list[str] = []


@metric(
    failure="0 for None; what cannot be decoded raises",
    source="vlc.py",
    needs=("numpy", "soundfile", "soxr"),
    notes="The score is 1 / (1 + distance): it falls with the length of the recordings, too.",
)
def compare_audios(audio_path_1: str | None, audio_path_2: str | None) -> float:
    """How alike two recordings are: the distance of their spectra after time warping."""
    if not audio_path_1 or not audio_path_2:
        return 0
    paths = [check_size(path) for path in (audio_path_1, audio_path_2)]
    return float(isolated("audio:similarity", *paths))


@metric(
    failure="TypeError for None; what cannot be decoded has no pictures, like another such file",
    source="vlc.py",
    needs=("numpy", "PIL", "cv2"),
    notes="Only the first 100 pictures count; up to five of them may differ.",
)
def compare_videos(
    video_path1: str, video_path2: str, max_frames_to_check: int = 100, threshold: int = 5
) -> bool:
    """Whether two films look the same, by the perceptual hashes of their pictures."""
    paths = [check_size(path, 256 * 1024 * 1024) for path in (video_path1, video_path2)]
    return bool(isolated("video:same", *paths, max_frames_to_check, threshold))
