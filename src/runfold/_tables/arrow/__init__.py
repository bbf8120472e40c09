"""Tables as Arrow columns, and back.

Modules:

    arrow_table      a table handed to Arrow
    arrow_reader     a Parquet file read back into a table
    cell_forms       cells of any object as columns that Arrow has
    arrow_arrays     plain columns as Arrow arrays, without pandas
    arrow_lists      arrays as Arrow lists
    pandas_metadata  what pandas knows of a table and Arrow does not
"""
