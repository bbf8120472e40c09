from enum import IntEnum

class StopReason(IntEnum):
    AT_END = 0
    IS_TORN = 1
    IS_ZEROS = 2
    HAS_BAD_LENGTH = 3
    IS_TOO_LONG = 4
    AT_BOUNDARY = 5
