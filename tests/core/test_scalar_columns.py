"""The points of many tags as a mapping, whatever the number of points per tag."""

import gc

import numpy as np
import pytest
from helpers.decoding import feed

from runfold._core.decoder import Decoder
from runfold._core.encoder import EventBuffer
from runfold._core.scalar_columns import ScalarPoints
from runfold._core.tag_table import Tags

COUNTS = [1, 2, 4, 5, 32, 33, 1000]


@pytest.fixture
def scalars() -> ScalarPoints:
    """Points of one tag for each of COUNTS, taken from a decoder that no longer exists."""
    events = EventBuffer()
    for number, count in enumerate(COUNTS):
        for step in range(count):
            events.scalar(f"tag-{number}", step / 2, step, 100.0 + step)
    decoder = Decoder(Tags())
    feed(decoder, events.getvalue())
    return decoder.take()[0]


def test_each_tag_has_its_points(scalars: ScalarPoints) -> None:
    assert (len(scalars), list(scalars), scalars.total) == (7, list(range(7)), sum(COUNTS))
    assert scalars.counts() == dict(enumerate(COUNTS))
    for (tag, made), again in zip(scalars.items(), scalars.values(), strict=True):
        steps = np.arange(COUNTS[tag])
        for points in (made, again, scalars[tag]):
            np.testing.assert_array_equal(points[0], steps)
            np.testing.assert_array_equal(points[1], 100.0 + steps)
            np.testing.assert_array_equal(points[2], steps / 2)
            assert [column.dtype for column in points] == [np.int64, np.float64, np.float64]
            assert not any(column.flags.writeable for column in points)
    # Creating arrays does not change the counts.
    assert (len(scalars), scalars.total, scalars.counts()) == (7, 1077, dict(enumerate(COUNTS)))


def test_points_outlive_the_mapping(scalars: ScalarPoints) -> None:
    kept = [points[2] for points in scalars.values()]
    del scalars
    gc.collect()
    assert [len(column) for column in kept] == COUNTS
    assert all(column[-1] == (len(column) - 1) / 2 for column in kept)


def test_points_are_replaced_and_added(scalars: ScalarPoints) -> None:
    column = np.arange(3)
    points = (column, column / 2, column / 4)
    held = scalars[6][2]
    for tag in (0, 3, 6, 9):
        scalars[tag] = points
    assert list(scalars) == [*range(7), 9]
    assert scalars.counts() == {**dict(enumerate(COUNTS)), **dict.fromkeys((0, 3, 6, 9), 3)}
    assert (len(scalars), scalars.total) == (8, 12 + 2 + 4 + 32 + 33)
    assert all(scalars[tag] is points for tag in (0, 3, 6, 9))
    assert len(held) == 1000


@pytest.mark.parametrize("tag", [7, -1, 1 << 70, "loss", None, 1.5])
def test_a_tag_without_points_is_missing(scalars: ScalarPoints, tag: object) -> None:
    assert tag not in scalars
    with pytest.raises(KeyError):
        scalars[tag]
    assert (len(ScalarPoints()), list(ScalarPoints())) == (0, [])
