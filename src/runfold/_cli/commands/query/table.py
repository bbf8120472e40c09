"""The command `runfold table`."""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from runfold._cli.column_fit import fit_columns
from runfold._cli.engine_option import open_paths
from runfold._cli.render import format_time
from runfold._cli.terminal import (
    Column,
    CommandError,
    fits_window,
    no_runs,
    note,
    note_problem_count,
    print_fitted,
    print_json,
    show_names,
    width,
)
from runfold._events.kinds.image import Image
from runfold._humanize import escape, human_count, human_duration, human_list
from runfold._tables.by_run.run_columns import COUNTED, FIXED, MOST_TAGS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runfold._cli.parser import Parser
    from runfold._runs import Runs
    from runfold._tables.by_run.overview import Cells

HELP = """\
Print one row per run: status, settings and results.

Columns for hparams, text, images and last values are named after the hparam or
tag. Other columns have a prefix: `best val/loss`, `best_step val/loss`, `min`,
`max`, `mean`, `auc`, `first`, `at 100 val/loss`. --columns and --sort accept a
prefix for any column; use `hparam lr` and `last lr` if an hparam and a tag have
the same name. Numbers are rounded to four significant digits, except in files
and with --csv, --markdown and --json. If the window is too narrow, the parts
that all run names share are removed, and columns that do not fit are left out.
Notes below the table report both.

Hparams include settings that a framework logged as text under a tag such as
`args`, or saved to a file such as `hparams.yaml` in the run's folder or a
folder above it. `runfold sql` shows the source of each setting. Set the
environment variable RUNFOLD_FIND_CONFIG to 0 to ignore such settings. If there
are more than 40 hparams, a table in a terminal shows only those that were
logged as hparams or differ between runs.

A condition can use hparams by name (optim.lr, or `my lr` in backquotes) and the
columns run, status, failed, start ('2026-01-31'), duration (seconds), steps
(the last step) and points. For tags, it can use last['val/loss'], first, best,
best_step, min, max, mean, auc, at['val/loss', 100], text['note'] and
has('val/loss'). Operators: < <= > >= == != and or not, in (1, 2), like 'glob*',
+ - * / // % **. A comparison with a value that the run does not have is false.

Example:
  runfold table demo-runs --where "lr > 0.01" --sort "best val/loss"

Exit status: 0, even if no run matches; 2 if a path, column, tag or condition is
wrong, or the output already exists.
"""

STATISTICS = {
    "best": "best value and step",
    "min": "smallest value",
    "max": "largest value",
    "mean": "mean value",
    "auc": "area under the curve",
    "first": "first value",
}
_FORMATS = {"csv": ".csv", "markdown": ".md"}
_LONGEST_CELL = 60
_LONG_TEXT = 20
_MINUTES = len("2026-01-31 12:00")


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_logdirs()
    parser.add_argument(
        "--columns",
        action="append",
        metavar="NAMES",
        help="Show only these columns after `run`, in this order: names and globs, separated by"
        " commas (repeatable). Default: all.",
    )
    parser.add_where()
    parser.add_argument(
        "--sort",
        action="append",
        metavar="NAMES",
        help="Columns to sort by, separated by commas; they need not be shown."
        " Default: by run name.",
    )
    parser.add_argument(
        "--reverse", action="store_true", help="Sort in descending order. Default: off."
    )
    parser.add_argument(
        "--last",
        action="append",
        metavar="TAG",
        help="Show the last value of these tags (name or glob; repeatable)."
        " Default: all except `system/` of tracked runs.",
    )
    for name, what in STATISTICS.items():
        parser.add_argument(
            f"--{name}",
            action="append",
            metavar="TAG",
            help=f"Also show the {what} of these tags; '*' for all. Default: none.",
        )
    parser.add_argument(
        "--at",
        action="append",
        type=int,
        metavar="STEP",
        help="Also show the last value of each tag up to this step. Default: none.",
    )
    parser.add_argument(
        "--better",
        choices=("higher", "lower"),
        metavar="DIRECTION",
        help="Which values are better: higher or lower. Default: guessed from the tag's name.",
    )
    _add_filters(parser)
    parser.add_argument(
        "--csv", action="store_true", help="Print all columns as CSV, unrounded. Default: off."
    )
    parser.add_argument("--markdown", action="store_true", help="Print Markdown. Default: off.")
    parser.add_json()
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="Write the table to a file instead of printing it; with --csv, --json or --markdown,"
        " also print it. The file's suffix sets its format: {formats}. Default: none.",
    )
    parser.add_overwrite()
    parser.add_escape_formulas()
    parser.add_restarts()
    parser.add_memory()
    parser.add_engine()


