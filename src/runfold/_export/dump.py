"""Export of every kind of data from the given runs as tables."""

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
from runfold._export.scalar_rows import ScalarRows
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
    from runfold._logdir.point_cache import PointCache
    from runfold._logdir.run_log import RunLog
    from runfold._tables.frames.frame import Table

_PROBLEM = "problem"
# The name of each kind's file, sheet and `Runs` method. Problems come last, because
# decoding the other tables can find more of them.
TABLES = {**KIND_TABLES, _PROBLEM: "problems"}
_WITHOUT_TAGS = {_PROBLEM} | {
    name for kind in KINDS.values() if not kind.has_tags for name in (kind.name, *dict(kind.tables))
}

_HPARAM_TYPES = {"float": "float64", "str": "string", "NoneType": "null"}


class Tagged(Protocol):
    """An object with tags, such as a run."""

    @property
    def tags(self) -> dict[str, list[str]]:
        """The tags of each kind."""


class Source(Tagged, Protocol):
    """Runs with one method per kind, which returns the table of that kind."""

    def __iter__(self) -> Iterator[str]: ...
    def __getitem__(self, name: str) -> Tagged: ...
    def _logs(self, runs: Names) -> list[RunLog]: ...
    @property
    def _cache(self) -> PointCache | None: ...


@dataclass(slots=True)
class Export:
    """The result of an export: files, row counts by kind, and notes on data that was left out."""

    files: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Target:
    """The output of an export: a folder of files, a workbook of sheets, or a file of one kind."""

    path: str
    form: Format
    ending: str

    @classmethod
    def of(cls, path: StrPath, suffix: str | None = None) -> Target:
        """Return the target for a path; `suffix` is the format of files in a folder.

        Raises UnknownFormat for an unknown suffix, or if `suffix` is given for a file.
        """
        target = os.fspath(path)
        if target.endswith((os.sep, "/")) or os.path.isdir(target):
            ending = "." + (suffix or "parquet").lstrip(".")
            return cls(target, check_path("table" + ending), ending)
        if suffix:
            raise UnknownFormat(
                f"{escape(target)}: a format can be set only for a folder. If this is a folder,"
                " end its name with a slash; the suffix of a file determines the file's format."
            )
        return cls(target, check_path(target), "")

    @property
    def is_workbook(self) -> bool:
        """Whether all tables are sheets of one file."""
        return not self.ending and self.form.table_format.write_sheets is not None

    @property
    def has_one_kind(self) -> bool:
        """Whether the file can contain only one kind."""
        return not self.ending and not self.is_workbook

    def file_of(self, kind: str) -> str:
        """Return the file for a kind."""
        return os.path.join(self.path, TABLES[kind] + self.ending) if self.ending else self.path


