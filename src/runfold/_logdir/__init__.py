"""Runs in a logdir: finding them, reading their files and hiding points after restarts.

Modules:

    log_paths        paths given by users: a folder, an event file or a glob
    discover         the runs below a path and their event files
    tree_state       tells whether a search would find the same runs again
    config_files     the configuration files near runs
    link_rules       rules for following links in a search for runs
    hparams_folders  folders created by `add_hparams`, and the runs they belong to
    run_parts        the same assignment for code that works on folders
    loader           many runs, read on all cores and kept up to date
    bulk_read        reads bytes for the decoder, many files per call
    small_runs       reads many runs with a single small file, with few calls
    gc_pause         pauses the garbage collector during a load
    run_log          one run's log, read on first use
    run_engine       work on runs in other processes
    run_state        what was read from a run, without its points
    assemble         combines the files of a run into series and values
    point_cache      decoded points in bounded memory
    run_batches      series of many runs, in batches that fit into the memory limit
    restarts         points of a series hidden by a restart policy
    series           the points of one tag in one run
    payloads         the stored non-scalar values of one tag
"""
