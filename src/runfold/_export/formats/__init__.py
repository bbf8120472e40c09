"""The table formats. Each module declares its FORMATS and is found by its name.

To add a format, add a module with `FORMATS`, a tuple of `TableFormat`.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from runfold._export.compression import COMPRESSIONS
from runfold._export.table_format import TableFormat


def _find_formats() -> dict[str, TableFormat]:
    """Return the formats by suffix: text first, formats that keep every type last."""
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    formats: list[TableFormat] = [form for module in modules for form in module.FORMATS]
    formats.sort(key=lambda form: (not form.is_text, form.write_arrow is not None))
    return {form.suffix: form for form in formats}


FORMATS = _find_formats()


def describe_formats() -> str:
    """Return the suffixes of formats and compressions for a help text."""
    text = ", ".join(suffix for suffix, form in FORMATS.items() if form.is_text)
    others = ", ".join(suffix for suffix, form in FORMATS.items() if not form.is_text)
    *first, last = COMPRESSIONS
    return f"{text} (optionally followed by {', '.join(first)} or {last}), {others}"


def rounded_formats() -> list[str]:
    """Return the suffixes of formats in which numbers can be rounded."""
    return [suffix for suffix, form in FORMATS.items() if form.is_rounded]


def spreadsheet_formats() -> list[str]:
    """Return the suffixes of formats in which formulas can be escaped."""
    return [suffix for suffix, form in FORMATS.items() if form.is_for_spreadsheets]


def workbook_formats() -> list[str]:
    """Return the suffixes of formats with several tables in one file."""
    return [suffix for suffix, form in FORMATS.items() if form.write_sheets]
