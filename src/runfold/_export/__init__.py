"""Results written for others to read: event files, tables in every common format.

Modules:

    dump           every kind of data of some runs, as tables in files
    fold_output    a fold or a comparison, written where a path says
    fold_rows      a fold as one tidy table
    fold_events    a fold as event files
    query_output   the rows of a query
    table_file     a table written in the format of its file name
    table_format   what a format declares
    formats        one module per file format
    compression    text files compressed by their suffix
    plain_columns  columns of one kind each, which every format can hold
    arrow_columns  these columns as an Arrow table
    flat_columns   columns for formats without lists, bytes or pictures
    cell_text      cells as text
    media_files    pictures and clips as files
    file_names     names of files from names of runs and tags
"""
