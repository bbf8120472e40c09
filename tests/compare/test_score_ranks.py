"""Ranks and rank statistics, compared with scipy."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from runfold._compare.score_ranks import mann_whitney, middle_mean, rank

# Integers are often equal, floats rarely.
SCORES = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e9, 1e9))


@given(st.lists(SCORES, min_size=1, max_size=30))
def test_equal_scores_share_a_rank(scores):
    np.testing.assert_array_equal(rank(np.array(scores)), scipy.stats.rankdata(scores))


@given(st.lists(SCORES, min_size=1, max_size=30))
def test_outer_quarters_are_left_out_of_the_middle_mean(scores):
    expected = scipy.stats.trim_mean(scores, 0.25)
    np.testing.assert_allclose(middle_mean(np.array(scores)), expected, rtol=1e-9, atol=1e-9)


@given(*[st.lists(SCORES, min_size=1, max_size=14)] * 2)
def test_p_value_matches_scipy(a, b):
    with np.errstate(all="ignore"):
        expected = scipy.stats.mannwhitneyu(a, b).pvalue
    got = mann_whitney(np.array(a), np.array(b))
    if len({*a, *b}) == 1:
        assert np.isnan(got)  # undefined; scipy returns 1 or NaN depending on its version
    else:
        assert got == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 3), (8, 200), (200, 8), (9, 9), (40, 300)])
def test_p_value_of_groups_of_any_size_matches_scipy(n, m):
    random = np.random.default_rng(n + m)
    a, b = random.normal(size=n), random.normal(0.3, size=m)
    expected = scipy.stats.mannwhitneyu(a, b).pvalue
    assert mann_whitney(a, b) == pytest.approx(expected, rel=1e-9)


def test_comparing_groups_does_not_import_scipy_stats():
    code = """
import sys
import numpy as np
from runfold._compare.pairs import compare_pair, summarize
a, b = np.arange(12.0), np.arange(3.0, 14.0)
summarize("loss", "a", a, 0.95)
compare_pair(("loss", "a", "b"), a, b, 1, 0.95, 100, 0)
print("scipy.stats" in sys.modules)
"""
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout == "False\n"
