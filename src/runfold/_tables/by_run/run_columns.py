"""The columns of the table with one row per run, and their names.

A full name is a statistic or kind followed by a tag or hparam: `last val/loss`, `hparam lr`,
`at 100 val/loss`. Names of hparams, last values, text and images, in this order, are shortened to
the second part, unless an earlier column or a fixed column already has that name, or the second
part itself starts like a full name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runfold._events.kinds import KINDS
from runfold._humanize import did_you_mean, escape, human_list
from runfold._select import match_glob
from runfold._tables.by_run.column_statistics import STATISTICS
from runfold.errors import UnknownColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from runfold._select import Names

# The columns of every run; the last one is shown only on request.
FIXED = ("run", "status", "start", "duration", "steps", "points")
# Kinds whose values the table only counts. Kinds outside event files are last.
COUNTED = {
    kind.name: kind.plural
    for kind in sorted(KINDS.values(), key=lambda kind: not kind.is_in_event_files)
    if not kind.has_own_column
}
AT = "at"
SHORT = ("hparam", "last", "text", "image")
# A log can have a million tags; a table for people shows only this many.
MOST_TAGS = 1000
# transformers alone has more than a hundred settings, most of them equal in all runs.
MOST_HPARAMS = 40

_RESERVED = {*FIXED, *COUNTED.values()}
_AT = re.compile(r"at (-?[0-9]{1,19}) (.*)", re.DOTALL)
_FULL = tuple(f"{what} " for what in (*STATISTICS, *SHORT, AT))


@dataclass(frozen=True, slots=True)
class Column:
    """A column: `what` is one of the names above, and `name` is a tag or an hparam."""

    what: str
    name: str = ""
    step: int | None = None

    @property
    def full(self) -> str:
        """The unique name of the column."""
        if self.what in _RESERVED:
            return self.what
        step = "" if self.step is None else f"{self.step} "
        return f"{self.what} {step}{self.name}"


@dataclass(frozen=True, slots=True)
class Known:
    """The names of all hparams, and of the tags of each kind."""

    hparams: Sequence[str]
    scalars: Sequence[str]
    texts: Sequence[str]
    images: Sequence[str]
    counted: Sequence[str]

    def every(self, most: int | None = None) -> list[Column]:
        """Return the fixed columns and those with short names; up to `most` tags of each kind."""
        return [
            *map(Column, FIXED),
            *(Column("hparam", name) for name in self.hparams),
            *(Column("last", tag) for tag in self.scalars[:most]),
            *(Column("text", tag) for tag in self.texts[:most]),
            *(Column("image", tag) for tag in self.images[:most]),
            *(Column(COUNTED[kind]) for kind in self.counted),
        ]


class Naming:
    """The names of the columns, whether or not they are shown.

    For a selection of runs, `whole` returns the names in the whole logdir, so that a column
    that only other runs have is empty instead of an error. Tags after the first `most` of their
    kind have full names.
    """

    def __init__(
        self,
        known: Known,
        whole: Callable[[], Known] | None = None,
        most: int | None = None,
    ) -> None:
        self._known = known
        self._whole = whole
        self._columns: dict[str, Column] = {}
        self._names: dict[Column, str] = {}
        for column in known.every(most):
            name = column.name
            is_short = column.what in SHORT and name and name not in _RESERVED
            if not is_short or name in self._columns or name.startswith(_FULL):
                name = column.full
            self._columns[name] = column
            self._names[column] = name

    def name(self, column: Column) -> str:
        """Return the name of a column."""
        return self._names.get(column) or column.full

    def find(self, names: Names, shown: Iterable[Column]) -> list[Column]:
        """Return the distinct columns that match names or globs, in the order of the names.

        A short or full name matches any column. A glob matches shown columns or, after
        a word such as `best`, tags. Raises UnknownColumn.
        """
        by_name = {self.name(column): column for column in shown}
        found: dict[Column, None] = {}
        for name in [names] if isinstance(names, str) else names or ():
            if not isinstance(name, str):
                raise TypeError(f"Expected a column name (str), got {escape(repr(name))}.")
            found |= dict.fromkeys(self._find(name, by_name))
        return list(found)

    def _find(self, name: str, shown: Mapping[str, Column]) -> list[Column]:
        column = shown.get(name) or self._columns.get(name)
        if column is not None:
            return [column]
        if columns := self._find_full(name):
            return columns
        if name in self._known.scalars:  # a tag after the first `most`
            return [Column("last", name)]
        columns = [shown[match] for match in match_glob(list(shown), name)]
        if not columns and self._whole is not None:
            return self._find_elsewhere(name, self._whole())
        if not columns:
            hint = (
                did_you_mean(name, {**shown, **self._columns}) or f"Available: {human_list(shown)}."
            )
            raise UnknownColumn(f"No column '{escape(name)}'. {hint}")
        return columns

    def _find_elsewhere(self, text: str, known: Known) -> list[Column]:
        whole = Naming(known)
        columns = whole._find(text, whole._columns)
        for column in columns:
            name = whole.name(column)
            self._names[column] = column.full if name in self._columns else name
        return columns

    def _find_full(self, text: str) -> list[Column]:
        what, _, name = text.partition(" ")
        step = None
        if at := _AT.fullmatch(text):
            step, name = int(at[1]), at[2]
        elif what == AT:
            return []
        known = {"hparam": self._known.hparams, "text": self._known.texts}
        known |= {"image": self._known.images, **dict.fromkeys(STATISTICS, self._known.scalars)}
        known[AT] = self._known.scalars
        names = known.get(what, ())
        if name in names:
            return [Column(what, name, step)]
        return [Column(what, match, step) for match in match_glob(names, name)]
