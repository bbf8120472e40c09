"""The logs for the benchmarks: generated once, always with the same bytes."""

import io
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from runfold._core.encoder import EventBuffer
from runfold._events import value_encoding

NAMES = ("train/loss", "train/accuracy", "val/loss", "val/accuracy", "optimizer/lr")
START = 1_750_000_000.0
# A small image. The larger it is, the better Runfold looks, because it does not copy images.
IMAGE_SIZE = 128
HISTOGRAM_VALUES = 4096


@dataclass(frozen=True, slots=True)
class Log:
    """The parameters of a log, and how many of its runs slow peers read.

    The form "media" has images and histograms, each under `tags` tags.
    """

    name: str
    runs: int
    tags: int
    steps: int
    form: Literal["simple", "tensor", "media"] = "simple"
    sample: int = 0

    @property
    def folder(self) -> str:
        """A name that is unique to these parameters."""
        size = f"-{IMAGE_SIZE}px" if self.form == "media" else ""
        return f"{self.name}-{self.runs}x{self.tags}x{self.steps}-{self.form}{size}"

    def sampled(self) -> "Log":
        """Return the log with only the first `sample` runs, identical to those of the whole log."""
        return replace(self, runs=min(self.runs, self.sample or self.runs))

    def __str__(self) -> str:
        runs = f"{self.runs:,} run{'s' if self.runs > 1 else ''}"
        if self.form == "media":
            count = self.tags * self.steps
            return f"{self.name}: {runs}, {count} images and {count} histograms each"
        form = ", TensorFlow 2 format" if self.form == "tensor" else ""
        return f"{self.name}: {runs}, {self.tags} tags x {self.steps:,} steps{form}"


LOGS = (
    Log("A", runs=1, tags=10, steps=100_000),
    Log("B", runs=100, tags=10, steps=2_000, sample=10),
    Log("C", runs=2_000, tags=5, steps=50, sample=200),
    Log("D", runs=10, tags=10, steps=5_000, form="tensor", sample=2),
    Log("E", runs=5, tags=10, steps=20, form="media"),
)
SMALL = Log("small", runs=5, tags=5, steps=100)


def generate(log: Log, root: Path, fresh: bool = False) -> Path:
    """Return the folder of a log below `root`, written if missing, and load it into the page cache.

    A folder appears under its name only when it is complete.
    """
    folder = root / log.folder
    if folder.exists() and not fresh:
        for file in folder.glob("*/*"):
            file.read_bytes()
        return folder
    partial = root / f".{log.folder}"
    for old in (partial, folder):
        shutil.rmtree(old, ignore_errors=True)
    for run in range(log.runs):
        _write_run(log, run, partial / f"run-{run:04d}")
    partial.rename(folder)
    return folder


def _write_run(log: Log, run: int, folder: Path) -> None:
    start = START + 3600.0 * run
    buffer = EventBuffer()
    buffer.file_version(start)
    if log.form == "media":
        rng, steps, wall_times = _times(log, run)
        for step, wall_time in zip(steps, wall_times, strict=True):
            for tag in range(log.tags):
                buffer.value(_image(f"samples/image_{tag}", rng), step, wall_time)
                buffer.value(_histogram(f"weights/layer_{tag}", rng), step, wall_time)
    else:
        steps, wall_times, walk = scalar_points(log, run)
        if log.form == "tensor":
            _add_tensors(buffer, tag_names(log.tags), steps, wall_times, walk)
        else:
            buffer.table(tag_names(log.tags), steps, wall_times, walk)
    folder.mkdir(parents=True)
    (folder / f"events.out.tfevents.{int(start)}.host.{1000 + run}.0").write_bytes(buffer)


def scalar_points(
    log: Log, run: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the steps, wall times and values, with a column per tag, that a run logs."""
    rng, steps, wall_times = _times(log, run)
    walk = np.cumsum(rng.standard_normal((log.steps, log.tags)), axis=0) * 0.01 + 1.0
    return steps, wall_times, walk


def _times(
    log: Log, run: int
) -> tuple[np.random.Generator, NDArray[np.int64], NDArray[np.float64]]:
    # Seeded by the run, so that the runs of a sample are the first runs of the whole log.
    rng = np.random.default_rng([ord(log.name[0]), run])
    wall_times = START + 3600.0 * run + np.cumsum(rng.uniform(0.05, 0.15, log.steps))
    return rng, np.arange(log.steps, dtype=np.int64), wall_times


def _add_tensors(
    buffer: EventBuffer,
    tags: list[str],
    steps: NDArray[np.int64],
    wall_times: NDArray[np.float64],
    rows: NDArray[np.float64],
) -> None:
    """Append scalars as TensorFlow 2 writes them: float32 tensors with raw content."""
    for step, wall_time, row in zip(steps, wall_times, rows.astype(np.float32), strict=True):
        for tag, number in zip(tags, row, strict=True):
            buffer.value(value_encoding.tensor(tag, number, "scalars"), step, wall_time)


def tag_names(count: int) -> list[str]:
    """Return `count` typical tag names."""
    return [f"{NAMES[tag % len(NAMES)]}_{tag // len(NAMES)}" for tag in range(count)]


def _image(tag: str, rng: np.random.Generator) -> bytes:
    """Return a PNG of a colored gradient with noise, which compresses about as well as a photo."""
    ramp = np.linspace(0, 160, IMAGE_SIZE)
    pixels = (ramp[:, None, None] + ramp[None, :, None] * rng.uniform(0, 0.5, 3)).astype(np.uint8)
    pixels += rng.integers(0, 16, pixels.shape, dtype=np.uint8)
    encoded = io.BytesIO()
    Image.fromarray(pixels).save(encoded, "PNG")
    return value_encoding.image(tag, IMAGE_SIZE, IMAGE_SIZE, 3, encoded.getvalue())


def _histogram(tag: str, rng: np.random.Generator) -> bytes:
    """Return a histogram of normal weights in the buckets that torch and TensorFlow 1 use."""
    weights = rng.normal(0.0, 0.05, HISTOGRAM_VALUES)
    counts, _ = np.histogram(weights, np.concatenate([[-np.inf], _LIMITS]))
    filled = np.flatnonzero(counts)
    kept = slice(filled[0], filled[-1] + 1)
    return value_encoding.histogram(
        tag,
        min=weights.min(),
        max=weights.max(),
        num=weights.size,
        sum=weights.sum(),
        sum_squares=(weights**2).sum(),
        limits=_LIMITS[kept],
        counts=counts[kept],
    )


def _limits() -> NDArray[np.float64]:
    """Return right edges that grow by a tenth from one to the next, on both sides of zero."""
    positive = 1e-12 * 1.1 ** np.arange(400)
    return np.concatenate([-positive[::-1], [0.0], positive])


_LIMITS = _limits()
