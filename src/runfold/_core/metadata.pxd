"""Parser for SummaryMetadata: the plugin that a value belongs to."""

from libc.stdint cimport int32_t, uint32_t
from libc.string cimport memcmp

from runfold._core.event cimport COLLECTED, MALFORMED, OUT_OF_MEMORY, Outcome
from runfold._core.tag_table cimport UNKNOWN_PLUGIN, Tag, TagTable, keep_text, number_plugin
from runfold._core.wire cimport Cursor, read_bytes, read_key, skip_field

cdef enum:
    METADATA_PLUGIN_DATA = 1 << 3 | 2
    PLUGIN_NAME = 1 << 3 | 2


cdef inline bint read_plugin(Cursor metadata, Cursor* name) noexcept nogil:
    """Find the plugin's name in a SummaryMetadata; empty if it has none."""
    cdef uint32_t field, wire_type, key
    cdef Cursor data
    name.at = name.end = NULL
    while metadata.at < metadata.end:
        if not read_key(&metadata, &field, &wire_type):
            return 0
        key = field << 3 | wire_type
        if key == METADATA_PLUGIN_DATA:
            if not read_bytes(&metadata, &data):
                return 0
            while data.at < data.end:
                if not read_key(&data, &field, &wire_type):
                    return 0
                if field << 3 | wire_type == PLUGIN_NAME:
                    if not read_bytes(&data, name):
                        return 0
                elif not skip_field(&data, field, wire_type):
                    return 0
        elif not skip_field(&metadata, field, wire_type):
            return 0
    return 1


cdef inline Outcome keep_metadata(
    TagTable* tags, int32_t number, Cursor metadata, int32_t* plugin, bint* is_first
) noexcept nogil:
    """Find the plugin in a value's own metadata; a tag keeps the first metadata it gets.

    As in TensorBoard, later metadata does not change the tag. It applies only to the
    value that contains it: a writer can log a scalar and a histogram under one tag.
    """
    cdef Tag* tag = &tags.tags[number]
    cdef size_t length = metadata.end - metadata.at
    cdef Cursor name
    plugin[0] = tag.plugin
    if tag.plugin != UNKNOWN_PLUGIN and tag.metadata_length == length:
        # The usual case: every event repeats the same metadata.
        if length == 0 or memcmp(tags.text + tag.metadata, metadata.at, length) == 0:
            return COLLECTED
    if not read_plugin(metadata, &name):
        return MALFORMED
    # Metadata without a plugin, such as a display name alone, changes nothing.
    if name.end > name.at or tag.plugin == UNKNOWN_PLUGIN:
        plugin[0] = number_plugin(tags, name)
        if plugin[0] < 0:
            return OUT_OF_MEMORY
    if tag.plugin == UNKNOWN_PLUGIN:
        if not keep_text(tags, metadata, &tag.metadata):
            return OUT_OF_MEMORY
        tag.metadata_length = length
        tag.plugin = plugin[0]
        is_first[0] = True
    return COLLECTED
