"""Tables as Arrow columns, and back.

Modules:

    arrow_table      a table converted to Arrow
    arrow_reader     a Parquet file read back into a table
    cell_forms       cells of any type as Arrow columns
    arrow_arrays     plain columns as Arrow arrays, without pandas
    arrow_lists      arrays as Arrow lists
    pandas_metadata  pandas features that Arrow lacks, stored as metadata
"""
