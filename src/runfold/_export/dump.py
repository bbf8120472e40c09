"""Every kind of data of some runs, written as tables to files."""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from runfold._atomic import StrPath, check_file, replace_file
from runfold._events.kinds import KINDS, SCALAR, UNKNOWN
from runfold._events.kinds import TABLES as KIND_TABLES
from runfold._export.flat_columns import flatten
from runfold._export.formats import workbook_formats
from runfold._export.media_files import MEDIA, open_folder
from runfold._export.table_file import Format, check_path, write_arrow_table
from runfold._export.table_format import Options
from runfold._humanize import escape, human_count, not_one_of
from runfold._select import Names, select
from runfold._tables.arrow.arrow_table import to_arrow
from runfold._tables.arrow.cell_forms import spell
from runfold._tables.frames.column_values import objects
from runfold.errors import RunfoldError, UnknownFormat, UnknownTag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runfold._export.cell_text import Column
    from runfold._export.media_files import MediaFolder
    from runfold._tables.frames.frame import Table

_PROBLEM = "problem"
# The name of each table in files, sheets and as a method of Runs. Problems come last:
# those of values that do not decode are found on the way.
TABLES = {**KIND_TABLES, _PROBLEM: "problems"}
_WITHOUT_TAGS = {_PROBLEM} | {
    name for kind in KINDS.values() if not kind.has_tags for name in (kind.name, *dict(kind.tables))
}

_HPARAM_TYPES = {"float": "float64", "str": "string", "NoneType": "null"}


class Tagged(Protocol):
    """What has tags, such as a run."""

    @property
    def tags(self) -> dict[str, list[str]]:
        """The tags of each kind."""


class Source(Tagged, Protocol):
    """What runs offer beside a method for the table of each kind."""

    def __iter__(self) -> Iterator[str]: ...
    def __getitem__(self, name: str) -> Tagged: ...


@dataclass(slots=True)
class Export:
    """What was written: files, how many rows of each kind, and what the format cannot hold."""

    files: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Target:
    """Where tables go: a folder of files, a workbook of sheets, or one file for one kind."""

    path: str
    form: Format
    ending: str

    @classmethod
    def of(cls, path: StrPath, suffix: str | None = None) -> Target:
        """What a path and the format of files in a folder say. Raises UnknownFormat."""
        target = os.fspath(path)
        if target.endswith((os.sep, "/")) or os.path.isdir(target):
            ending = "." + (suffix or "parquet").lstrip(".")
            return cls(target, check_path("table" + ending), ending)
        if suffix:
            raise UnknownFormat(
                f"{escape(target)}: the name of a file says its format; a format is given for a "
                "folder, whose name ends in a slash."
            )
        return cls(target, check_path(target), "")

    @property
    def is_workbook(self) -> bool:
        """Whether all tables are sheets of one file."""
        return not self.ending and self.form.table_format.write_sheets is not None

    @property
    def holds_one(self) -> bool:
        """Whether there is room for one kind only."""
        return not self.ending and not self.is_workbook

    def file_of(self, kind: str) -> str:
        """The file that a kind is written to."""
        return os.path.join(self.path, TABLES[kind] + self.ending) if self.ending else self.path


def choose_kinds(kinds: Names, target: Target, default: str = SCALAR) -> list[str]:
    """The kinds that are meant, by their names or those of their tables.

    Without a choice all, or the default where there is room for one. Raises
    RunfoldError for an unknown one, and UnknownFormat for several in one file.
    """
    if kinds is None:
        return [default] if target.holds_one else list(TABLES)
    by_table = {table: name for name, table in TABLES.items()}
    named = [kinds] if isinstance(kinds, str) else list(kinds)
    for name in named:
        if name not in TABLES and name not in by_table:
            raise RunfoldError(not_one_of("kind", name, list(TABLES)))
    chosen = {by_table.get(name, name) for name in named}
    if target.holds_one and len(chosen) > 1:
        raise UnknownFormat(
            f"{escape(target.path)}: a file of this format holds one kind. Give a folder, such as "
            f"out/, for a file a kind, or a name that ends in {_workbooks()} for a sheet a kind."
        )
    return [kind for kind in TABLES if kind in chosen]


def export(
    source: Source,
    path: StrPath,
    *,
    kinds: Names = None,
    tags: Names = None,
    runs: Names = None,
    images: StrPath | None = None,
    audio: StrPath | None = None,
    suffix: str | None = None,
    overwrite: bool = False,
    escape_formulas: bool = False,
) -> Export:
    """Write the tables of runs to files, by the rules that `Runs.export` tells."""
    target = Target.of(path, suffix)
    # Who says where pictures go wants pictures.
    default = "image" if images is not None else "audio" if audio is not None else SCALAR
    wanted = choose_kinds(kinds, target, default)
    for file in {target.file_of(kind) for kind in wanted}:
        check_file(file, overwrite)  # before anything is read
    with ExitStack() as stack:
        media = {
            MEDIA[name]: stack.enter_context(open_folder(folder, overwrite))
            for name, folder in (("images", images), ("audio", audio))
            if folder is not None
        }
        tables = _read(source, wanted, tags, runs, is_chosen=kinds is not None)
        if not tables:
            raise RunfoldError(_nothing(_tags(source, runs), wanted))
        done = _write(tables, target, media, Options(escape_formulas), overwrite)
    others = [kind for kind in _tags(source, runs) if kind not in wanted]
    if UNKNOWN in others:
        others.remove(UNKNOWN)
        done.notes.append("Values of plugins that Runfold does not know are not written.")
    if kinds is None and others:
        done.notes.append(
            f"Only {TABLES[default]} are in {escape(target.path)}; there are "
            f"{', '.join(others)} as well. "
            f"Name a kind, or give a folder, such as out/, or {_workbooks()} for all."
        )
    for folder in media.values():
        done.notes.append(f"{human_count(folder.count, 'file')} in {escape(folder.path)}")
    return done


