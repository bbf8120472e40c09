"""Tables as delimited text: CSV and TSV."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from runfold._export.cell_text import Column, Spelling, disarm
from runfold._export.table_format import Options, TableFormat


def spell_delimited(
    columns: Sequence[Column], separator: str, escape_formulas: bool = False
) -> Iterator[str]:
    """Yield the text of a table: a header line, then one line per row.

    Numbers keep their exact values. pandas and Python's float() recognize `nan`, `inf` and `-inf`,
    and pandas also recognizes `true` and `false`. A cell is quoted only if necessary, except that
    empty text is always `""`; an empty cell is a missing value.
    """
    must_quote = re.compile(f'[{separator}"\r\n]').search

    def quote(text: str) -> str:
        if escape_formulas:
            text = disarm(text)
        if text and not must_quote(text):
            return text
        return '"' + text.replace('"', '""') + '"'

    # Most readers would skip an empty line.
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
