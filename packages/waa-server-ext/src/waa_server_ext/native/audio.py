"""The distance of two recordings: mel-frequency cepstra, aligned by dynamic time warping.

As librosa computes them by default (Slaney's mel scale, 128 bands, 20 coefficients, 2048 samples per
frame at 22,050 Hz) and FastDTW aligns them (Salvador and Chan 2007, radius 1). Runs in a child.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench_core.errors import EvaluationError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_RATE = 22_050  # librosa's default sample rate
_FRAME = 2048  # librosa's default window
_HOP = 512  # librosa's default: a quarter of the window
_BANDS = 128
_COEFFICIENTS = 20
_MAX_SECONDS = 3600  # bounds time and memory
_RADIUS = 1  # FastDTW's default
_SHORTEST_HEADER = 8

_BREAK_HZ, _HZ_PER_MEL, _LOG_STEP = 1000.0, 200.0 / 3, np.log(6.4) / 27.0
"""Slaney's scale: linear up to 1 kHz, logarithmic above."""


def similarity(first: str, second: str) -> float:
    """Return 1 / (1 + distance) of two sound files."""
    x, y = (_normalised(_cepstrum(_load(path))).T.astype(float) for path in (first, second))
    distance, _ = _warp(x, y, _RADIUS)
    return float(1 / (1 + distance))


def _load(path: str) -> NDArray[np.float32]:
    """Return a recording as one channel at 22,050 Hz."""
    import soundfile
    import soxr

    with _opened(soundfile, path) as file:
        rate = file.samplerate
        if file.frames > _MAX_SECONDS * rate:
            raise EvaluationError(f"it is longer than {_MAX_SECONDS} s")
        samples = file.read(frames=_MAX_SECONDS * rate, dtype="float32", always_2d=False).T
    mono = np.mean(samples, axis=tuple(range(samples.ndim - 1))) if samples.ndim > 1 else samples
    if rate == _RATE:
        return np.asarray(mono, dtype=np.float32)
    size = int(np.ceil(mono.shape[-1] * (_RATE / rate)))
    resampled = soxr.resample(mono, rate, _RATE, quality="soxr_hq")[:size]
    return np.pad(resampled, (0, size - len(resampled))).astype(np.float32)


def _opened(soundfile: Any, path: str) -> Any:
    """Open a sound file; if the format is unknown, raise the error of upstream's second decoder."""
    if Path(path).stat().st_size < _SHORTEST_HEADER:
        raise EOFError("the sound file has no header")
    try:
        return soundfile.SoundFile(path)
    except soundfile.LibsndfileError as error:
        raise NoBackendError(str(error)) from error


class NoBackendError(Exception):
    """No decoder knows the file."""


