"""Byte-level code: TFRecord framing, CRC32C and the protobuf wire format.

Only `small_files` does I/O.

Modules:

    small_files      reads many small files into one buffer in one call
    checksum         CRC32C, with the processor's instruction if available
    record           TFRecord framing, and the reasons why reading stops
    decoder          decodes event files piece by piece, many files per call
    whole_files      decodes many small files that are whole in a buffer
    event            reads Event and Summary messages into columns
    scalar_columns   the scalar points of many tags, as NumPy arrays on request
    point_table      the points of one tag in many runs, collected in one call
    tag_table        the tags of one run
    items            groups values of several files by tag and form
    tensor_proto     TensorProto to NumPy
    histogram_proto  many HistogramProto messages to a few flat columns
    objects          creates many objects of one plain class in one call
    encoder          encodes event records in memory, byte for byte like TensorBoard
    recorder         encodes events in the logging thread, for a writer to collect
    scanner          locates events for rewriting, without decoding them
    decider          applies the rules to each value of a rewritten event
    rewriter         copies event records with values dropped, renamed or shifted
    record_search    finds intact records in a broken file
    template         splits events into templates and numbers, and joins them again
"""
