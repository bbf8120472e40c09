"""Values of runs that hypothesis thinks up: with gaps, NaN and infinity."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from runfold._reduce.bootstrap import bootstrap_intervals
from runfold._reduce.operations import fold, parse
from runfold._reduce.sample import Sample

FINITE = st.floats(-1e6, 1e6).map(lambda value: round(value, 3))
ANY = FINITE | st.sampled_from([np.nan, np.inf, -np.inf])


@st.composite
def tables(draw, elements=ANY, runs=9, gaps=True):
    """Values of (runs, steps), and which of them are present, or None for all."""
    shape = draw(st.tuples(st.integers(1, runs), st.integers(0, 7)))
    values = draw(hnp.arrays(np.float64, shape, elements=elements))
    present = hnp.arrays(bool, shape)
    return values, draw(st.none() | present) if gaps else None


def entering(values, present):
    """The values that enter at each step, as plain arrays."""
    there = ~np.isnan(values) if present is None else present & ~np.isnan(values)
    return [column[rows] for column, rows in zip(values.T, there.T, strict=True)]


def bootstrap_interval(values, statistic="mean", level=0.95, resamples=10_000, seed=0):
    """The interval of the values of one step."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))[None, :]
    low, high = bootstrap_intervals(ordered, statistic, level, resamples, seed)
    return low[0], high[0]


def folded(operations, values, present=None, **options):
    values = np.asarray(values, dtype=np.float64)
    if present is not None:
        values = np.where(present, values, np.nan)
    return fold(Sample(values, present, **options), parse(operations))


def assert_equal(got, expected, scale=1e6):
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-9 * scale)
