"""One row a run: which columns, in which order, and the DataFrame of them."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from runfold._conventions import STORY_PREFIX, SYSTEM_PREFIX
from runfold._humanize import natural_key
from runfold._select import Names, select
from runfold._tables.by_run.run_columns import AT, COUNTED, FIXED, Column, Naming
from runfold.errors import UnknownTag

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from runfold._tables.by_run.overview import Cells, Overview
    from runfold._tables.frames.frame import Table

    Wanted = bool | Names
    Steps = int | Iterable[int]
    Kind = Literal["scalars", "texts", "images"]

_STORY = (STORY_PREFIX, SYSTEM_PREFIX)


def tabulate(
    overview: Overview,
    statistics: Mapping[str, Wanted],
    *,
    at: Steps | Mapping[str, Steps] | None = None,
    text: Wanted = True,
    images: Wanted = True,
    columns: Names = None,
    sort: Names = None,
    reverse: bool = False,
    most: int | None = None,
) -> dict[str, Cells]:
    """The columns of a table by their names, the rows sorted as asked.

    `statistics` says for each which tags are wanted: True for all but what a tracked
    run tells of itself, or for the first `most` of them. Raises UnknownTag and
    UnknownColumn with the near ones.
    """
    naming = Naming(overview.known, lambda: overview.whole.known, most)
    shown = _arrange(overview, statistics, at, text, images, most)
    if columns is not None:
        columns = [columns] if isinstance(columns, str) else list(columns)
        found = naming.find(columns, shown)
        shown = [Column("run"), *(one for one in found if _is_told(overview, one, columns))]
    shown = list(dict.fromkeys(shown))
    made = {column: overview.cells(column) for column in shown}
    order = None
    for column in reversed(naming.find(sort, shown)):
        cells = made[column] if column in made else overview.cells(column)
        order = sort_rows(cells, range(len(overview)) if order is None else order, reverse)
    return {
        naming.name(column): cells if order is None else _take(cells, order)
        for column, cells in made.items()
    }


def _arrange(
    overview: Overview,
    statistics: Mapping[str, Wanted],
    at: Steps | Mapping[str, Steps] | None,
    text: Wanted,
    images: Wanted,
    most: int | None,
) -> list[Column]:
    """Every column that is asked for, but by its name."""
    shown = [Column(name) for name in FIXED[:-1]]
    shown += [Column("hparam", name) for name in overview.known.hparams]
    for what, wanted in statistics.items():
        tags = _choose(overview, "scalars", wanted, most)
        if what == "best":
            tags = _with_direction(overview, tags, wanted)
        for tag in tags:
            shown.append(Column(what, tag))
            if what == "best":
                shown.append(Column("best_step", tag))
    if at is not None:
        by_tag = at.items() if isinstance(at, Mapping) else [(True, at)]
        for wanted, steps in by_tag:
            tags = _choose(overview, "scalars", wanted, most)
            every = steps if isinstance(steps, Iterable) else [steps]
            shown += [Column(AT, tag, operator.index(step)) for step in every for tag in tags]
    shown += [Column("text", tag) for tag in _choose(overview, "texts", text, most)]
    shown += [Column("image", tag) for tag in _choose(overview, "images", images, most)]
    return shown + [Column(COUNTED[kind]) for kind in overview.known.counted]


def _choose(overview: Overview, kind: Kind, wanted: Wanted, most: int | None) -> list[str]:
    """The tags of a kind that are wanted; by name or glob also those that only other runs have."""
    if wanted is None or wanted is False:
        return []
    names = getattr(overview.known, kind)
    if wanted is True:
        return [name for name in names if not name.startswith(_STORY)][:most]
    wanted = [wanted] if isinstance(wanted, str) else list(wanted)
    try:
        return select(names, wanted)
    except UnknownTag:
        names = list(dict.fromkeys([*names, *getattr(overview.whole.known, kind)]))
        return select(names, wanted, where=f"of kind {kind.removesuffix('s')}")


def _with_direction(overview: Overview, tags: list[str], wanted: Wanted) -> list[str]:
    """The tags whose best can be told; those that were named stay, for an error that says so."""
    named = [wanted] if isinstance(wanted, str | bool | None) else list(wanted)
    return [tag for tag in tags if tag in named or overview.knows_best(tag)] or tags


def _is_told(overview: Overview, column: Column, wanted: Sequence[str]) -> bool:
    """Whether a column can be made; as with `best=`, a glob passes over tags of no direction."""
    is_best = column.what in ("best", "best_step")
    return not is_best or column.full in wanted or overview.knows_best(column.name)


def sort_rows(cells: Cells, rows: Iterable[int], reverse: bool = False) -> list[int]:
    """The rows by a column: numbers, then text as people count, and always last what is missing."""
    values = cells if isinstance(cells, list) else cells.tolist()
    missing: list[int] = []
    known: list[int] = []
    for row in rows:
        is_missing = values[row] is None or values[row] != values[row]
        (missing if is_missing else known).append(row)
    known.sort(key=lambda row: _rank(values[row]), reverse=reverse)
    return known + missing


def _rank(value: Any) -> tuple[bool, Any]:
    is_text = not isinstance(value, int | float)
    return is_text, natural_key(str(value)) if is_text else value


def _take(cells: Cells, order: list[int]) -> Cells:
    return [cells[row] for row in order] if isinstance(cells, list) else cells[order]


def run_frame(columns: Mapping[str, Cells]) -> Table:
    """The DataFrame of such columns; `start` is a time in UTC, `duration` seconds."""
    import pandas as pd

    from runfold._tables.frames.frame import Table

    made = {name: _typed(cells) for name, cells in columns.items()}
    if "start" in columns:
        made["start"] = _as_times(columns["start"])
    return Table(made, columns=pd.Index(list(made), dtype=object), copy=False)


def _typed(cells: Cells) -> Any:
    """A column of the narrowest type that holds its values: bool, int, float or objects."""
    import pandas as pd

    from runfold._tables.frames.column_values import objects

    if not isinstance(cells, list):
        return cells
    types = set(map(type, cells))
    if types == {bool}:
        return np.array(cells, np.bool_)
    if types and types <= {int, type(None)} and types != {type(None)}:
        try:
            return np.array(cells, np.int64) if types == {int} else pd.array(cells, dtype="Int64")
        except OverflowError:
            return pd.Series(objects(cells), dtype=object)
    if types and types <= {int, float, type(None)}:
        return np.array(cells, np.float64)
    # Not of pandas' own text, which cannot hold the name of a folder that is no UTF-8.
    return pd.Series(objects(cells), dtype=object)


def _as_times(seconds: Cells) -> pd.Series:
    import pandas as pd

    within = np.abs(np.asarray(seconds, np.float64))
    known = np.where(within < _LAST_TIME, seconds, np.nan)
    whole = np.where(np.isnan(known), 0, known * 1000).round().astype(np.int64)
    times = whole.astype("datetime64[ms]")
    times[np.isnan(known)] = np.datetime64("NaT", "ms")
    return pd.Series(times).dt.tz_localize("UTC")


# The year 9999: a log may hold any number, and Python knows no time behind it.
_LAST_TIME = 253_402_300_799.0
