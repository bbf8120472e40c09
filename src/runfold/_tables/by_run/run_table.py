"""The table with one row per run: its columns, their order, and the DataFrame."""

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

    Selection = bool | Names
    Steps = int | Iterable[int]
    Kind = Literal["scalars", "texts", "images"]

_STORY = (STORY_PREFIX, SYSTEM_PREFIX)


def tabulate(
    overview: Overview,
    statistics: Mapping[str, Selection],
    *,
    at: Steps | Mapping[str, Steps] | None = None,
    text: Selection = True,
    images: Selection = True,
    columns: Names = None,
    sort: Names = None,
    reverse: bool = False,
    most: int | None = None,
) -> dict[str, Cells]:
    """Return the columns of a table by name, with sorted rows.

    `statistics` maps each statistic to the selected tags. True selects all tags except
    those that tracked runs add themselves, or the first `most` of them. With `most`, the
    hparams are `overview.listed_hparams`. Raises UnknownTag and UnknownColumn, with similar
    names in the message.
    """
    naming = Naming(overview.known, lambda: overview.whole.known, most)
    shown = _arrange(overview, statistics, at, text, images, most)
    if columns is not None:
        columns = [columns] if isinstance(columns, str) else list(columns)
        found = naming.find(columns, shown)
        known = (column for column in found if _is_computable(overview, column, columns))
        shown = [Column("run"), *known]
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
    statistics: Mapping[str, Selection],
    at: Steps | Mapping[str, Steps] | None,
    text: Selection,
    images: Selection,
    most: int | None,
) -> list[Column]:
    """Return the columns selected by all arguments except `columns`."""
    shown = [Column(name) for name in FIXED[:-1]]
    hparams = overview.known.hparams if most is None else overview.listed_hparams
    shown += [Column("hparam", name) for name in hparams]
    for what, selection in statistics.items():
        tags = _choose(overview, "scalars", selection, most)
        if what == "best":
            tags = _with_direction(overview, tags, selection)
        for tag in tags:
            shown.append(Column(what, tag))
            if what == "best":
                shown.append(Column("best_step", tag))
    if at is not None:
        by_tag = at.items() if isinstance(at, Mapping) else [(True, at)]
        for selection, steps in by_tag:
            tags = _choose(overview, "scalars", selection, most)
            all_steps = steps if isinstance(steps, Iterable) else [steps]
            shown += [Column(AT, tag, operator.index(step)) for step in all_steps for tag in tags]
    shown += [Column("text", tag) for tag in _choose(overview, "texts", text, most)]
    shown += [Column("image", tag) for tag in _choose(overview, "images", images, most)]
    return shown + [Column(COUNTED[kind]) for kind in overview.known.counted]


def _choose(overview: Overview, kind: Kind, selection: Selection, most: int | None) -> list[str]:
    """Return the selected tags of a kind; names and globs also match tags of other runs."""
    if selection is None or selection is False:
        return []
    names = getattr(overview.known, kind)
    if selection is True:
        return [name for name in names if not name.startswith(_STORY)][:most]
    selection = [selection] if isinstance(selection, str) else list(selection)
    try:
        return select(names, selection)
    except UnknownTag:
        names = list(dict.fromkeys([*names, *getattr(overview.whole.known, kind)]))
        return select(names, selection, where=f"of kind {kind.removesuffix('s')}")


def _with_direction(overview: Overview, tags: list[str], selection: Selection) -> list[str]:
    """Return the tags given by name or with a known direction; all tags if there are none."""
    named = [selection] if isinstance(selection, str | bool | None) else list(selection)
    return [tag for tag in tags if tag in named or overview.knows_best(tag)] or tags


def _is_computable(overview: Overview, column: Column, names: Sequence[str]) -> bool:
    """Return False for a `best` column that matches only by glob and has no known direction."""
    is_best = column.what in ("best", "best_step")
    return not is_best or column.full in names or overview.knows_best(column.name)


def sort_rows(cells: Cells, rows: Iterable[int], reverse: bool = False) -> list[int]:
    """Return the rows sorted by a column: numbers, text in natural order, missing values last."""
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
    """Return a DataFrame of these columns, with `start` as a UTC time."""
    import pandas as pd

    from runfold._tables.frames.frame import Table

    made = {name: _typed(cells) for name, cells in columns.items()}
    if "start" in columns:
        made["start"] = _as_times(columns["start"])
    return Table(made, columns=pd.Index(list(made), dtype=object), copy=False)


def _typed(cells: Cells) -> Any:
    """Return a column in the narrowest type for its values: bool, int, float or object."""
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
    # pandas' string type is not used: it cannot store folder names that are not UTF-8.
    return pd.Series(objects(cells), dtype=object)


def _as_times(seconds: Cells) -> pd.Series:
    import pandas as pd

    within = np.abs(np.asarray(seconds, np.float64))
    known = np.where(within < _LAST_TIME, seconds, np.nan)
    whole = np.where(np.isnan(known), 0, known * 1000).round().astype(np.int64)
    times = whole.astype("datetime64[ms]")
    times[np.isnan(known)] = np.datetime64("NaT", "ms")
    return pd.Series(times).dt.tz_localize("UTC")


# The end of the year 9999, the latest time in Python. The times in a log can be any numbers.
_LAST_TIME = 253_402_300_799.0
