"""Tables as JSON: a list of records, or one record per line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from runfold._export.cell_text import Column, Spelling
from runfold._export.table_format import Options, TableFormat


def spell_json(columns: Sequence[Column], lines: bool = False) -> Iterator[str]:
    """Yield the text of a table as strict JSON, one record per line.

    JSON has no NaN or infinity, so they are the strings "NaN", "Infinity" and
    "-Infinity", which float() and pandas.read_json convert back. A missing value is
    null. With `lines`, the output is JSON Lines instead of a list.
    """
    spelling = Spelling(
        text=_quote,
        json=str,
        missing="null",
        odd={"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'},
    )
    fields = ",".join(f"{_quote(column.name).replace('%', '%%')}:%s" for column in columns)
    record = "{" + fields + "}"
    yield "" if lines else "["
    glue = ""
    for rows in spelling.rows(columns):
        separator = "\n" if lines else ",\n"
        yield glue + separator.join(map(record.__mod__, rows))
        glue = separator
    yield glue and "\n" if lines else "]\n"


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _spell_array(columns: Sequence[Column], options: Options) -> Iterator[str]:
    return spell_json(columns)


def _spell_lines(columns: Sequence[Column], options: Options) -> Iterator[str]:
    return spell_json(columns, lines=True)


FORMATS = (
    TableFormat(suffix=".json", spell=_spell_array),
    TableFormat(suffix=".jsonl", spell=_spell_lines),
)
