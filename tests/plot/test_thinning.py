"""Thinning of series to fewer points without a visible change."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from runfold._plot.thinning import thin

SIZES = st.shared(st.integers(1, 300), key="n")


def test_few_points_are_all_kept() -> None:
    assert thin(np.arange(8.0), [np.arange(8.0)], 2).tolist() == list(range(8))


def test_spikes_and_gaps_are_kept() -> None:
    values = np.sin(np.arange(100_000) / 1e4)
    values[31_234], values[50_000:50_010], values[77_777] = 9, np.nan, -9
    kept = thin(np.arange(100_000.0), [values], 100)
    assert len(kept) <= 500
    assert {0, 31_234, 50_000, 77_777, 99_999} <= set(kept.tolist())


@given(
    x=arrays.arrays(np.float64, SIZES, elements=st.floats(-1e9, 1e9)).map(np.sort),
    values=arrays.arrays(np.float64, SIZES),
    columns=st.integers(1, 40),
)
def test_extremes_of_every_column_are_kept(x: np.ndarray, values: np.ndarray, columns: int) -> None:
    kept = thin(x, [values], columns)
    assert len(kept) <= max(5 * columns, 4 * columns)
    edges = np.linspace(x[0], x[-1], columns + 1)
    places, left = (np.searchsorted(edges[1:-1], at, side="right") for at in (x, x[kept]))
    finite = np.isfinite(values)
    for place in range(columns):
        before, after = values[(places == place) & finite], values[kept][left == place]
        after = after[np.isfinite(after)]
        if len(before):
            assert (before.min(), before.max()) == (after.min(), after.max())
