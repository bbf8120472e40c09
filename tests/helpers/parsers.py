"""tbparse's and Runfold's tables of the same files, for comparison."""

from pathlib import Path
from typing import Any

import tbparse
from pandas.testing import assert_frame_equal

from runfold.compat.tbparse import SummaryReader

# The original does not decode images and audio without TensorFlow.
TYPES = ("scalars", "tensors", "histograms", "hparams", "text")
PLACES: tuple[set[str], ...] = (
    set(),
    {"wall_time"},
    {"dir_name"},
    {"file_name"},
    {"dir_name", "file_name", "wall_time"},
)
EVERY = {
    *("dir_name", "file_name", "wall_time", "min", "max", "num", "sum", "sum_squares"),
    *("width", "height", "content_type", "length_frames", "sample_rate"),
}
# Warnings from pandas about the way tbparse calls it.
OLD_WAYS = ("ignore:The inplace keyword", "ignore:Converting a Series or array of length 1")


def pair(path: Path | str, **options: Any) -> tuple[tbparse.SummaryReader, SummaryReader]:
    """Return the original reader and Runfold's."""
    return tbparse.SummaryReader(str(path), **options), SummaryReader(str(path), **options)


def assert_same(path: Path | str, **options: Any) -> None:
    """Check that all tables and tags are equal: columns, their order and types, rows and values."""
    theirs, ours = pair(path, **options)
    columns = options.get("extra_columns", set())
    # With these options, the original sorts by step alone, and the order of equal steps is random.
    is_shuffled = options.get("pivot", False) and not columns & {"dir_name", "file_name"}
    for event_type in TYPES:
        want, got = theirs.get_events(event_type), ours.get_events(event_type)
        if is_shuffled and len(want):
            want, got = want.map(in_order), got.map(in_order)
        assert_frame_equal(got, want)
    assert tags_of(ours) == tags_of(theirs)
    assert list(ours.tags) == list(theirs.tags)


def in_order(cell: Any) -> Any:
    """Return a cell; a list is sorted, with 3 and 3.0 as the same value."""
    if isinstance(cell, list):
        return sorted(str(value).removesuffix(".0") for value in cell)
    return cell


def tags_of(reader: Any) -> dict[str, list[str]]:
    """Return a reader's tags, with hparams in an order that is the same in all processes."""
    tags = {event_type: reader.get_tags(event_type) for event_type in TYPES}
    return tags | {"hparams": sorted(tags["hparams"])}
