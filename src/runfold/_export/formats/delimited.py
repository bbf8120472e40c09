"""Tables as text with a separator: CSV and TSV."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from runfold._export.cell_text import Column, Spelling, disarm
from runfold._export.table_format import Options, TableFormat


def spell_delimited(
    columns: Sequence[Column], separator: str, escape_formulas: bool = False
) -> Iterator[str]:
    """Yield the text of a table: a heading, then one line a row, UTF-8 in mind.

    Numbers are spelled so that they read back exactly; `nan`, `inf`, `-inf`,
    `true` and `false` as pandas and Python's float() know them. A cell is quoted
    where it must be, and empty text always: `""` is an empty text, nothing at
    all is a missing value.
    """
    must_quote = re.compile(f'[{separator}"\r\n]').search

    def quote(text: str) -> str:
        if escape_formulas:
            text = disarm(text)
        if text and not must_quote(text):
            return text
        return '"' + text.replace('"', '""') + '"'

    # A line with nothing on it would be no row to most readers.
    spelling = Spelling(text=quote, missing='""' if len(columns) == 1 else "")
    yield separator.join(quote(column.name) for column in columns) + "\n"
    for rows in spelling.rows(columns):
        yield "\n".join(map(separator.join, rows)) + "\n"


def _spell_csv(columns: Sequence[Column], options: Options) -> Iterator[str]:
    return spell_delimited(columns, ",", options.escape_formulas)


def _spell_tsv(columns: Sequence[Column], options: Options) -> Iterator[str]:
    return spell_delimited(columns, "\t", options.escape_formulas)


FORMATS = (
    TableFormat(suffix=".csv", spell=_spell_csv, is_for_spreadsheets=True),
    TableFormat(suffix=".tsv", spell=_spell_tsv, is_for_spreadsheets=True),
)
