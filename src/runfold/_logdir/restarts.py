"""What a restarted job left behind twice: which points of a series a policy hides.

A job that dies at step 180 and goes on from its checkpoint of step 100 logs
steps 100 to 180 a second time. Readers disagree about what to do then, so the
policy has a name:

`session`  the writer's own restart markers count: a marker at step s hides what
           came before it, of every tag, from step s on. (`purge_step` of torch
           and tensorboardX writes one.)
`step`     when the step of a series goes back to s, what the same series held
           from step s on is hidden. Other series are not touched.
`keep`     every point on disk.

Equal steps in a row are no restart: both points are kept.
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
    """Which points of a series are shown, or None if all of them are.

    Args:
        steps: of the series, in the order of the files.
        markers: (how many points of the series came before it, step) of each
            restart marker, in the order of the files.
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
    """Which of the steps are below every limit that comes after them.

    The k-th limit comes after the first `befores[k]` steps; these ascend.
    """
    mask = np.ones(len(steps), np.bool_)
    # lowest[k]: the lowest of the k-th limit and all after it.
    lowest = np.minimum.accumulate(limits[::-1])[::-1]
    following = np.searchsorted(befores, np.arange(len(steps)), side="right")
    has_limit = following < len(befores)
    mask[has_limit] = steps[has_limit] < lowest[following[has_limit]]
    return mask