def _add_filters(parser: Parser) -> None:
    parser.add_argument(
        "--failed",
        action=argparse.BooleanOptionalAction,
        help="Only runs that failed or crashed; with --no-failed, only the others. Default: all.",
    )
    parser.add_argument(
        "--lacking",
        action="append",
        metavar="TAG",
        help="Only runs without this tag (repeatable). Default: all runs.",
    )
    parser.add_argument(
        "--shorter",
        type=int,
        metavar="STEPS",
        help="Only runs whose last step is below this. Default: all runs.",
    )
    parser.add_argument(
        "--newest",
        type=int,
        metavar="N",
        help="Only the N runs that started last. Default: all runs.",
    )
    for name, which in (("duplicates", "repeat"), ("no-duplicates", "do not repeat")):
        parser.add_argument(
            f"--{name}",
            choices=("hparams", "content"),
            metavar="WHAT",
            help=f"Only runs that {which} the 'hparams' or the whole 'content' of an earlier run."
            " Default: all runs.",
        )


def run(options: argparse.Namespace) -> int:
    """Print or write the table."""
    from runfold._runs import Runs
    from runfold._tables.by_run.kept_overview import open_overview
    from runfold._tables.by_run.kept_statistics import keep_overview
    from runfold._tables.by_run.run_table import tabulate

    if sum((options.csv, options.json, options.markdown)) > 1:
        raise CommandError("Choose one of --csv, --json and --markdown.")
    if options.output:
        from runfold._atomic import check_file
        from runfold._export.table_file import check_path

        check_path(options.output)  # reject a wrong name before reading
        check_file(options.output, options.overwrite)
    logdir = open_paths(options)
    if not logdir.logs:
        note(no_runs(*options.logdirs))
    chosen = list(_choose(Runs(logdir), options))
    overview = open_overview(logdir, chosen, options.better)
    is_whole = options.columns or options.csv or options.json or options.output
    most = None if is_whole else MOST_TAGS
    table = tabulate(
        overview,
        {
            "last": options.last or True,
            **{name: getattr(options, name) for name in STATISTICS},
        },
        at=options.at,
        columns=_split(options.columns),
        sort=_split(options.sort),
        reverse=options.reverse,
        most=most,
    )
    if len(chosen) == len(logdir.logs):
        keep_overview(logdir, overview)
    _show(table, options)
    count = len(overview.known.scalars)
    if most is not None and not options.last and count > most:
        note(
            f"There are {human_count(count, 'scalar tag')}; only the first {human_count(most)} are"
            " shown. Choose others with --last or --columns, or print all tags with --csv."
        )
    hidden = len(overview.known.hparams) - len(overview.listed_hparams)
    if most is not None and options.columns is None and hidden:
        note(
            f"{human_count(hidden, 'hparam')} with the same value in all runs"
            f" {'is' if hidden == 1 else 'are'} not shown. Choose columns with --columns, or print"
            " all hparams with --csv."
        )
    if options.output:
        _write(table, options)
    if len(chosen) < len(logdir.logs):
        note(f"{human_count(len(chosen), 'run')} of {human_count(len(logdir.logs))}.")
    note_problem_count(logdir, sum(overview.problems), options.logdirs)
    return 0


def _choose(runs: Runs, options: argparse.Namespace) -> Runs:
    """Return the runs that pass all filters. --newest applies after the others."""
    if options.where is not None:
        runs = runs.where(options.where, better=options.better)
    if options.failed is not None:
        runs = runs.failed() if options.failed else runs - runs.failed()
    if options.lacking:
        runs = runs.lacking(options.lacking)
    if options.shorter is not None:
        runs = runs.shorter(options.shorter)
    if options.duplicates:
        runs = runs.duplicates(options.duplicates)
    if options.no_duplicates:
        runs = runs - runs.duplicates(options.no_duplicates)
    return runs if options.newest is None else runs.newest(options.newest)


def _split(texts: list[str] | None) -> list[str] | None:
    return None if texts is None else [name.strip() for text in texts for name in text.split(",")]


def _show(table: Mapping[str, Cells], options: argparse.Namespace) -> None:
    if options.json:
        exact = [[_exact(name, cell) for cell in _list(cells)] for name, cells in table.items()]
        print_json([dict(zip(table, row, strict=True)) for row in zip(*exact, strict=True)])
        return
    for name, suffix in _FORMATS.items():
        if getattr(options, name):
            from runfold._export.table_file import spell_table

            for text in spell_table(_plain(table), suffix, options.escape_formulas):
                # On a terminal, control characters could move the cursor.
                sys.stdout.write(text if width() is None else _visible(text))
            if not options.output:
                _note_pictures(table)
            return
    if not options.output:
        _print(table, is_chosen=options.columns is not None)


