"""What commands print: tables that fit the window, JSON, and notes on stderr."""

from __future__ import annotations

import dataclasses
import io
import json
import math
import os
import shlex
import shutil
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from runfold.errors import RunfoldError
from runfold.storage.address import mask_url, show_url
from runfold.text import cell_width, escape, human_count, shorten

if TYPE_CHECKING:
    from runfold.logdir.load import Logdir
    from runfold.logdir.log import RunLog

_NARROWEST = 8
_WIDEST_PLOT = 100


class CommandError(RunfoldError):
    """A wish that a command cannot fulfil; the message is for the user."""


def prepare_streams() -> None:
    """Let a character that the terminal's encoding lacks come out escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def note(text: str) -> None:
    """Print a note on stderr."""
    # Whatever stands on stdout already comes first where both are one terminal.
    sys.stdout.flush()
    print(text, file=sys.stderr, flush=True)


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Say what is warned of, such as that a folder is taken, without a line of our code."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: note(str(message))
        yield


def no_runs(*paths: str) -> str:
    """What to say of paths without any run."""
    places = " ".join(map(show_url, paths))
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
    """A tag on one line; an empty one as it is typed in a shell."""
    return escape(tag) or '""'


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
    """Print a value as one line of strict JSON: no NaN, integers exact."""
    print(json.dumps(_plain(value), allow_nan=False))


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
    """A column of a table. One that may shrink loses the middle of long cells."""

    heading: str
    is_number: bool = False
    may_shrink: bool = False


def print_table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    """Print a table that fits the window; in full where there is none."""
    lines = format_table(columns, rows, width())
    if has_colour():
        lines[0] = f"\x1b[1m{lines[0]}\x1b[0m"
    print("\n".join(lines))


def fits_window(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> bool:
    """Whether a table can be printed without a cell cut short."""
    limit = width()
    if limit is None:
        return True
    return max(map(cell_width, format_table(columns, rows))) <= limit


def format_table(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], limit: int | None = None
) -> list[str]:
    """The lines of a table: headings first, names to the left, numbers to the right."""
    cells = [[column.heading for column in columns], *rows]
    widths = [max(map(cell_width, column)) for column in zip(*cells, strict=True)]
    if limit is not None:
        _shrink(columns, widths, limit)
    return [
        "  ".join(
            _fit(cell, size, column.is_number)
            for cell, size, column in zip(row, widths, columns, strict=True)
        ).rstrip()
        for row in cells
    ]


def _shrink(columns: Sequence[Column], widths: list[int], limit: int) -> None:
    """Take columns from the widest that may shrink until the table fits, if it can."""
    able = [number for number, column in enumerate(columns) if column.may_shrink]
    excess = sum(widths) + 2 * (len(widths) - 1) - limit
    while excess > 0 and able:
        widest = max(able, key=lambda number: widths[number])
        if widths[widest] <= _NARROWEST:
            return
        widths[widest] -= 1
        excess -= 1


def _fit(cell: str, size: int, is_number: bool) -> str:
    if cell_width(cell) > size:
        cell = shorten(cell, size)
    padding = " " * (size - cell_width(cell))
    return padding + cell if is_number else cell + padding
