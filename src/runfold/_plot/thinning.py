"""Thinning of series to fewer points without a visible change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def thin(
    x: NDArray[np.float64], series: Sequence[NDArray[np.float64]], columns: int
) -> NDArray[np.intp]:
    """Return the points to draw so that a picture this many columns wide does not change.

    Each column keeps its first and last point, the lowest and highest point of each
    series, and one NaN if it has any, so that spikes and gaps remain visible. `x` must
    not decrease. All points are kept if there are at most four per column.
    """
    if len(x) <= 4 * columns:
        return np.arange(len(x))
    edges = np.searchsorted(x, np.linspace(x[0], x[-1], columns + 1)[1:-1])
    starts = np.unique(np.concatenate([[0], edges]))
    ends = np.append(starts[1:], len(x))
    kept = [starts, ends - 1]
    for values in series:
        is_gap = ~np.isfinite(values)
        low, high = (np.where(is_gap, blank, values) for blank in (np.inf, -np.inf))
        pairs = zip(starts.tolist(), ends.tolist(), strict=True)
        points = [
            (a + low[a:b].argmin(), a + high[a:b].argmax(), a + is_gap[a:b].argmax())
            for a, b in pairs
        ]
        kept.append(np.array(points).ravel())
    return np.unique(np.concatenate(kept))
