"""The output of commands: tables that fit the window, JSON, and notes on stderr."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import shlex
import shutil
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any

from runfold._humanize import cell_width, escape, human_count, shorten, wrap
from runfold._labels import label_names
from runfold._storage.url import mask_url, show_url
from runfold._streams import flush_output
from runfold.errors import RunfoldError

if TYPE_CHECKING:
    from runfold._logdir.loader import Logdir
    from runfold._logdir.run_log import RunLog

_NARROWEST = 8
# Shared parts of names are removed, down to this width, before other columns are dropped.
NARROWEST_NAME = 24
_WIDEST_PLOT = 100
# Entries of a JSON list that are encoded at a time.
_JSON_ENTRIES = 1024


class CommandError(RunfoldError):
    """Raised for a request that a command cannot fulfill. The message is shown to the user."""


def note(text: str) -> None:
    """Print a note on stderr; drop it if it cannot be written, as on a full disk."""
    flush_output()  # keeps stdout and stderr in order on a terminal
    try:
        print(text, file=sys.stderr, flush=True)
    except BrokenPipeError:
        raise
    except OSError:
        pass


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Print warnings as notes, without the source line that Python adds."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: note(str(message))
        yield


def no_runs(*paths: str) -> str:
    """Return the message for paths without runs."""
    shown = ", ".join(f"'{show_url(path)}'" for path in paths)
    return f"No runs in {shown}: no file there has 'tfevents' in its name."


def note_problems(logdir: Logdir, logs: Iterable[RunLog], paths: Sequence[str]) -> None:
    """Note how many problems a logdir and the given logs have, if any, and how to list them."""
    note_problem_count(logdir, sum(len(log.list_problems()) for log in logs), paths)


def note_problem_count(logdir: Logdir, count: int, paths: Sequence[str]) -> None:
    """Note how many problems there are in addition to those of a logdir's folders."""
    if count := len(logdir.problems) + count:
        arguments = as_typed(*paths)
        verb = "lists it" if count == 1 else "lists them"
        note(f"Found {human_count(count, 'problem')}. `runfold check {arguments}` {verb}.")


def as_typed(*words: str) -> str:
    """Return words as you would type them in a shell, with passwords in URLs masked."""
    return " ".join(escape(_quote(mask_url(word)), 4096) for word in words)


def _quote(word: str) -> str:
    is_plain = not set(word) & set('"$`\\!')
    return f'"{word}"' if "'" in word and is_plain else shlex.quote(word)


def show_tag(tag: str) -> str:
    """Return a tag on one line, or two quotes for an empty tag."""
    return escape(tag, 10_000) or '""'


def show_names(names: Iterable[str]) -> dict[str, str]:
    """Return each name in full, on one line, and distinct from all others."""
    return label_names(names, None).shown


def width() -> int | None:
    """Return the window's width in columns, or None if output goes to a file or pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def plot_width() -> int:
    """Return the width of a drawing in columns."""
    return min(width() or 80, _WIDEST_PLOT)


def has_color() -> bool:
    """Return whether to print color escape sequences on stdout."""
    return (
        sys.stdout.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM", "dumb") != "dumb"
    )


def has_true_color() -> bool:
    """Return whether the terminal claims to support 24-bit colors."""
    return os.environ.get("COLORTERM") in ("truecolor", "24bit")


def can_show(text: str) -> bool:
    """Return whether stdout's encoding includes these characters."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def print_json(value: object) -> None:
    """Print a value as one line of strict JSON: no NaN, exact integers.

    A list is encoded entry by entry, so that Ctrl-C can interrupt a command that prints
    millions of rows.
    """
    encode = json.JSONEncoder(allow_nan=False).encode
    if isinstance(value, list) and value:
        sys.stdout.write("[" + encode(_plain(value[0])))
        sys.stdout.writelines(", " + encode(_plain(entry)) for entry in islice(value, 1, None))
        sys.stdout.write("]\n")
    else:
        print(encode(_plain(value)))


def print_json_list(fields: Mapping[str, object], name: str, entries: Iterable[object]) -> None:
    """Print a JSON object like `print_json`, with a list as its last field.

    The list is encoded in parts, because millions of entries would take gigabytes.
    """
    encode = json.JSONEncoder(allow_nan=False).encode
    rest = iter(entries)
    sys.stdout.write(f"{encode(_plain(fields))[:-1]}, {encode(name)}: [")
    separator = ""
    while part := list(islice(rest, _JSON_ENTRIES)):
        sys.stdout.write(separator + encode(_plain(part))[1:-1])
        separator = ", "
    sys.stdout.write("]}\n")


