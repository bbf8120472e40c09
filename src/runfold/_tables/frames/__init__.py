"""DataFrames: the values of many runs as one table per kind.

Modules:

    frame            the DataFrame class of every table
    frame_methods    the methods of Run and Runs that return tables
    scalar_frame     scalars, long or wide
    kind_frames      every other kind
    hparam_frames    settings, sessions and metrics of each run
    hparam_values    hparams decoded from the log
    problem_frame    problems of the logs
    value_rows       stored values of one kind decoded into rows
    value_frame      these rows as a DataFrame
    decoded_values   stored values decoded one by one, without pandas
    column_values    column values in pandas types
    missing_series   the message for a tag without scalars
    unknown_plugins  values of plugins that Runfold does not support
    csv_cells        cells as text for CSV
    thumbnails       a table in a notebook, with thumbnails of its images
"""
