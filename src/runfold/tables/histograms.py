"""Histograms as a DataFrame, decoded many at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runfold.events.kinds.histogram import TOTALS, decode_many
from runfold.tables.rows import fetched, frame, row_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from runfold.logdir.log import RunLog
    from runfold.logdir.payloads import Payloads


def histogram_frame(selected: Iterable[tuple[RunLog, Payloads]]) -> pd.DataFrame:
    """One row a histogram: arrays of left and right edges and counts, and its totals."""
    stored = list(fetched(selected))
    histograms, errors = decode_many([data for _, data in stored])
    bad = dict(errors)
    for number, message in errors:
        stored[number][0].note(message)
    kept = [number for number in range(len(stored)) if number not in bad]
    rows = [row_of(stored[number][0], histograms[number]) for number in kept]
    return frame(
        rows,
        {
            **{name: [getattr(row.value, name) for row in rows] for name in ("left", "right")},
            "counts": [row.value.counts for row in rows],
            **{name: getattr(histograms, name)[kept] for name in TOTALS},
        },
    )