def _read(
    source: Source, kinds: list[str], tags: Names, runs: Names, is_chosen: bool
) -> dict[str, Table]:
    """The tables that have rows. Raises UnknownTag for a tag that no kind has."""
    patterns = None if tags is None else [tags] if isinstance(tags, str) else list(tags)
    found: set[str] = set()
    tables: dict[str, Table] = {}
    for kind in kinds:
        method = getattr(source, TABLES[kind])
        table: Table | None = None
        if kind in _WITHOUT_TAGS:
            if patterns is None or is_chosen:
                table = _problems(source, runs) if kind == _PROBLEM else method(runs=runs)
        elif patterns is None:
            table = method(runs=runs)
        else:
            table, hits = _filter(method, patterns, runs)
            found.update(hits)
        if table is not None and len(table):
            tables[kind] = table
    missed = [one for one in patterns or () if one not in found]
    if missed and not all(kind in _WITHOUT_TAGS for kind in kinds):
        there = _tags(source, runs)
        names = {name for kind in kinds for name in there.get(kind, ())}
        select(sorted(names), missed)
        raise UnknownTag(f"No tag '{escape(missed[0])}' of these kinds: {', '.join(kinds)}.")
    return tables


def _filter(
    method: Callable[..., Table], patterns: list[str], runs: Names
) -> tuple[Table | None, list[str]]:
    """What some patterns give of a kind that may not have all of them."""
    hits: dict[str, Table] = {}
    for pattern in patterns:
        with suppress(UnknownTag):
            hits[pattern] = method(tags=pattern, runs=runs)
    if len(hits) > 1:
        return method(tags=list(hits), runs=runs), list(hits)
    return next(iter(hits.values()), None), list(hits)


def _problems(source: Any, runs: Names) -> Table:
    table: Table = source.problems()
    if runs is None:
        return table
    return table[table["run"].isin(select(list(source), runs, noun="run"))]


def _write(
    tables: dict[str, Table],
    target: Target,
    media: dict[type, MediaFolder],
    options: Options,
    overwrite: bool,
) -> Export:
    done = Export()
    sheets: dict[str, list[Column]] = {}
    write_sheets = target.form.table_format.write_sheets if target.is_workbook else None
    # They appear together when all are written: Ctrl-C leaves none of them.
    with ExitStack() as files:
        for kind, table in tables.items():
            file = target.file_of(kind)
            notes: list[str] = []
            told = _type_hparams(table) if kind == "hparams" else table
            for cells, folder in media.items():
                told, lost = folder.save(told, cells, os.path.dirname(os.path.abspath(file)))
                notes += lost
            arrow, lost = to_arrow(told)
            notes += lost
            if write_sheets:
                columns, lost = flatten(arrow)
                notes += [*lost, *target.form.table_format.note_losses(columns)]
                sheets[TABLES[kind]] = columns
            else:
                form = check_path(file)
                stream = files.enter_context(replace_file(file, overwrite))
                notes += write_arrow_table(arrow, form, options, stream)
                done.files.append(file)
            done.rows[kind] = len(table)
            done.notes += [f"{TABLES[kind]}: {note}" for note in notes]
    if write_sheets:
        with replace_file(target.path, overwrite) as workbook:
            write_sheets(sheets, options, workbook)
        done.files.append(target.path)
    return done


def _workbooks() -> str:
    return " or ".join(workbook_formats())


def _type_hparams(table: Table) -> Table:
    """Hparams as text, with the type of each: one column holds bools, numbers and text."""
    values = table["value"].tolist()
    types = [type(one).__name__ for one in values]
    return table.assign(
        value=objects([None if one is None else spell(one) for one in values]),
        type=[_HPARAM_TYPES.get(name, name) for name in types],
    )


def _tags(source: Source, runs: Names) -> dict[str, list[str]]:
    """The tags of each kind in some runs, without reading the others."""
    if runs is None:
        return source.tags
    tags: dict[str, list[str]] = {}
    for name in select(list(source), runs, noun="run"):
        for kind, found in source[name].tags.items():
            tags.setdefault(kind, []).extend(found)
    return tags


def _nothing(tags: dict[str, list[str]], kinds: list[str]) -> str:
    there = ", ".join(tags) or "nothing at all"
    asked = ", ".join(TABLES[kind] for kind in kinds) if len(kinds) < len(TABLES) else "rows"
    return f"There are no {asked} to write; these runs hold {there}. Nothing was written."
