"""Text and JSON for one value of each kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._cli.terminal import (
    Column,
    can_show,
    format_table,
    has_color,
    has_true_color,
    plot_width,
)
from runfold._events.kinds import KINDS
from runfold._events.kinds.text import text_of
from runfold._humanize import cell_width, escape, human_bytes, human_count, human_duration
from runfold._plot.terminal_drawings import draw_bars, draw_picture

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BARS = 16


def format_time(wall_time: float) -> str:
    """Return the local time, or "unknown" if the number is not a valid time."""
    try:
        return datetime.fromtimestamp(wall_time).isoformat(" ", "milliseconds")
    except (ValueError, OverflowError, OSError):
        return "unknown"


def pairs(details: dict[str, Any]) -> Iterator[str]:
    """Yield one line per known detail."""
    size = max(map(cell_width, map(escape, details)), default=0)
    for name, value in details.items():
        if value not in ("", None):
            label = escape(name)
            yield f"{label}{' ' * (size - cell_width(label))}  {escape(str(value))}"


def _view_text(value: Any) -> Iterator[str]:
    # Escape line by line: line breaks are fine, but nothing else may move the cursor.
    for line in text_of(value).split("\n"):
        line = line.removesuffix("\r").expandtabs(4)
        yield escape(line, 10 * max(len(line), 1))


def _view_image(value: Any) -> Iterator[str]:
    number, image = value
    problem = image.problem
    size = f"{image.width} x {image.height}"
    kind = image.format or "unknown format"
    yield f"image {number}: {kind}, {size}, {human_bytes(len(image.data))}"
    if problem is not None:
        yield f"Cannot be shown: {escape(problem)}."
    elif has_color() and can_show("▀"):
        yield from draw_picture(image.pil(), min(plot_width(), 80), has_true_color=has_true_color())


def _view_audio(value: Any) -> Iterator[str]:
    number, clip = value
    details = _audio_details(value)
    duration = human_duration(clip.duration) if clip.duration is not None else "unknown length"
    yield f"clip {number}: {clip.content_type or 'unknown type'}, {duration}"
    yield from pairs({name: details[name] for name in ("sample_rate", "channels", "label")})


def _view_histogram(value: Any) -> Iterator[str]:
    yield (
        f"{value.num:,.6g} numbers from {value.min:.6g} to {value.max:.6g}"
        + ("" if math.isnan(value.sum) or not value.num else f", mean {value.sum / value.num:.6g}")
    )
    if not len(value.counts):
        return
    edges, counts = _rebin(value.left, value.right, value.counts)
    marks = [f"{edge:.4g}" for edge in edges]
    size = max(map(len, marks))
    labels = [f"{low:>{size}} .. {high:>{size}}" for low, high in pairwise(marks)]
    shares = counts / (counts.sum() or 1.0)
    yield from draw_bars(labels, shares.tolist(), plot_width(), can_show("█▏"))


def _rebin(
    left: NDArray[np.float64], right: NDArray[np.float64], counts: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a few buckets of equal width, splitting the counts of old buckets by width."""
    low, high = float(left.min()), float(right.max())
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        return np.array([low, high]), np.array([counts.sum()])
    edges = np.linspace(low, high, min(_BARS, max(len(counts), 1)) + 1)
    size = np.where(right > left, right - left, 1.0)
    # The share of each bucket below each edge; all or nothing for a bucket without width.
    below = np.clip((edges[:, None] - left) / size, 0.0, 1.0)
    below[:, right <= left] = edges[:, None] > left[right <= left]
    below[-1] = 1.0
    return edges, np.diff(below @ counts)


def _view_tensor(value: Any) -> Iterator[str]:
    array = np.asarray(value)
    yield f"{'text' if array.dtype == object else array.dtype} of shape {array.shape}"
    with np.printoptions(threshold=60, edgeitems=3, linewidth=plot_width()):
        yield from map(escape, str(array).split("\n"))


def _view_pr_curve(value: Any) -> Iterator[str]:
    columns = [Column(name, is_number=True) for name in ("threshold", "precision", "recall")]
    picked = np.unique(np.linspace(0, value.num_thresholds - 1, 11).astype(int))
    rows = [
        [f"{value.thresholds[n]:.3f}", f"{value.precision[n]:.4f}", f"{value.recall[n]:.4f}"]
        for n in picked
    ]
    yield f"{human_count(value.num_thresholds, 'threshold')}, a selection:"
    yield from format_table(columns, rows)


def _view_mesh(value: Any) -> Iterator[str]:
    yield from pairs(
        {name: _summarize(getattr(value, name)) for name in ("vertices", "faces", "colors")}
    )


