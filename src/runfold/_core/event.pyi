from enum import IntEnum

class Form(IntEnum):
    NOTHING = 0
    SCALAR = 1
    HISTOGRAM = 2
    IMAGE = 3
    AUDIO = 4
    TENSOR = 5
    GRAPH = 6
    META_GRAPH = 7
    RUN_METADATA = 8
    FILE_VERSION = 9
    SOURCE = 10
    SUMMARY = 11
    EVENT = 12

class NoteCode(IntEnum):
    BAD_PAYLOAD_CHECKSUM = 1
    MALFORMED_EVENT = 2
    BAD_TENSOR = 3
    BAD_HISTOGRAM = 4
    UNKNOWN_WALL_TIME = 5
    ROUNDED_INTEGER = 6
    RECORD_TOO_LONG = 7
