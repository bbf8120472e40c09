"""Output of results as event files, and as tables in every common format.

Modules:

    dump           exports all data of the given runs as tables
    scalar_rows    the table of all scalars, read in parts
    fold_output    writes a fold or a comparison to a path
    fold_rows      a fold as one tidy table
    fold_events    a fold as event files
    query_output   the rows of a query
    table_file     writes a table in the format of the file's suffix
    table_format   the declaration of a format
    formats        one module per file format
    compression    compresses text files by suffix
    plain_columns  columns of one kind, which every format can store
    long_columns   columns of long tables, in little memory
    arrow_columns  these columns as an Arrow table
    flat_columns   columns for formats without lists, bytes or pictures
    cell_text      cells as text
    media_files    pictures and clips as files
    file_names     file names from the names of runs and tags
"""
