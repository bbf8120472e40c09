from enum import IntFlag

from runfold._core.tag_table import Tags

class EventFlag(IntFlag):
    STRIP_GRAPH = 1
    STRIP_RUN_METADATA = 2
    ALL_TAGS = 4
    ONLY_VALUES = 8
    RESTARTS = 16

class Scanner:
    tags: Tags
    def __init__(self, tags: Tags) -> None: ...
