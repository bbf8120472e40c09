"""One row per run: its columns, conditions on it, and what is known of it.

Modules:

    overview           what is known of each run, column by column
    column_statistics  the statistics of a tag that are columns
    run_columns        which columns there are, and their names
    run_table          the DataFrame with one row per run
    tag_statistics     last, best, mean and others of one tag in many runs
    direction          whether lower or higher is better for a tag
    run_story          status, configuration, code and host, read from the log
    system_frame       the load of a run's machine
    conditions         the runs for which a condition holds
    expression         a condition parsed into a tree
    run_filters        failed, short, newest, incomplete and repeated runs
    collection         the table and the filters, as methods of Runs
    listing            one line per run for `runfold ls`
    difference         how two runs differ
"""
