"""The command `runfold sql`."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from typing import TYPE_CHECKING, Any

from runfold._cli.logdir_option import find_logdirs
from runfold._cli.terminal import (
    Column,
    CommandError,
    no_runs,
    note,
    print_json,
    print_table,
    tell_problems,
    width,
)
from runfold._humanize import escape, human_bytes, human_count

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from runfold._cli.parser import Parser

USAGE = """\
runfold sql [options] [LOGDIR ...] QUERY
       runfold sql --tables"""

HELP = """\
Answer a query in SQL over the runs.

The tables are runs, scalars, hparams, text, images, histograms and problems;
the language is DuckDB's. Only the runs, tags and columns that the query needs
are read. It can reach nothing else: no file, no network, no setting. A window
shows the first rows, a pipe or file gets all of them.

Example:
  runfold sql demo-runs "select run, min(value) from scalars group by run"

Exit status: 0; 2 for a query that is wrong or came to a limit, a path that
leads nowhere, or an output that exists.
"""

_SHOWN = 100
_LONGEST_CELL = 200
# Columns of these names say what a row is about: their values are never cut.
_NAMES = ("run", "tag")
_LONGEST_NAME = 10_000
_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9}


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_argument(
        "words",
        nargs="*",
        metavar="LOGDIR QUERY",
        help="A logdir, a run, an event file or a glob, or several; then the query, '-' for stdin.",
    )
    parser.add_logdir()
    parser.add_argument(
        "--file",
        metavar="FILE",
        help="Read the query from a file; all arguments are logdirs then. Default: none.",
    )
    parser.add_argument(
        "--tables",
        "--schema",
        action="store_true",
        help="List the tables and their columns instead. Default: off.",
    )
    parser.add_argument("--csv", action="store_true", help="Print CSV, exactly. Default: off.")
    parser.add_json()
    parser.add_argument(
        "-o",
        "--output",
        action="append",
        default=[],
        metavar="FILE",
        help="Write the rows to a file instead, in the format of its suffix: {formats}."
        " Repeatable. Default: none.",
    )
    parser.add_argument(
        "-f", "--overwrite", action="store_true", help="Replace those files. Default: off."
    )
    parser.add_escape_formulas()
    parser.add_argument(
        "--limit-seconds",
        type=_seconds,
        metavar="S",
        help="Stop a query that takes longer. Default: none is stopped.",
    )
    parser.add_argument(
        "--limit-memory",
        type=_size,
        metavar="SIZE",
        help="Stop a query that takes more, such as 500MB. Default: most of the memory.",
    )
    parser.add_restarts()


def run(options: argparse.Namespace) -> int:
    """Print or write the rows."""
    if options.tables:
        _print_tables(options.json)
        return 0
    from runfold._atomic import check_file
    from runfold._export.table_file import check_path
    from runfold._pack.open_logdir import open_logdir
    from runfold._tables.sql.database import run_query
    from runfold._tables.sql.relations import Source

    if sum((options.csv, options.json, bool(options.output))) > 1:
        raise CommandError("Choose one of --csv, --json and -o.")
    for path in options.output:
        check_path(path)
        check_file(path, options.overwrite)
    paths, query = _read_query(options)
    logdir = open_logdir(*paths, restarts=options.restarts)
    if not logdir.logs:
        raise CommandError(no_runs(*paths))
    rows = run_query(
        Source.of(logdir),
        query,
        limit_seconds=options.limit_seconds,
        limit_memory=options.limit_memory,
    )
    _give(rows, options)
    # An answer may lack what was lost.
    read = [log for log in logdir.logs.values() if log.is_loaded]
    tell_problems(logdir, read, paths)
    return 0


def _read_query(options: argparse.Namespace) -> tuple[list[str], str]:
    """The logdirs and the query."""
    words = options.words
    if options.file is not None:
        with open(options.file, encoding="utf-8") as file:
            return find_logdirs(words, options), _decode(file.read, options.file)
    is_path = len(words) == 1 and not options.logdir and os.path.lexists(words[0])
    if not words or is_path:
        example = 'runfold sql runs/ "select * from runs"'
        raise CommandError(f"Give a logdir and a query, as in `{example}`.")
    *given, query = words
    paths = find_logdirs(given, options)
    return paths, _decode(sys.stdin.read, "stdin") if query == "-" else query


def _decode(read: Callable[[], str], name: str) -> str:
    try:
        return read()
    except UnicodeDecodeError:
        raise CommandError(f"{escape(name)}: a query is text in UTF-8, and this is not.") from None


def _give(rows: pa.Table, options: argparse.Namespace) -> None:
    from runfold._export.query_output import plain_rows, spell_csv, write_rows

    if options.output:
        for path in options.output:
            formulas = options.escape_formulas
            print(escape(write_rows(rows, path, options.overwrite, escape_formulas=formulas)))
        note(f"Wrote {human_count(rows.num_rows, 'row')}.")
    elif options.csv:
        sys.stdout.writelines(spell_csv(rows))
    elif options.json:
        print_json(plain_rows(rows))
    else:
        _print_rows(rows)


def _print_rows(rows: pa.Table) -> None:
    from runfold._export.query_output import list_values

    shown = rows if width() is None else rows.slice(0, _SHOWN)
    headings = [_column(field.name, str(field.type)) for field in rows.schema]
    cells = [
        [_cell(value, _LONGEST_NAME if column.is_name else _LONGEST_CELL) for value in values]
        for column, values in zip(headings, list_values(shown), strict=True)
    ]
    print_table(headings, [list(row) for row in zip(*cells, strict=True)])
    left = rows.num_rows - shown.num_rows
    if left:
        note(f"... and {human_count(left, 'more row')}; --csv prints all of them.")


def _column(name: str, kind: str) -> Column:
    if name in _NAMES:
        return Column(name, is_name=True)
    return Column(escape(name), is_number=_is_number(kind), may_shrink=True)


def _is_number(kind: str) -> bool:
    return kind.startswith(("int", "uint", "double", "float", "decimal"))


def _cell(value: Any, longest: int = _LONGEST_CELL) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        # A wall time is a large number whose last digits matter.
        return f"{value:.2f}" if 1e6 <= abs(value) < 1e15 else f"{value:.6g}"
    if isinstance(value, bytes):
        return human_bytes(len(value))
    if isinstance(value, list | dict):
        return escape(json.dumps(value, default=_cell, ensure_ascii=False), _LONGEST_CELL)
    return escape(str(value), longest)


def _print_tables(as_json: bool) -> None:
    from runfold._tables.sql.schema import TABLES

    if as_json:
        print_json(TABLES)
        return
    lines = [
        ["" if number else table, column, kind]
        for table, columns in TABLES.items()
        for number, (column, kind) in enumerate(columns.items())
    ]
    print_table([Column("table"), Column("column"), Column("type")], lines)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e9:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds")
    return seconds


def _size(text: str) -> int:
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([kmg]?b?)", text.strip().lower())
    if found is None or found[2] in ("k", "m", "g") or not float(found[1]):
        raise argparse.ArgumentTypeError(f"'{text}' is no size, such as 500MB")
    return int(float(found[1]) * _UNITS[found[2]])