def _write(table: Mapping[str, Cells], options: argparse.Namespace) -> None:
    from runfold._export.table_file import write_table

    if options.output.lower().endswith(".parquet"):
        from runfold._atomic import replace_file
        from runfold._tables.by_run.run_table import run_frame

        with (
            warnings.catch_warnings(record=True) as caught,
            replace_file(options.output, options.overwrite) as file,
        ):
            warnings.simplefilter("always")
            run_frame(table).to_parquet(file)
        for warning in caught:
            note(f"{warning.message}.")
    else:
        write_table(
            _plain(table),
            options.output,
            options.overwrite,
            escape_formulas=options.escape_formulas,
        )
        _note_pictures(table)
    shown = options.csv or options.json or options.markdown
    # With these options stdout is for a program, so the path goes to stderr.
    (note if shown else print)(escape(options.output))


def _note_pictures(table: Mapping[str, Cells]) -> None:
    """Note the columns that describe pictures instead of containing them."""
    names = [name for name, cells in table.items() if any(isinstance(c, Image) for c in cells)]
    if names:
        note(
            "Only a .parquet file can contain images; these columns describe them:"
            f" {human_list(names)}."
        )


def _print(table: Mapping[str, Cells], is_chosen: bool) -> None:
    """Print the columns that fit the window, results first, and note the others."""
    headings = show_names(table)
    columns = [_column(name, headings[name], cells) for name, cells in table.items()]
    shown = [
        list(map(show_names(cells).__getitem__, cells))
        if name == "run"
        else [_show_cell(name, cell) for cell in _list(cells)]
        for name, cells in table.items()
    ]
    rows = list(zip(*shown, strict=True))
    limit = width()
    if limit is None or fits_window(columns, rows):
        print_fitted(columns, rows, "")
        return
    ranks = [0 if is_chosen else _rank(name, cells) for name, cells in table.items()]
    fitting = fit_columns(columns, rows, ranks, limit)
    print_fitted(list(fitting.columns.values()), fitting.rows, fitting.folder)
    left_out = [name for number, name in enumerate(table) if number not in fitting.columns]
    if left_out:
        note(
            f"Columns that do not fit: {human_list(left_out, 12)}."
            " Choose columns with --columns, or print all columns with --csv."
        )


def _column(name: str, heading: str, cells: Cells) -> Column:
    if name == "run":
        return Column(heading, is_name=True)
    is_number = name in ("start", "duration") or all(
        isinstance(cell, int | float | None) for cell in cells
    )
    return Column(heading, is_number, may_shrink=not is_number)


def _rank(name: str, cells: Cells) -> int:
    """Return how early to drop a column: long text, pictures and counts first, statistics last."""
    is_long = any(isinstance(cell, str) and len(cell) > _LONG_TEXT for cell in cells)
    if name in COUNTED.values() or is_long or any(isinstance(cell, Image) for cell in cells):
        return 4
    if name in FIXED:
        return 1 if name == "status" else 3 if name in ("start", "duration") else 2
    return 0 if name.partition(" ")[0] in (*STATISTICS, "best_step", "at") else 1


def _list(cells: Cells) -> list[Any]:
    return cells if isinstance(cells, list) else cells.tolist()


def _show_cell(name: str, cell: Any) -> str:
    """Return a value as a short string on one line."""
    if cell is None or (name in ("start", "duration") and math.isnan(cell)):
        return "-"
    if name == "start":
        return format_time(cell)[:_MINUTES]
    if name == "duration":
        return human_duration(cell)
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return f"{cell:.4g}"
    if isinstance(cell, Image):
        return f"{cell.width}x{cell.height}"
    return escape(str(cell), _LONGEST_CELL)


def _exact(name: str, cell: Any) -> Any:
    """Return a value for a program: a time in ISO format, a picture as its size."""
    if isinstance(cell, Image):
        return {"width": cell.width, "height": cell.height}
    if name == "duration":
        return None if math.isnan(cell) else cell
    if name == "start":
        try:
            return datetime.fromtimestamp(cell, UTC).isoformat()
        except (ValueError, OverflowError, OSError):
            return None
    return cell


def _visible(text: str) -> str:
    return "\n".join(escape(line, 10 * max(len(line), 1)) for line in text.split("\n"))


def _plain(table: Mapping[str, Cells]) -> dict[str, list[Any]]:
    """Return the table for a format that cannot contain pictures."""
    return {
        name: [
            repr(cell) if isinstance(cell, Image) else _exact(name, cell) for cell in _list(cells)
        ]
        for name, cells in table.items()
    }
