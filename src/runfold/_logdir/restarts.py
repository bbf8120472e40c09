"""Restarted jobs: the points of a series that a policy hides.

A job that dies at step 180 and resumes from its checkpoint at step 100 logs steps 100
to 180 a second time. Readers disagree about how to handle this, so there are three
named policies:

`session`  uses the writer's own restart markers: a marker at step s hides earlier
           points of every tag with a step of s or more. (`purge_step` in torch and
           tensorboardX writes one.)
`step`     when the step of a series decreases to s, its earlier points with a step
           of s or more are hidden. Other series are not affected.
`keep`     hides nothing.

Equal steps in a row are not a restart: both points are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Policy = Literal["session", "step", "keep"]
POLICIES: tuple[str, ...] = get_args(Policy)


def visible(
    steps: NDArray[np.int64], markers: Sequence[tuple[int, int]], policy: str
) -> NDArray[np.bool_] | None:
    """Return which points of a series are shown, or None if all of them are.

    Args:
        steps: the steps of the series, in file order.
        markers: (points of the series before it, step) for each restart marker, in
            file order.
        policy: one of `POLICIES`.
    """
    if policy == "session":
        mask = _after_markers(steps, markers)
    elif policy == "step":
        mask = _newest_branch(steps)
    else:
        return None
    return None if mask.all() else mask


def _after_markers(
    steps: NDArray[np.int64], markers: Sequence[tuple[int, int]]
) -> NDArray[np.bool_]:
    if not markers:
        return np.ones(len(steps), np.bool_)
    befores, limits = np.array(markers, np.int64).T
    return _below_what_follows(steps, befores, limits)


def _newest_branch(steps: NDArray[np.int64]) -> NDArray[np.bool_]:
    falls = np.flatnonzero(steps[1:] < steps[:-1]) + 1
    return _below_what_follows(steps, falls, steps[falls])


def _below_what_follows(
    steps: NDArray[np.int64], befores: NDArray[np.int64], limits: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return which steps are below every limit that comes after them.

    The k-th limit comes after the first `befores[k]` steps; `befores` is ascending.
    """
    mask = np.ones(len(steps), np.bool_)
    # lowest[k] is the minimum of the k-th limit and all following ones.
    lowest = np.minimum.accumulate(limits[::-1])[::-1]
    following = np.searchsorted(befores, np.arange(len(steps)), side="right")
    has_limit = following < len(befores)
    mask[has_limit] = steps[has_limit] < lowest[following[has_limit]]
    return mask
