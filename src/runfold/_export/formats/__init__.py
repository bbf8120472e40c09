"""The file formats for tables. A module here declares its FORMATS; nothing else lists them.

    delimited       .csv, .tsv
    json_records    .json, .jsonl
    markup          .tex, .md
    excel           .xlsx
    parquet         .parquet, .feather, .arrow

To add a format, add a module with `FORMATS`, a tuple of `TableFormat`.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from runfold._export.compression import COMPRESSIONS
from runfold._export.table_format import TableFormat


def _find_formats() -> dict[str, TableFormat]:
    """Return the formats by suffix: text first, last those that keep every type."""
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    found: list[TableFormat] = [one for module in modules for one in module.FORMATS]
    found.sort(key=lambda one: (not one.is_text, one.write_arrow is not None))
    return {one.suffix: one for one in found}


FORMATS = _find_formats()


def describe_formats() -> str:
    """Return the suffixes for a help text, and how files of text can be compressed."""
    text = ", ".join(suffix for suffix, one in FORMATS.items() if one.is_text)
    others = ", ".join(suffix for suffix, one in FORMATS.items() if not one.is_text)
    return f"{text} (and {', '.join(COMPRESSIONS)} appended), {others}"


def rounded_formats() -> list[str]:
    """Return the suffixes of formats in which numbers can be rounded."""
    return [suffix for suffix, one in FORMATS.items() if one.is_rounded]


def spreadsheet_formats() -> list[str]:
    """Return the suffixes of formats in which formulas can be escaped."""
    return [suffix for suffix, one in FORMATS.items() if one.is_for_spreadsheets]


def workbook_formats() -> list[str]:
    """Return the suffixes of formats that hold several tables in one file."""
    return [suffix for suffix, one in FORMATS.items() if one.write_sheets]
