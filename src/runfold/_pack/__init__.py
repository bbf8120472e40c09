"""Packs: a whole logdir in one Parquet file, which can be read like the logdir and unpacked.

Modules:

    pack           `pack` and `unpack`; the output is complete or absent
    pack_paths     finds the packs at a path
    pack_layout    columns, encodings and names in a pack
    pack_index     the index of the runs in the footer
    file_parts     splits an event file into rows and the rest
    pack_rows      collects rows, sorts them by tag, divides them into row groups
    row_reader     reads the rows of one run
    pack_writer    writes a logdir run by run
    pack_file      an open pack; reads row groups on request
    page_sizes     the sizes of Parquet pages, before decompression
    memory_budget  memory limits for opening packs
    packed_log     the log of a run in a pack
    packed_points  the points of files in a pack
    packed_tags    the tags of a run in a pack
    packed_logdir  the runs of packs and folders as one logdir
    open_logdir    opens a path, whether it is a pack or not
    rebuild        rebuilds an event file from rows
    unpacking      rebuilds all event files of a pack
"""
