"""The command `runfold sql`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from runfold._cli.engine_option import open_paths
from runfold._cli.logdir_option import find_logdirs
from runfold._cli.parser import size
from runfold._cli.terminal import (
    Column,
    CommandError,
    no_runs,
    note,
    note_problems,
    print_json,
    print_table,
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
Query runs with SQL.

The tables are runs, scalars, hparams, text, images, histograms and problems,
and the SQL dialect is DuckDB's. Only the runs, tags and columns that the query
needs are read. A query cannot access files or the network, or change settings.
A terminal shows the first rows; a pipe or file gets all rows.

Example:
  runfold sql demo-runs "select run, min(value) from scalars group by run"

Exit status: 0; 2 if the query is wrong or exceeds a limit, a path does not
exist, or the output already exists.
"""

_SHOWN = 100
_LONGEST_CELL = 200
# Values in these columns identify a row, so they are never cut.
_NAMES = ("run", "tag")
_LONGEST_NAME = 10_000


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_argument(
        "words",
        nargs="*",
        metavar="LOGDIR QUERY",
        help="Logdirs, runs, event files or globs; then the query, or '-' for stdin.",
    )
    parser.add_logdir()
    parser.add_argument(
        "--file",
        metavar="FILE",
        help="Read the query from a file; all positional"
        " arguments are then logdirs. Default: none.",
    )
    parser.add_argument(
        "--tables",
        "--schema",
        action="store_true",
        help="List the tables and their columns. Default: off.",
    )
    parser.add_argument(
        "--csv", action="store_true", help="Print all rows as CSV, unrounded. Default: off."
    )
    parser.add_json()
    parser.add_argument(
        "-o",
        "--output",
        action="append",
        default=[],
        metavar="FILE",
        help="Write the rows to a file instead (repeatable). Its suffix sets the format: {formats}."
        " Default: none.",
    )
    parser.add_overwrite()
    parser.add_escape_formulas()
    parser.add_argument(
        "--limit-seconds",
        type=_seconds,
        metavar="S",
        help="Cancel the query after this many seconds. Default: no limit.",
    )
    parser.add_argument(
        "--limit-memory",
        type=size,
        metavar="SIZE",
        help="Cancel the query if it needs more memory than this, such as 500MB. Default: most"
        " of the machine's memory.",
    )
    parser.add_restarts()
    parser.add_memory()
    parser.add_engine()


def run(options: argparse.Namespace) -> int:
    """Print or write the rows."""
    if options.tables:
        _print_tables(options.json)
        return 0
    from runfold._atomic import check_file
    from runfold._export.table_file import check_path
    from runfold._tables.sql.database import run_query
    from runfold._tables.sql.relations import Source

    if sum((options.csv, options.json, bool(options.output))) > 1:
        raise CommandError("Choose one of --csv, --json and -o.")
    for path in options.output:
        check_path(path)
        check_file(path, options.overwrite)
    paths, query = _read_query(options)
    logdir = open_paths(options, paths)
    if not logdir.logs:
        raise CommandError(no_runs(*paths))
    rows = run_query(
        Source.of(logdir),
        query,
        limit_seconds=options.limit_seconds,
        limit_memory=options.limit_memory,
    )
    _output(rows, options)
    # The result may be incomplete because of problems.
    read = [log for log in logdir.logs.values() if log.is_loaded]
    note_problems(logdir, read, paths)
    return 0


def _read_query(options: argparse.Namespace) -> tuple[list[str], str]:
    """Return the logdirs and the query."""
    words = options.words
    if options.file is not None:
        with open(options.file, encoding="utf-8") as file:
            return find_logdirs(words, options), _decode(file.read, options.file)
    is_path = len(words) == 1 and not options.logdir and os.path.lexists(words[0])
    if not words or is_path:
        example = 'runfold sql runs/ "select * from runs"'
        raise CommandError(f"Specify a logdir and a query, as in `{example}`.")
    *logdirs, query = words
    paths = find_logdirs(logdirs, options)
    return paths, _decode(sys.stdin.read, "stdin") if query == "-" else query


def _decode(read: Callable[[], str], name: str) -> str:
    try:
        return read()
    except UnicodeDecodeError:
        raise CommandError(f"{escape(name)}: the query is not valid UTF-8.") from None


def _output(rows: pa.Table, options: argparse.Namespace) -> None:
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
    hidden = rows.num_rows - shown.num_rows
    if hidden:
        note(f"... and {human_count(hidden, 'more row')}; --csv prints all rows.")


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
        raise argparse.ArgumentTypeError(f"expected a positive number of seconds, got '{text}'")
    return seconds