def _view_columns(kind: str, value: Any) -> Iterator[str]:
    """Yield one line per column of the kind's table; arrays are shown by shape."""
    column = KINDS[kind].value_column
    cells = {name: getattr(value, name) for name in KINDS[kind].columns}
    cells = {column: value} if column else cells
    yield from pairs({name: _summarize(cell) for name, cell in cells.items()})


def _summarize(cell: object) -> str:
    if isinstance(cell, np.ndarray):
        return f"{cell.dtype} of shape {cell.shape}"
    return "none" if cell is None else str(cell)


def _view_graph(value: Any) -> Iterator[str]:
    yield human_count(len(value), "node")
    ops: dict[str, int] = {}
    for op in value.ops:
        ops[op] = ops.get(op, 0) + 1
    most = sorted(ops.items(), key=lambda entry: -entry[1])[:_BARS]
    yield from pairs({name or "(no operation)": human_count(count) for name, count in most})


def _view_hparams(value: Any) -> Iterator[str]:
    for field in fields(value):
        name, entry = field.name, getattr(value, field.name)
        if isinstance(entry, dict):
            yield f"{name}:"
            yield from ("  " + line for line in pairs(entry))
        elif name == "hparams":
            yield f"{name}: {escape(', '.join(hparam.name for hparam in entry))}"
        elif name == "metrics":
            yield f"{name}: {escape(', '.join(metric.tag for metric in entry))}"
        elif name.endswith("_time") and entry:
            yield f"{name}: {format_time(entry)}"
        elif entry not in ("", None, 0.0, ()):
            yield f"{name}: {escape(str(entry))}"


def _view_run_metadata(value: Any) -> Iterator[str]:
    yield f"RunMetadata, {human_bytes(len(value.data))}"


def _view_layout(value: Any) -> Iterator[str]:
    for category in value.categories:
        yield escape(category.title)
        for chart in category.charts:
            tags = [*chart.tags, *(margin.value for margin in chart.margins)]
            yield f"  {escape(chart.title)}: {escape(', '.join(tags))}"


def _view_boxes(value: Any) -> Iterator[str]:
    boxes = value[0]
    numbers = [Column(name, is_number=True) for name in ("score", "x1", "y1", "x2", "y2")]
    count = len(boxes)
    labels = boxes.labels or [""] * count
    scores = [""] * count if boxes.scores is None else [f"{score:.3f}" for score in boxes.scores]
    corners = ([f"{corner:.6g}" for corner in box] for box in boxes.boxes)
    rows = [
        [escape(label, 60), score, *box]
        for label, score, box in zip(labels, scores, corners, strict=True)
    ]
    masks = "" if boxes.masks is None else " with masks"
    noun = "box" if count == 1 else "boxes"
    yield f"{human_count(count)} {noun}{masks} on {boxes.width} x {boxes.height} pixels"
    yield from format_table([Column("label"), *numbers], rows)


# Kinds with their own view. All others are shown column by column.
_SPECIAL_VIEWS: dict[str, Callable[[Any], Iterable[str]]] = {
    "text": _view_text,
    "image": _view_image,
    "audio": _view_audio,
    "histogram": _view_histogram,
    "tensor": _view_tensor,
    "hparams": _view_hparams,
    "pr_curve": _view_pr_curve,
    "mesh": _view_mesh,
    "graph": _view_graph,
    "run_metadata": _view_run_metadata,
    "layout": _view_layout,
    "boxes": _view_boxes,
}


def view_lines(kind: str, value: Any) -> Iterable[str]:
    """Return the lines that show one decoded value of a kind."""
    view = _SPECIAL_VIEWS.get(kind)
    return _view_columns(kind, value) if view is None else view(value)


def _image_details(value: Any) -> dict[str, Any]:
    number, image = value
    return {
        "index": number,
        "width": image.width,
        "height": image.height,
        "format": image.format,
        "bytes": len(image.data),
        "problem": image.problem,
    }


def _audio_details(value: Any) -> dict[str, Any]:
    number, clip = value
    names = ("sample_rate", "channels", "length_frames", "content_type", "label")
    details = {name: getattr(clip, name) for name in names}
    return {"index": number, **details, "bytes": len(clip.data)}


def _graph_details(value: Any) -> dict[str, Any]:
    return {"nodes": [node._asdict() for node in value.nodes]}


# JSON details of kinds whose values are not plain data.
DETAILS: dict[str, Callable[[Any], Any]] = {
    "image": _image_details,
    "audio": _audio_details,
    "graph": _graph_details,
    "boxes": lambda value: value[0],
    "run_metadata": lambda value: {"tag": value.tag, "bytes": len(value.data)},
}
