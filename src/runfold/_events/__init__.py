"""Reading and encoding one event file: bytes to typed columns, in old and new formats.

Modules:

    event_file      the columns read from a file so far, and checks that it is still the same file
    lazy_points     the points of a file, counted at first and decoded on access
    read_state      what was read from a file, without its points
    opened_file     an open event file, on disk or elsewhere
    file_mark       bytes that identify the part of a file that was decoded
    file_state      the size, times and identity of a file
    problems        problems found in a log
    kinds           one module per kind of data
    contents        plugin data of hparams and custom scalar layouts
    value_encoding  encoders for Summary.Value messages of every kind
    message         encoders for protobuf fields
    wire            bounds-checked iteration over the fields of a protobuf message
"""
