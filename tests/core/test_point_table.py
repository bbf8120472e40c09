"""The points of one tag in many runs equal those of each run alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from helpers.decoding import feed
from hypothesis import given
from hypothesis import strategies as st

from runfold._core.decoder import Decoder
from runfold._core.encoder import EventBuffer
from runfold._core.point_table import (
    find_ends,
    find_last_steps,
    join_points,
    list_tags,
    stack_points,
)
from runfold._core.scalar_columns import ScalarPoints
from runfold._core.tag_table import Tags

if TYPE_CHECKING:
    from runfold._core.point_table import Source

VALUES = st.sampled_from([0.0, -0.0, 1.5, -2.0, np.nan, np.inf])
POINTS = st.lists(st.tuples(st.integers(-5, 9), VALUES), max_size=6)
# The points of up to three tags, and how they are stored.
FORMS = ["packed", "loose", "arrays"]
RUN = st.tuples(st.lists(POINTS, min_size=3, max_size=3), st.sampled_from(FORMS))
RUNS = st.lists(RUN, max_size=6)


def make_points(tags: list[list[tuple[int, float]]], form: str) -> ScalarPoints:
    """Return the points of tags 0, 1 and so on, stored in different ways."""
    if form == "arrays":
        made = ScalarPoints()
        for tag, points in enumerate(tags):
            if points:
                steps, numbers = zip(*points, strict=True)
                made[tag] = np.array(steps), np.arange(float(len(steps))), np.array(numbers)
        return made
    buffer = EventBuffer()
    for tag in range(len(tags)):  # number all tags, and remove what this adds
        buffer.session_start(0, 0.0)
        buffer.scalar_double(f"tag-{tag}", 0.0, 0, 0.0)
    if form == "loose":  # more points than are packed
        buffer.table(["more"], np.arange(4100), np.zeros(4100), np.ones((4100, 1)))
    decoder = Decoder(Tags())
    feed(decoder, buffer.getvalue())
    decoder.take()
    buffer = EventBuffer()
    for tag, points in enumerate(tags):
        for index, (step, number) in enumerate(points):
            buffer.scalar_double(f"tag-{tag}", number, step, float(index))
    if form == "loose":
        buffer.table(["more"], np.arange(4100) - 9000, np.zeros(4100), np.ones((4100, 1)))
    feed(decoder, buffer.getvalue())
    return decoder.take()[0]


def zeros(count: int, tag: int = 0) -> np.ndarray:
    return np.full(count, tag, np.int32)


def same(found: Any, expected: Any) -> None:
    """Compare arrays to the last bit."""
    for column, other in zip(found, expected, strict=True):
        assert column.tobytes() == np.array(other, column.dtype).tobytes()


@given(RUNS, st.integers(0, 2))
def test_all_points_are_joined(runs: list[Any], tag: int) -> None:
    tables: list[Source] = [make_points(*run) for run in runs]
    kept = [row for row, (tags, _) in enumerate(runs) if tags[tag]]
    points = [point for row in kept for point in runs[row][0][tag]]
    expected = (
        kept,
        [len(runs[row][0][tag]) for row in kept],
        [step for step, _ in points],
        [number for _, number in points],
    )
    same(join_points(tables, zeros(len(runs), tag)), expected)
    arrays: list[Source] = [
        (np.array([s for s, _ in tags[tag]], np.int64), np.array([v for _, v in tags[tag]], float))
        for tags, _ in runs
    ]
    same(join_points(arrays, zeros(len(runs), -1)), expected)


@given(RUNS, st.integers(0, 2))
def test_ends_are_those_of_a_stable_sort(runs: list[Any], tag: int) -> None:
    tables: list[Source] = [make_points(*run) for run in runs]
    kept = [row for row, (tags, _) in enumerate(runs) if tags[tag]]
    ordered = [sorted(runs[row][0][tag], key=lambda point: point[0]) for row in kept]
    same(
        find_ends(tables, zeros(len(runs), tag)),
        (
            kept,
            [points[0][1] for points in ordered],
            [points[-1][1] for points in ordered],
            [points[-1][0] for points in ordered],
        ),
    )


@given(RUNS, st.sampled_from([b"", b"\1", b"\0\1", b"\1\1", b"\1\1\1"]))
def test_the_last_step_is_that_of_all_tags_that_are_not_skipped(
    runs: list[Any], skipped: bytes
) -> None:
    skips = skipped.ljust(3, b"\0") + b"\1"  # without the tag that makes the points loose
    steps, has_any = find_last_steps([make_points(*run) for run in runs], skips)
    for (tags, _), step, has_steps in zip(runs, steps, has_any, strict=True):
        own = [s for tag, points in enumerate(tags) if not skips[tag] for s, _ in points]
        assert has_steps == bool(own)
        assert step == max(own, default=-(2**63))


@given(RUNS)
def test_tags_are_listed_in_order_of_first_appearance(runs: list[Any]) -> None:
    expected: dict[int, int] = {}
    for row, (tags, form) in enumerate(runs):
        for tag, points in enumerate([*tags, [(0, 0.0)] * (form == "loose")]):
            if points:
                expected.setdefault(tag, row)
    found = list_tags([make_points(*run) for run in runs])
    assert found == [(row, tag) for tag, row in expected.items()]


@given(st.lists(st.sampled_from([(0, 1, 2), (0, 1, 2), (0, 1), (0, 2, 1), ()]), max_size=4))
def test_runs_are_stacked_only_if_their_steps_are_the_same_and_increase(
    all_steps: list[tuple[int, ...]],
) -> None:
    points = [
        make_points([[(step, row + step / 8) for step in steps]], FORMS[row % 3])
        for row, steps in enumerate(all_steps)
    ]
    found = stack_points(points, zeros(len(points)), 3)
    if set(all_steps) not in ({(0, 1, 2)}, {(0, 1)}):
        assert found is None
        return
    assert found is not None
    rows = range(len(points))
    same(
        found,
        (
            all_steps[0],
            [[float(index) for index in range(len(steps))] for steps in all_steps],
            [[row + step / 8 for step in all_steps[row]] for row in rows],
        ),
    )
    assert stack_points(points, zeros(len(points)), len(all_steps[0]) - 1) is None


@pytest.mark.parametrize("form", FORMS)
def test_runs_with_nan_or_without_the_tag_are_not_stacked(form: str) -> None:
    whole = make_points([[(0, 1.0)]], form)
    assert stack_points([whole, make_points([[(0, np.nan)]], form)], zeros(2), 9) is None
    for tag in (-1, 7):
        assert stack_points([whole, whole], np.array([0, tag], np.int32), 9) is None


def test_other_sources_are_refused() -> None:
    steps, numbers = np.arange(3), np.zeros(3)
    for source in (
        (steps, numbers[:2]),
        (steps.astype(np.int32), numbers),
        (steps, numbers.astype(np.float32)),
        (steps[::2], numbers[::2]),
        (steps.reshape(3, 1), numbers),
    ):
        with pytest.raises(ValueError, match="contiguous"):
            join_points([source], zeros(1))
    for odd in ([steps, numbers], ([0], [1.0]), None):
        with pytest.raises(TypeError, match="expected"):
            find_ends([odd], zeros(1))
    with pytest.raises(ValueError, match="need as many tags"):
        join_points([(steps, numbers)], zeros(2))
    with pytest.raises(TypeError):
        find_last_steps([(steps, numbers)], b"")
