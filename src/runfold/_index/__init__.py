"""The kept index: what a logdir holds, stored in the user's cache for the next program.

It is derived from the event files, checked against them on every use, and safe to delete.

Modules:

    array_file      a file of arrays with checksums
    index_folder    where indexes are stored, and how much space they may take
    kept_runs       the stored runs: their files, tags and statistics, in columns
    kept_logs       the logs of stored runs, created on access
    facts           what is known about chosen runs without reading their points
    index_writer    collects what is stored about runs that have been read
    indexed_logdir  a logdir that uses and updates its index
"""
