"""Points hidden by a restart, compared with plain loops that state the rules."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runfold._cli import parser
from runfold._logdir.restarts import POLICIES, visible

INT64 = st.integers(-(2**63), 2**63 - 1)
STEPS = st.lists(st.integers(-3, 12) | INT64, max_size=40)


def shown(steps, markers, policy):
    """Return the indices of the visible points."""
    mask = visible(np.array(steps, np.int64), markers, policy)
    return list(range(len(steps))) if mask is None else np.flatnonzero(mask).tolist()


def shown_by_markers(steps, markers):
    """Read in order; at a marker, drop every point so far with its step or a later one."""
    held: list[tuple[int, int]] = []
    for number, step in enumerate(steps):
        for before, restart in markers:
            if before == number:
                held = [(at, old) for at, old in held if old < restart]
        held.append((number, step))
    for before, restart in markers:
        if before == len(steps):
            held = [(at, old) for at, old in held if old < restart]
    return [at for at, _ in held]


def shown_by_steps(steps):
    """Read in order; when the step decreases, drop every point at that step or later."""
    held: list[tuple[int, int]] = []
    previous = None
    for number, step in enumerate(steps):
        if previous is not None and step < previous:
            held = [(at, old) for at, old in held if old < step]
        held.append((number, step))
        previous = step
    return [at for at, _ in held]


@given(STEPS, st.lists(st.tuples(st.integers(0, 40), st.integers(-3, 12) | INT64), max_size=6))
def test_markers_hide_earlier_points_at_their_step_or_later(steps, markers):
    markers = sorted((min(before, len(steps)), restart) for before, restart in markers)
    assert shown(steps, markers, "session") == shown_by_markers(steps, markers)


@given(STEPS)
def test_a_step_that_goes_back_hides_the_older_branch(steps):
    assert shown(steps, [], "step") == shown_by_steps(steps)


@given(STEPS, st.lists(st.tuples(st.integers(0, 40), INT64), max_size=3))
def test_keep_hides_nothing_and_step_ignores_markers(steps, markers):
    assert visible(np.array(steps, np.int64), markers, "keep") is None
    assert shown(steps, markers, "step") == shown(steps, [], "step")


@pytest.mark.parametrize("policy", POLICIES)
@given(st.lists(INT64, max_size=40).map(sorted))
def test_steps_that_never_go_back_need_no_mask(policy, steps):
    assert visible(np.array(steps, np.int64), [], policy) is None


@pytest.mark.parametrize(
    ("steps", "markers", "policy", "expected"),
    [
        # A job that died at step 4 and resumed from its checkpoint at step 2.
        ([0, 1, 2, 3, 4, 2, 3], [(5, 2)], "session", [0, 1, 5, 6]),
        ([0, 1, 2, 3, 4, 2, 3], [], "step", [0, 1, 5, 6]),
        ([0, 1, 2, 3, 4, 2, 3], [], "session", [0, 1, 2, 3, 4, 5, 6]),
        # Two restarts, the second one from an earlier step.
        ([0, 1, 2, 1, 2, 3, 0, 1], [(3, 1), (6, 0)], "session", [6, 7]),
        ([0, 1, 2, 1, 2, 3, 0, 1], [], "step", [6, 7]),
        # Equal steps in a row are not a restart; after one, the older equal steps are hidden.
        ([1, 1, 2, 2], [], "step", [0, 1, 2, 3]),
        ([1, 1, 2, 2, 1], [], "step", [4]),
        # A marker before the first point and one after the last.
        ([5, 6], [(0, 0)], "session", [0, 1]),
        ([5, 6], [(2, 6)], "session", [0]),
        ([], [(0, 0)], "session", []),
    ],
)
def test_restarts_by_example(steps, markers, policy, expected):
    assert shown(steps, markers, policy) == expected


def test_the_command_line_offers_the_same_policies():
    assert parser.POLICIES == POLICIES