def _cepstrum(samples: NDArray[np.float32]) -> NDArray[Any]:
    if not np.isfinite(samples).all():
        raise ValueError("Audio buffer is not finite everywhere")
    padded = np.pad(samples, _FRAME // 2)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(_FRAME) / _FRAME)
    frames = np.lib.stride_tricks.sliding_window_view(padded, _FRAME)[::_HOP]
    blocks = [
        np.abs(np.fft.rfft(frames[at : at + 512] * window).astype(np.complex64)) ** 2
        for at in range(0, len(frames), 512)
    ]
    mel = (_mel_filters() @ np.concatenate(blocks).T).astype(np.float32)
    decibels = 10.0 * np.log10(np.maximum(1e-10, mel))
    decibels = np.maximum(decibels, decibels.max() - 80.0)
    # The first rows of the orthonormal discrete cosine transform of type II
    row = np.arange(_COEFFICIENTS)[:, None]
    basis = np.cos(np.pi * row * (2 * np.arange(_BANDS) + 1) / (2 * _BANDS))
    basis *= np.sqrt(2.0 / _BANDS)
    basis[0] /= np.sqrt(2.0)
    return np.asarray(basis @ decibels)


def _mel_filters() -> NDArray[np.float32]:
    mels = np.linspace(0.0, _mel(_RATE / 2), _BANDS + 2)
    start = _BREAK_HZ / _HZ_PER_MEL
    above = _BREAK_HZ * np.exp(_LOG_STEP * (mels - start))
    edges = np.asarray(np.where(mels >= start, above, _HZ_PER_MEL * mels))
    frequencies = np.fft.rfftfreq(_FRAME, 1.0 / _RATE)
    ramps = np.subtract.outer(edges, frequencies)
    widths = np.diff(edges)
    rising = -ramps[:-2] / widths[:-1, None]
    falling = ramps[2:] / widths[1:, None]
    weights = np.maximum(0, np.minimum(rising, falling))
    return np.asarray(weights * (2.0 / (edges[2:] - edges[:-2]))[:, None], dtype=np.float32)


def _mel(hertz: float) -> float:
    return float(_BREAK_HZ / _HZ_PER_MEL + np.log(hertz / _BREAK_HZ) / _LOG_STEP)


def _normalised(rows: NDArray[Any]) -> NDArray[Any]:
    peaks = np.abs(rows).max(axis=1, keepdims=True)
    peaks[peaks < np.finfo(np.float32).tiny] = 1.0
    normal: NDArray[Any] = rows / peaks
    return normal


Rows = list[tuple[int, int]]
"""Per row of the grid, the first column that may be visited and the one after the last."""


def _warp(x: NDArray[Any], y: NDArray[Any], radius: int) -> tuple[float, list[tuple[int, int]]]:
    if len(x) < radius + 2 or len(y) < radius + 2:
        return _align(x, y, [(0, len(y))] * len(x))
    _, path = _warp(_halved(x), _halved(y), radius)
    return _align(x, y, _widened(path, len(x), len(y), radius))


def _halved(x: NDArray[Any]) -> NDArray[Any]:
    even = len(x) - len(x) % 2
    return np.asarray((x[0:even:2] + x[1:even:2]) / 2)


def _widened(path: list[tuple[int, int]], rows: int, columns: int, radius: int) -> Rows:
    """Return the cells within `radius` of a coarser path, at twice its resolution."""
    low, high = np.full(rows + 2, columns), np.full(rows + 2, -1)
    for i, j in path:
        first, last = max(0, (i - radius) * 2), min(rows, (i + radius) * 2 + 2)
        low[first:last] = np.minimum(low[first:last], (j - radius) * 2)
        high[first:last] = np.maximum(high[first:last], (j + radius) * 2 + 2)
    window: Rows = []
    start = 0
    for row in range(rows):
        start = max(start, int(low[row]), 0)
        window.append((start, min(columns, int(high[row]))))
    return window


def _align(x: NDArray[Any], y: NDArray[Any], window: Rows) -> tuple[float, list[tuple[int, int]]]:
    """Return the least total distance through the window, and the path that attains it."""
    squares = np.einsum("ij,ij->i", y, y)
    before: list[float] = []
    before_low = 0
    choices: list[tuple[int, list[int]]] = []
    infinity = float("inf")
    for i, (low, high) in enumerate(window):
        distances = _cosines(x[i], y[low:high], squares[low:high])
        row: list[float] = []
        chosen: list[int] = []
        left = infinity
        for offset, distance in enumerate(distances):
            j = low + offset
            at = j - before_low
            up = before[at] if 0 <= at < len(before) else infinity
            diagonal = before[at - 1] if 0 < at <= len(before) else infinity
            if i == 0 and j == 0:
                diagonal = 0.0
            best, choice = up, 0
            if left < best:
                best, choice = left, 1
            if diagonal < best:
                best, choice = diagonal, 2
            left = best + distance
            row.append(left)
            chosen.append(choice)
        choices.append((low, chosen))
        before, before_low = row, low
    columns = len(y)
    i, j = len(choices) - 1, columns - 1
    path = []
    while i >= 0 and j >= 0:
        path.append((i, j))
        low, chosen = choices[i]
        choice = chosen[j - low]
        i, j = i - (choice != 1), j - (choice != 0)
    path.reverse()
    return before[-1], path


def _cosines(x: NDArray[Any], rows: NDArray[Any], squares: NDArray[Any]) -> list[float]:
    with np.errstate(invalid="ignore", divide="ignore"):
        values = 1.0 - (rows @ x) / np.sqrt(float(x @ x) * squares)
    cosines: list[float] = np.clip(values, 0.0, 2.0).tolist()
    return cosines
