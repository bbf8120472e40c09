"""One event file: its bytes decoded into typed columns. Old and new formats meet here.

Modules:

    event_file      what was read of a file so far, and whether it is still the same file
    problems        what was wrong in a log, noted and survived
    kinds           one module per kind of data
    contents        hparams sessions and custom scalar layouts
    value_encoding  Summary.Value messages of every kind, as bytes
    message         protobuf messages put together from the bytes of their fields
    wire            the fields of one protobuf message, bounds-checked
"""
