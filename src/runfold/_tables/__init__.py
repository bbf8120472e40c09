"""DataFrames, tables with one row per run, and SQL; all use the same columns.

Modules:

    found_config  settings from text tags and files
    frames  one DataFrame per kind of data
    arrow   tables as Arrow columns, and back
    by_run  one row per run, conditions, filters and differences
    sql     queries by DuckDB in a confined process
"""
