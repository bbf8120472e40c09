"""A fold as one tidy table, with one row per group, tag and x."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._export.long_columns import Joined, Repeated
from runfold._humanize import show_value

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runfold._reduce.folded import Folded

# Column names of x. Any other x is a tag, which keeps its name.
_X_NAMES = {"step": "step", "wall_time": "wall_time", "relative": "relative_time"}


def rows_of(folded: Folded) -> dict[str, list[Any] | NDArray[Any]]:
    """Return the columns of a fold, with one row per group, tag and x, in that order.

    The columns are the keys of the groups, such as `lr`; `tag`; x, which is called
    `step`, `wall_time`, `relative_time` or the name of its tag; `wall_time`; `runs`,
    the number of runs; and one column per statistic:

        lr   tag       step  wall_time     runs  mean  std
        0.1  val/loss     0  1700000000.0     5  0.75  0.05

    If a name is already in use, a key is called `<name>_key`, x `<name>_x` and a
    statistic `<name>_statistic`. Keys with values of several types become text. A key
    that a group lacks is None.
    """
    return {
        name: list(column) if isinstance(column, Repeated) else column[:]
        for name, column in join_rows(folded).items()
    }


def join_rows(folded: Folded) -> dict[str, NDArray[Any] | Joined | Repeated]:
    """Return the columns of `rows_of` without joining the curves, whose numbers stay in place."""
    taken = {"tag", "wall_time", "runs", _X_NAMES.get(folded.x, "tag")}
    statistics = [_claim(name, "_statistic", taken) for name in folded.statistics]
    x = _X_NAMES.get(folded.x) or _claim(folded.x, "_x", taken)
    keys = dict.fromkeys(name for group in folded.groups.values() for name in group.key)
    groups = [group for group in folded.groups.values() for _ in group.curves]
    curves = [curve for group in folded.groups.values() for curve in group.curves.values()]
    lengths = [len(curve) for curve in curves]

    columns: dict[str, NDArray[Any] | Joined | Repeated] = {
        _claim(name, "_key", taken): _spread([group.key.get(name) for group in groups], lengths)
        for name in keys
    }
    columns["tag"] = Repeated([curve.tag for curve in curves], lengths)
    # The empty arrays make empty columns if there are no curves, and do not change the dtype.
    columns[x] = Joined([np.empty(0, np.int64), *(curve.x for curve in curves)])
    if x != "wall_time":
        columns["wall_time"] = Joined([np.empty(0), *(curve.wall_times for curve in curves)])
    columns["runs"] = Joined([np.empty(0, np.int64), *(curve.counts for curve in curves)])
    for name, statistic in zip(statistics, folded.statistics, strict=True):
        columns[name] = Joined([np.empty(0), *(curve[statistic] for curve in curves)])
    return columns


def _claim(name: str, suffix: str, taken: set[str]) -> str:
    while name in taken:
        name += suffix
    taken.add(name)
    return name


def _spread(values: Iterable[Any], lengths: Sequence[int]) -> NDArray[Any] | Repeated:
    """Return a key's value for every row: an array of bools or numbers, otherwise `Repeated`."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    types = {type(value) for value in plain}
    if types and (types == {bool} or types <= {int, float}):
        return np.repeat(np.array(plain), lengths)
    present = types - {type(None)}
    if not (present in ({bool}, {str}) or present <= {int, float}):
        plain = [value if value is None else show_value(value) for value in plain]
    return Repeated(plain, lengths)
