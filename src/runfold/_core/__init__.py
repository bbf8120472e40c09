"""The only code that knows bytes: TFRecord framing, CRC32C and the protobuf wire. No I/O.

Modules:

    checksum         CRC32C, with the processor's instruction where it has one
    record           TFRecord framing, and why reading stops
    decoder          one event file decoded piece by piece, many files in one call
    event            Event and Summary messages read into columns
    scalar_columns   the scalar points of many tags, as NumPy arrays on request
    tag_table        the tags of one run
    items            values of several files brought together by tag and form
    tensor_proto     TensorProto to NumPy
    histogram_proto  many HistogramProto messages to a few flat columns
    objects          many objects of one plain class, made in one call
    encoder          event records written into memory, byte for byte as TensorBoard writes them
    recorder         events on their way to a file, encoded in the thread that logs them
    scanner          events located for rewriting, without decoding them
    decider          what happens to each value of a rewritten event
    rewriter         event records copied with values left out, renamed or moved in time
    record_search    sound records found anywhere in a broken file
    template         events split into templates and numbers, and put together again
"""
