"""The points of many tags as a mapping, whatever the number of points per tag."""

import gc
from typing import Any

import numpy as np
import pytest
from helpers.decoding import feed

from runfold._core.decoder import Decoder
from runfold._core.encoder import EventBuffer
from runfold._core.scalar_columns import ScalarPoints
from runfold._core.tag_table import Tags


# Few points share one block of memory; the others are in the memory into which they were decoded.
@pytest.fixture(params=[1000, 4019, 4020])
def counts(request: pytest.FixtureRequest) -> list[int]:
    """The number of points of each tag."""
    return [1, 2, 4, 5, 32, 33, request.param]


@pytest.fixture
def scalars(counts: list[int]) -> ScalarPoints:
    """Points of one tag for each of the counts, taken from a decoder that no longer exists."""
    events = EventBuffer()
    for number, count in enumerate(counts):
        for step in range(count):
            events.scalar(f"tag-{number}", step / 2, step, 100.0 + step)
    decoder = Decoder(Tags())
    feed(decoder, events.getvalue())
    return decoder.take()[0]


def test_each_tag_has_its_points(scalars: ScalarPoints, counts: list[int]) -> None:
    assert (len(scalars), list(scalars), scalars.total) == (7, list(range(7)), sum(counts))
    assert scalars.counts() == dict(enumerate(counts))
    for (tag, made), again in zip(scalars.items(), scalars.values(), strict=True):
        steps = np.arange(counts[tag])
        for points in (made, again, scalars[tag]):
            np.testing.assert_array_equal(points[0], steps)
            np.testing.assert_array_equal(points[1], 100.0 + steps)
            np.testing.assert_array_equal(points[2], steps / 2)
            assert [column.dtype for column in points] == [np.int64, np.float64, np.float64]
            assert not any(column.flags.writeable for column in points)
    # Creating arrays does not change the counts.
    assert (len(scalars), scalars.total, scalars.counts()) == (
        *(7, sum(counts)),
        dict(enumerate(counts)),
    )


def test_points_outlive_the_mapping(scalars: ScalarPoints, counts: list[int]) -> None:
    kept = [points[2] for points in scalars.values()]
    del scalars
    gc.collect()
    assert [len(column) for column in kept] == counts
    assert all(column[-1] == (len(column) - 1) / 2 for column in kept)


def test_points_are_replaced_and_added(scalars: ScalarPoints, counts: list[int]) -> None:
    column = np.arange(3)
    points = (column, column / 2, column / 4)
    held = scalars[6][2]
    for tag in (0, 3, 6, 9):
        scalars[tag] = points
    assert list(scalars) == [*range(7), 9]
    assert scalars.counts() == {**dict(enumerate(counts)), **dict.fromkeys((0, 3, 6, 9), 3)}
    assert (len(scalars), scalars.total) == (8, 12 + 2 + 4 + 32 + 33)
    assert all(scalars[tag] is points for tag in (0, 3, 6, 9))
    assert len(held) == counts[-1]
    assert held[-1] == (counts[-1] - 1) / 2


@pytest.mark.parametrize("tag", [7, -1, 1 << 70, "loss", None, 1.5])
def test_a_tag_without_points_is_missing(scalars: ScalarPoints, tag: object) -> None:
    assert tag not in scalars
    with pytest.raises(KeyError):
        scalars[tag]
    assert (len(ScalarPoints()), list(ScalarPoints())) == (0, [])


def test_the_garbage_collector_can_free_points_in_any_order(counts: list[int]) -> None:
    """In a cycle, it clears the references of an object before it frees the object."""
    for _ in range(3):
        events = EventBuffer()
        for number, count in enumerate(counts):
            for step in range(count):
                events.scalar(f"tag-{number}", step / 2, step, 100.0 + step)
        decoder = Decoder(Tags())
        feed(decoder, events.getvalue())
        cycle: Any = decoder.take()[0]
        cycle[1] = (cycle, cycle[2], cycle)
        del cycle
        gc.collect()


def test_a_tag_far_beyond_the_others_is_found() -> None:
    """A later file of a run with many tags can contain only one of them."""
    tags = Tags()
    first, second = EventBuffer(), EventBuffer()
    for number in range(300):
        first.scalar(f"tag-{number}", 1.0, 1, 1.0)
    second.scalar("tag-250", 2.0, 2, 2.0)
    for buffer in (first, second):
        decoder = Decoder(tags)
        feed(decoder, buffer.getvalue())
        scalars = decoder.take()[0]
    assert list(scalars) == [250]
    assert [column.tolist() for column in scalars[250]] == [[2], [2.0], [2.0]]
    assert 251 not in scalars
    scalars[299] = scalars[250]
    assert list(scalars) == [250, 299]
