"""What commands print: tables that fit the window, JSON, and notes on stderr."""

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
# Parts that all names have in common are shortened down to this width before other columns go.
NARROWEST_NAME = 24
_WIDEST_PLOT = 100


class CommandError(RunfoldError):
    """A wish that a command cannot fulfil; the message is for the user."""


def note(text: str) -> None:
    """Print a note on stderr; one that cannot be written, as on a full disk, is dropped."""
    flush_output()  # what was printed before comes first where both are one terminal
    try:
        print(text, file=sys.stderr, flush=True)
    except BrokenPipeError:
        raise
    except OSError:
        pass


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Say what is warned of, such as that a folder is taken, without a line of our code."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: note(str(message))
        yield


def no_runs(*paths: str) -> str:
    """What to say of paths without any run."""
    places = ", ".join(f"'{show_url(path)}'" for path in paths)
    return f"No runs in {places}: no file there has 'tfevents' in its name."


def tell_problems(logdir: Logdir, logs: Iterable[RunLog], paths: Sequence[str]) -> None:
    """Note that a logdir or what was read of it has problems, if so, and how to see them."""
    if count := len(logdir.problems) + sum(len(log.list_problems()) for log in logs):
        given = as_typed(*paths)
        verb = "lists it" if count == 1 else "lists them"
        note(f"{human_count(count, 'problem')}: `runfold check {given}` {verb}.")


def as_typed(*words: str) -> str:
    """Words as one would type them in a shell, without the password of a URL."""
    return " ".join(escape(_quote(mask_url(word)), 4096) for word in words)


def _quote(word: str) -> str:
    is_plain = not set(word) & set('"$`\\!')
    return f'"{word}"' if "'" in word and is_plain else shlex.quote(word)


def show_tag(tag: str) -> str:
    """Return a tag on one line; an empty one as it is typed in a shell."""
    return escape(tag, 10_000) or '""'


def show_names(names: Iterable[str]) -> dict[str, str]:
    """Return each name whole, on one line, and distinct from all others."""
    return label_names(names, None).shown


def width() -> int | None:
    """The columns of the window, or None where output goes to a file or a pipe."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def plot_width() -> int:
    """The columns that a drawing may take."""
    return min(width() or 80, _WIDEST_PLOT)


def has_colour() -> bool:
    """Whether escape sequences for colours are welcome on stdout."""
    return (
        sys.stdout.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM", "dumb") != "dumb"
    )


def has_true_colour() -> bool:
    """Whether the terminal says that it has 24-bit colours."""
    return os.environ.get("COLORTERM") in ("truecolor", "24bit")


def can_show(text: str) -> bool:
    """Whether stdout's encoding has these characters."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def print_json(value: object) -> None:
    """Print a value as one line of strict JSON: no NaN, integers exact.

    A list is encoded entry by entry, so that Ctrl-C also ends a command that prints
    millions of rows.
    """
    encode = json.JSONEncoder(allow_nan=False).encode
    if isinstance(value, list) and value:
        sys.stdout.write("[" + encode(_plain(value[0])))
        sys.stdout.writelines(", " + encode(_plain(entry)) for entry in islice(value, 1, None))
        sys.stdout.write("]\n")
    else:
        print(encode(_plain(value)))


def _plain(value: Any) -> Any:
    """A value in the words of JSON; NaN and infinity are null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # Not asdict(), which copies every array first.
        names = [field.name for field in dataclasses.fields(value)]
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, complex):
        return [_plain(value.real), _plain(value.imag)]
    if hasattr(value, "tolist"):  # arrays and scalars of NumPy
        return _plain(value.tolist())
    if isinstance(value, Sequence):
        return [_plain(entry) for entry in value]
    return str(value)


@dataclasses.dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Long cells of a column that may shrink lose their middle. Cells of a column of
    names stay distinct: they lose only what all have in common, and otherwise wrap.
    """

    heading: str
    is_number: bool = False
    may_shrink: bool = False
    is_name: bool = False


def print_table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    """Print a table that fits the window; in full where there is none."""
    limit = width()
    if limit is not None and not fits_window(columns, rows):
        rows, folder = fit_names(columns, rows, limit)
    else:
        folder = ""
    print_fitted(columns, rows, folder)


def print_fitted(columns: Sequence[Column], rows: Sequence[Sequence[str]], folder: str) -> None:
    """Print a table whose names were shortened, and note the folder that they went without."""
    lines = format_table(columns, rows, width())
    if has_colour():
        lines[0] = f"\x1b[1m{lines[0]}\x1b[0m"
    sys.stdout.writelines(f"{line}\n" for line in lines)
    if folder:
        heading = next(column.heading for column in columns if column.is_name)
        note(f"Names in column '{heading}' are below {folder}")


def fits_window(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> bool:
    """Whether a table can be printed without a cell cut short."""
    limit = width()
    if limit is None:
        return True
    return max(map(cell_width, format_table(columns, rows))) <= limit


def fit_names(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], limit: int
) -> tuple[list[list[str]], str]:
    """Return the rows with names as short as the window needs, and the folder they left out.

    Only the first column of names goes without the folder that all have in common.
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
    """The lines of a table: headings first, names to the left, numbers to the right."""
    cells = [[column.heading for column in columns], *rows]
    widths = [max(cell_width(row[number]) for row in cells) for number in range(len(columns))]
    if limit is not None:
        _shrink(columns, widths, limit)
    return [line for row in cells for line in _format_row(columns, row, widths)]


def _format_row(
    columns: Sequence[Column], row: Sequence[str], widths: Sequence[int]
) -> Iterator[str]:
    """Yield the line of a row, and more lines where a name is wider than its column."""
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
    """Take columns from the widest that may shrink until the table fits, if it can.

    Names come last, because they wrap.
    """
    texts = [n for n, column in enumerate(columns) if column.may_shrink and not column.is_name]
    names = [n for n, column in enumerate(columns) if column.is_name]
    excess = sum(widths) + 2 * (len(widths) - 1) - limit
    for able in (texts, names):
        while excess > 0 and able:
            widest = max(able, key=lambda number: widths[number])
            if widths[widest] <= _NARROWEST:
                break
            widths[widest] -= 1
            excess -= 1


def _pad(cell: str, size: int, is_number: bool) -> str:
    padding = " " * (size - cell_width(cell))
    return padding + cell if is_number else cell + padding
