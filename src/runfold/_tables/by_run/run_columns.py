"""The columns of a table with one row a run: what each holds, and what it is called.

A column's full name is what it holds and of what: `last val/loss`, `hparam lr`,
`at 100 val/loss`. Hparams, last values, texts and images go by the second part
alone, in this order, unless an earlier column, or one of those that every run
has, is called so already, or the name itself begins like a full one.
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

# What is known of every run; the last is there when asked for.
FIXED = ("run", "status", "start", "duration", "steps", "points")
# How many values there are of each kind that has no column of its own. Last are the
# kinds that are in files of their own.
COUNTED = {
    kind.name: kind.plural
    for kind in sorted(KINDS.values(), key=lambda kind: not kind.is_in_event_files)
    if not kind.has_own_column
}
AT = "at"
SHORT = ("hparam", "last", "text", "image")
# A log may have a million tags: a table that people look at shows the first ones.
MOST_TAGS = 1000

_RESERVED = {*FIXED, *COUNTED.values()}
_AT = re.compile(r"at (-?[0-9]{1,19}) (.*)", re.DOTALL)
_FULL = tuple(f"{what} " for what in (*STATISTICS, *SHORT, AT))


@dataclass(frozen=True, slots=True)
class Column:
    """What a column holds: `what` is one of the names above, `name` a tag or an hparam."""

    what: str
    name: str = ""
    step: int | None = None

    @property
    def full(self) -> str:
        """A name that no other column has."""
        if self.what in _RESERVED:
            return self.what
        step = "" if self.step is None else f"{self.step} "
        return f"{self.what} {step}{self.name}"


@dataclass(frozen=True, slots=True)
class Known:
    """The names that there are: of hparams, and of tags that hold each kind."""

    hparams: Sequence[str]
    scalars: Sequence[str]
    texts: Sequence[str]
    images: Sequence[str]
    counted: Sequence[str]

    def every(self, most: int | None = None) -> list[Column]:
        """Everything that has a short name, and all that every run has; of tags the first."""
        return [
            *map(Column, FIXED),
            *(Column("hparam", name) for name in self.hparams),
            *(Column("last", tag) for tag in self.scalars[:most]),
            *(Column("text", tag) for tag in self.texts[:most]),
            *(Column("image", tag) for tag in self.images[:most]),
            *(Column(COUNTED[kind]) for kind in self.counted),
        ]


class Naming:
    """What the columns are called; stable, whichever of them are shown.

    `whole` gives the names of the whole logdir where the runs are some of it: of a
    column that only others have there is one without values, rather than an error.
    Tags after the first `most` of their kind go by their full names.
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
        """What a column is called."""
        return self._names.get(column) or column.full

    def find(self, wanted: Names, shown: Iterable[Column]) -> list[Column]:
        """The columns that are wanted, in that order, each once.

        A name, short or full, may be that of any column; a glob looks at those that
        are shown, or, behind a word such as `best`, at tags. Raises UnknownColumn.
        """
        by_name = {self.name(column): column for column in shown}
        found: dict[Column, None] = {}
        for want in [wanted] if isinstance(wanted, str) else wanted or ():
            if not isinstance(want, str):
                raise TypeError(f"A column is named by a str, not {escape(repr(want))}.")
            found |= dict.fromkeys(self._find(want, by_name))
        return list(found)

    def _find(self, want: str, shown: Mapping[str, Column]) -> list[Column]:
        column = shown.get(want) or self._columns.get(want)
        if column is not None:
            return [column]
        if columns := self._find_full(want):
            return columns
        if want in self._known.scalars:  # one after the first
            return [Column("last", want)]
        columns = [shown[name] for name in match_glob(list(shown), want)]
        if not columns and self._whole is not None:
            return self._find_elsewhere(want, self._whole())
        if not columns:
            hint = (
                did_you_mean(want, {**shown, **self._columns}) or f"There are {human_list(shown)}."
            )
            raise UnknownColumn(f"No column '{escape(want)}'. {hint}")
        return columns

    def _find_elsewhere(self, want: str, known: Known) -> list[Column]:
        whole = Naming(known)
        columns = whole._find(want, whole._columns)
        for column in columns:
            name = whole.name(column)
            self._names[column] = column.full if name in self._columns else name
        return columns

    def _find_full(self, want: str) -> list[Column]:
        what, _, name = want.partition(" ")
        step = None
        if at := _AT.fullmatch(want):
            step, name = int(at[1]), at[2]
        elif what == AT:
            return []
        known = {"hparam": self._known.hparams, "text": self._known.texts}
        known |= {"image": self._known.images, **dict.fromkeys(STATISTICS, self._known.scalars)}
        known[AT] = self._known.scalars
        names = known.get(what, ())
        if name in names:
            return [Column(what, name, step)]
        return [Column(what, one, step) for one in match_glob(names, name)]