def _plain(value: Any) -> Any:
    """Return a value that JSON can represent, with NaN and infinity as null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # asdict() would copy every array first.
        names = [field.name for field in dataclasses.fields(value)]
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, complex):
        return [_plain(value.real), _plain(value.imag)]
    if hasattr(value, "tolist"):  # NumPy arrays and scalars
        return _plain(value.tolist())
    if isinstance(value, Sequence):
        return [_plain(entry) for entry in value]
    return str(value)


@dataclasses.dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    If a column may shrink, its long cells are shortened in the middle. Names stay distinct: they
    lose only the parts that all names share, and wrap if that is not enough.
    """

    heading: str
    is_number: bool = False
    may_shrink: bool = False
    is_name: bool = False


def print_table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    """Print a table that fits the window, or in full if there is no window."""
    limit = width()
    if limit is not None and not fits_window(columns, rows):
        rows, folder = fit_names(columns, rows, limit)
    else:
        folder = ""
    print_fitted(columns, rows, folder)


def print_fitted(columns: Sequence[Column], rows: Sequence[Sequence[str]], folder: str) -> None:
    """Print a table with shortened names, and note the folder that was removed from them."""
    lines = format_table(columns, rows, width())
    if has_color():
        lines[0] = f"\x1b[1m{lines[0]}\x1b[0m"
    sys.stdout.writelines(f"{line}\n" for line in lines)
    if folder:
        heading = next(column.heading for column in columns if column.is_name)
        note(f"Names in column '{heading}' are relative to {folder}")


def fits_window(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a table fits the window with every cell in full."""
    limit = width()
    if limit is None:
        return True
    return max(map(cell_width, format_table(columns, rows))) <= limit


def fit_names(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], limit: int
) -> tuple[list[list[str]], str]:
    """Return rows with names shortened to fit the window, and the folder removed from them.

    The common folder is removed only from the first column of names.
    """
    cells = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in columns]
    widths = [
        max(map(cell_width, (column.heading, *texts)))
        for column, texts in zip(columns, cells, strict=True)
    ]
    excess = sum(widths) + 2 * (len(widths) - 1) - limit
    first, folder = True, ""
    for number, column in enumerate(columns):
        if not column.is_name:
            continue
        target = max(widths[number] - max(excess, 0), NARROWEST_NAME)
        labels = label_names(cells[number], target, drop_folder=first)
        cells[number] = [labels.shown[name] for name in cells[number]]
        excess -= widths[number] - max(labels.width, cell_width(column.heading))
        folder, first = (labels.folder if first else folder), False
    return [list(row) for row in zip(*cells, strict=True)], folder


def format_table(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], limit: int | None = None
) -> list[str]:
    """Return the lines of a table: headings first, text left-aligned, numbers right-aligned."""
    cells = [[column.heading for column in columns], *rows]
    widths = [max(cell_width(row[number]) for row in cells) for number in range(len(columns))]
    if limit is not None:
        _shrink(columns, widths, limit)
    return [line for row in cells for line in _format_row(columns, row, widths)]


def _format_row(
    columns: Sequence[Column], row: Sequence[str], widths: Sequence[int]
) -> Iterator[str]:
    """Yield the lines of a row: one, or more if a name is wider than its column."""
    parts = [
        wrap(cell, size) if column.is_name else [shorten(cell, size)]
        for cell, size, column in zip(row, widths, columns, strict=True)
    ]
    for line in zip_longest(*parts, fillvalue=""):
        yield "  ".join(
            _pad(part, size, column.is_number)
            for part, size, column in zip(line, widths, columns, strict=True)
        ).rstrip()


def _shrink(columns: Sequence[Column], widths: list[int], limit: int) -> None:
    """Narrow the widest columns that may shrink until the table fits, if possible.

    Names are narrowed last, because they wrap.
    """
    texts = [n for n, column in enumerate(columns) if column.may_shrink and not column.is_name]
    names = [n for n, column in enumerate(columns) if column.is_name]
    excess = sum(widths) + 2 * (len(widths) - 1) - limit
    for shrinkable in (texts, names):
        while excess > 0 and shrinkable:
            widest = max(shrinkable, key=lambda number: widths[number])
            if widths[widest] <= _NARROWEST:
                break
            widths[widest] -= 1
            excess -= 1


def _pad(cell: str, size: int, is_number: bool) -> str:
    padding = " " * (size - cell_width(cell))
    return padding + cell if is_number else cell + padding
