"""Tables for people to read: LaTeX and Markdown."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence

from runfold._export.cell_text import Column, Spelling
from runfold._export.table_format import Options, TableFormat
from runfold._humanize import escape

# Up to this number, a float can be an exact count, for example of seconds.
_EXACT = 1e15

_LATEX = {
    **{char: f"\\{char}" for char in "&%$#_{}"},
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "<": "\\textless{}",
    ">": "\\textgreater{}",
    "|": "\\textbar{}",
    "-": "-{}",  # two hyphens would become a dash
    # At the start of a row LaTeX would read these as arguments of the preceding `\\`.
    "[": "{[}",
    "*": "{*}",
}
_LATEX_SPECIAL = re.compile(r"[&%$#_{}\\~^<>|\[*]|-(?=-)")
_ENTITIES = {"<": "&lt;", "&": "&amp;"}  # nothing from a log is ever HTML
# An underscore within a word has no meaning in Markdown, so val_loss stays readable.
_MARKDOWN_SPECIAL = re.compile(r"[\\`*\[\]<>&|~$]|(?<![^\W_])_|_(?![^\W_])")


def spell_latex(columns: Sequence[Column], options: Options) -> Iterator[str]:
    """Yield a table in LaTeX, with rules from the booktabs package.

    Numbers are exact unless `options.digits` rounds the floats. Small numbers, NaN and
    infinity are written as 1.5e-05, `nan` and `inf`, which programs can also read.
    """
    headings, rows = _spell(columns, _latex_text, options.digits)
    sides = "".join("l" if column.kind == "text" else "r" for column in columns)
    yield f"% \\usepackage{{booktabs}}\n\\begin{{tabular}}{{{sides}}}\n\\toprule\n"
    yield " & ".join(headings) + " \\\\\n\\midrule\n"
    for row in rows:
        yield " & ".join(row) + " \\\\\n"
    yield "\\bottomrule\n\\end{tabular}\n"


def spell_markdown(columns: Sequence[Column], options: Options) -> Iterator[str]:
    """Yield a table in GitHub's Markdown that is also readable in a plain editor.

    Numbers are exact unless `options.digits` rounds the floats.
    """
    headings, rows = _spell(columns, _markdown_text, options.digits)
    widths = [max(3, *map(len, cells)) for cells in zip(headings, *rows, strict=True)]
    is_text = [column.kind == "text" for column in columns]
    rules = [
        "-" * width if left else "-" * (width - 1) + ":"
        for width, left in zip(widths, is_text, strict=True)
    ]
    for row in (headings, rules, *rows):
        cells = zip(row, widths, is_text, strict=True)
        yield (
            "| "
            + " | ".join(
                cell.ljust(width) if left else cell.rjust(width) for cell, width, left in cells
            )
            + " |\n"
        )


def _spell(
    columns: Sequence[Column], text: Callable[[str], str], digits: int | None
) -> tuple[list[str], list[tuple[str, ...]]]:
    spelling = Spelling(text=text, number=float.__repr__ if digits is None else _rounder(digits))
    rows = [row for block in spelling.rows(columns) for row in block]
    return [text(column.name) for column in columns], rows


def _rounder(digits: int) -> Callable[[float], str]:
    """Return a function that rounds to significant digits, but only after the decimal point.

    With four digits, 0.123456 becomes 0.1235, and the wall time 1700000000 stays exact.
    """

    def spell(value: float) -> str:
        shown = f"{value:.{digits}g}"
        return f"{value:.0f}" if "e+" in shown and abs(value) < _EXACT else shown

    return spell


def _latex_text(text: str) -> str:
    return _LATEX_SPECIAL.sub(lambda match: _LATEX[match[0]], escape(text, sys.maxsize))


def _markdown_text(text: str) -> str:
    return _MARKDOWN_SPECIAL.sub(
        lambda match: _ENTITIES.get(match[0], f"\\{match[0]}"), escape(text, sys.maxsize)
    )


FORMATS = (
    TableFormat(suffix=".tex", spell=spell_latex, is_rounded=True),
    TableFormat(suffix=".md", spell=spell_markdown, is_rounded=True),
)
