"""Windows of x values that fit into a number of bytes."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from runfold._reduce.curve_points import Points
from runfold._reduce.windows.outline import Outlines
from runfold._reduce.windows.window_plan import plan_windows

HELD, WORK = 24, 48

runs = st.lists(
    st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 50), max_size=60, unique=True),
    min_size=1,
    max_size=6,
)


def points(x: list[int]) -> Points:
    ordered = np.array(sorted(x), np.int64)
    return Points("run", ordered, np.zeros(len(x)), np.zeros(len(x)))


@given(st.lists(runs, min_size=1, max_size=3), st.integers(1, 20), st.integers(1, 20_000))
def test_windows_cover_all_points_and_fit(
    tags: list[list[list[int]]], most_marks: int, room: int
) -> None:
    make = Outlines(most_marks).make
    outlines = {str(tag): [make(points(x)) for x in own] for tag, own in enumerate(tags)}
    windows, need = plan_windows(outlines, HELD, WORK, room)
    every = [sorted(x for run in own for x in run) for own in tags]
    if not any(every):
        assert windows == []
        return
    assert (windows[0][0], windows[-1][1]) == (None, None)
    assert [low for low, _ in windows[1:]] == [high for _, high in windows[:-1]]
    most = 0
    for low, high in windows:
        inside = [
            sum((low is None or x >= low) and (high is None or x < high) for x in own)
            for own in every
        ]
        most = max(most, HELD * sum(inside) + WORK * max(inside))
    assert most <= need
    # A window that is too large cannot be divided further.
    edges = {x for own in outlines.values() for each in own for x in each.marks.tolist()}
    assert need <= room or len(windows) <= len(edges)
    assert need <= room or need <= HELD * sum(map(len, every)) + WORK * max(map(len, every))


def test_few_windows_are_used() -> None:
    outlines = {"a": [Outlines(100).make(points([*range(10_000)])) for _ in range(4)]}
    windows, need = plan_windows(outlines, HELD, WORK, (HELD + WORK) * 10_400)
    assert len(windows) == 4
    assert need <= (HELD + WORK) * 10_400
