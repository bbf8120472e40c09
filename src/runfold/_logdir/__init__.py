"""Which files make up which run, how they are read, and what a restart hides.

Modules:

    log_paths        paths as users give them: a folder, an event file or a glob
    discover         the runs below a path, and the event files of each
    link_rules       which links a search for runs follows
    hparams_folders  folders that `add_hparams` made, and the runs they belong to
    run_parts        these folders, for code that works on folders
    loader           many runs found, read on all cores and kept up to date
    bulk_read        bytes from the disk to the decoder, many files per call
    gc_pause         the garbage collector, paused during a load
    run_log          one run's log, read on first use
    assemble         the files of a run put together into series and values
    restarts         which points of a series a restart policy hides
    series           the points of one tag in one run
    payloads         the stored values of one tag that are not scalars
"""
