"""A whole logdir in one Parquet file: written, read in place of the logdir, unpacked again.

Modules:

    pack           `pack` and `unpack`, whose output is whole or absent
    pack_paths     which paths are packs
    pack_layout    columns, encodings and names of a pack
    pack_index     what the footer holds of the runs
    file_parts     an event file split into rows and the rest
    pack_rows      rows gathered, sorted by tag, cut into row groups
    pack_writer    a logdir written, run by run
    pack_file      one pack, opened; its row groups read on request
    page_sizes     the sizes of Parquet pages, before decompression
    memory_budget  how much memory a pack may take
    packed_log     a run's log when it is in a pack
    packed_tags    its tags
    packed_logdir  the runs of packs and folders as one logdir
    open_logdir    a path opened, whether it is a pack or not
    rebuild        an event file put together from rows
    unpacking      all event files of a pack
"""
