"""The fields of Event, Summary, Summary.Value, SessionLog and TaggedRunMetadata."""

# A field's number and wire type as one number, as in the bytes.
cdef enum:
    EVENT_WALL_TIME = 1 << 3 | 1
    EVENT_STEP = 2 << 3
    EVENT_FILE_VERSION = 3 << 3 | 2
    EVENT_GRAPH = 4 << 3 | 2
    EVENT_SUMMARY = 5 << 3 | 2
    EVENT_SESSION_LOG = 7 << 3 | 2
    EVENT_RUN_METADATA = 8 << 3 | 2
    EVENT_META_GRAPH = 9 << 3 | 2
    EVENT_SOURCE = 10 << 3 | 2
    SUMMARY_VALUE = 1 << 3 | 2
    VALUE_TAG = 1 << 3 | 2
    VALUE_SIMPLE = 2 << 3 | 5
    VALUE_IMAGE = 4 << 3 | 2
    VALUE_HISTOGRAM = 5 << 3 | 2
    VALUE_AUDIO = 6 << 3 | 2
    VALUE_TENSOR = 8 << 3 | 2
    VALUE_METADATA = 9 << 3 | 2
    # Runfold's own field: the float64 that `simple_value` rounds. Other readers skip
    # it. See docs/reference/files.md.
    VALUE_FLOAT64 = 1064 << 3 | 1
    SESSION_STATUS = 1 << 3
    SESSION_STARTED = 1
    RUN_METADATA_TAG = 1 << 3 | 2