def choose_kinds(kinds: Names, target: Target, default: str = SCALAR) -> list[str]:
    """Return the requested kinds. A kind can be specified by its name or its table's name.

    None means all kinds, or the default for a file of one kind. Raises RunfoldError for
    an unknown kind, and UnknownFormat for several kinds in a file of one kind.
    """
    if kinds is None:
        return [default] if target.has_one_kind else list(TABLES)
    by_table = {table: name for name, table in TABLES.items()}
    named = [kinds] if isinstance(kinds, str) else list(kinds)
    for name in named:
        if name not in TABLES and name not in by_table:
            raise RunfoldError(not_one_of("kind", name, list(TABLES)))
    chosen = {by_table.get(name, name) for name in named}
    if target.has_one_kind and len(chosen) > 1:
        raise UnknownFormat(
            f"{escape(target.path)}: a file of this format can contain only one kind of data. Use "
            f"a folder such as out/ for one file per kind, or a {_workbooks()} file for one sheet "
            "per kind."
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
    """Write the tables of runs to files, as `Runs.export` describes."""
    target = Target.of(path, suffix)
    # With a folder for pictures or clips, that kind is the default.
    default = "image" if images is not None else "audio" if audio is not None else SCALAR
    selected = choose_kinds(kinds, target, default)
    for file in {target.file_of(kind) for kind in selected}:
        check_file(file, overwrite)  # before anything is read
    with ExitStack() as stack:
        media = {
            MEDIA[name]: stack.enter_context(open_folder(folder, overwrite))
            for name, folder in (("images", images), ("audio", audio))
            if folder is not None
        }
        tables = _read(source, selected, tags, runs, is_chosen=kinds is not None)
        if not tables:
            raise RunfoldError(_nothing_to_write(_tags(source, runs), selected))
        done = _write(tables, target, media, Options(escape_formulas), overwrite)
    others = [kind for kind in _tags(source, runs) if kind not in selected]
    if UNKNOWN in others:
        others.remove(UNKNOWN)
        done.notes.append("Values from plugins that Runfold does not support were not written.")
    # With one folder for pictures or clips, only that kind was requested.
    is_implied = (images is None) != (audio is None)
    if kinds is None and others and not is_implied:
        done.notes.append(
            f"{escape(target.path)} contains only {TABLES[default]}; the runs also have "
            f"{', '.join(others)}. "
            f"Specify a kind, or use a folder such as out/ or a {_workbooks()} file for all kinds."
        )
    for folder in media.values():
        done.notes.append(f"{human_count(folder.count, 'file')} in {escape(folder.path)}")
    return done


def _read(
    source: Source, kinds: list[str], tags: Names, runs: Names, is_chosen: bool
) -> dict[str, Table | ScalarRows]:
    """Return the tables that have rows. Raises UnknownTag for a tag that no kind has."""
    patterns = None if tags is None else [tags] if isinstance(tags, str) else list(tags)
    matched: set[str] = set()
    tables: dict[str, Table | ScalarRows] = {}
    for kind in kinds:
        method = _method(source, kind)
        table: Table | ScalarRows | None = None
        if kind in _WITHOUT_TAGS:
            if patterns is None or is_chosen:
                table = _problems(source, runs) if kind == _PROBLEM else method(runs=runs)
        elif patterns is None:
            table = method(runs=runs)
        else:
            table, hits = _filter(method, patterns, runs)
            matched.update(hits)
        if table is not None and len(table):
            tables[kind] = table
    missed = [pattern for pattern in patterns or () if pattern not in matched]
    if missed and not all(kind in _WITHOUT_TAGS for kind in kinds):
        existing = _tags(source, runs)
        names = {name for kind in kinds for name in existing.get(kind, ())}
        select(sorted(names), missed)
        raise UnknownTag(f"No tag '{escape(missed[0])}' of these kinds: {', '.join(kinds)}.")
    return tables


def _method(source: Source, kind: str) -> Callable[..., Table | ScalarRows]:
    """Return the function that reads a kind; within a memory limit, scalars are read in parts."""
    if kind == SCALAR and source._cache is not None:
        return lambda tags=None, runs=None: ScalarRows(source._logs(runs), tags)
    method: Callable[..., Table] = getattr(source, TABLES[kind])
    return method


def _filter(
    method: Callable[..., Table | ScalarRows], patterns: list[str], runs: Names
) -> tuple[Table | ScalarRows | None, list[str]]:
    """Return a kind's table for the patterns that match its tags, and these patterns."""
    hits: dict[str, Table | ScalarRows] = {}
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
    tables: dict[str, Table | ScalarRows],
    target: Target,
    media: dict[type, MediaFolder],
    options: Options,
    overwrite: bool,
) -> Export:
    done = Export()
    sheets: dict[str, list[Column]] = {}
    write_sheets = target.form.table_format.write_sheets if target.is_workbook else None
    # The files appear together once all are written, so Ctrl-C leaves none of them.
    with ExitStack() as files:
        for kind, table in tables.items():
            file = target.file_of(kind)
            notes: list[str] = []
            if isinstance(table, ScalarRows):
                form = check_path(file)
                if not write_sheets and table.streams(form):
                    table.write(form, options, files.enter_context(replace_file(file, overwrite)))
                    done.files.append(file)
                    done.rows[kind] = len(table)
                    continue
                table = table.frame()
            content = _type_hparams(table) if kind == "hparams" else table
            for cells, folder in media.items():
                content, lost = folder.save(content, cells, os.path.dirname(os.path.abspath(file)))
                notes += lost
            arrow, lost = to_arrow(content)
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
    """Return hparams as text with a column of types: values can be bools, numbers or text."""
    values = table["value"].tolist()
    types = [type(value).__name__ for value in values]
    return table.assign(
        value=objects([None if value is None else spell(value) for value in values]),
        type=[_HPARAM_TYPES.get(name, name) for name in types],
    )


def _tags(source: Source, runs: Names) -> dict[str, list[str]]:
    """Return the tags of each kind in the given runs, without reading other runs."""
    if runs is None:
        return source.tags
    tags: dict[str, list[str]] = {}
    for name in select(list(source), runs, noun="run"):
        for kind, names in source[name].tags.items():
            tags.setdefault(kind, []).extend(names)
    return tags


def _nothing_to_write(tags: dict[str, list[str]], kinds: list[str]) -> str:
    existing = ", ".join(tags) or "no data"
    missing = ", ".join(TABLES[kind] for kind in kinds) if len(kinds) < len(TABLES) else "rows"
    return f"There are no {missing} to write; these runs have {existing}. Nothing was written."
