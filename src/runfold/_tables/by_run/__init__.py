"""Tables with one row per run: columns, conditions, filters and metadata.

Modules:

    overview           the data of each run, column by column
    kept_overview      the same from an index, without reading points
    kept_statistics    statistics of one tag from an index
    column_statistics  the statistics of a tag that are columns
    run_columns        the columns and their names
    run_table          the DataFrame with one row per run
    tag_statistics     last, best, mean and others of one tag in many runs
    run_scalars        the scalars of many runs, without an object for each series
    direction          whether lower or higher is better for a tag
    run_story          status, configuration, code and host, read from the log
    system_frame       the system metrics of a run over time
    conditions         the runs that match a condition
    row_values         the operands of a condition, in one row or in all rows at once
    expression         a condition parsed into a tree
    run_filters        failed, short, newest, incomplete and repeated runs
    collection         the table and the filters, as methods of Runs
    listing            one line per run for `runfold ls`
    difference         how two runs differ
"""
