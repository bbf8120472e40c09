from enum import IntEnum, IntFlag
from typing import final

from typing_extensions import Buffer

from runfold.core.decider import Decider
from runfold.core.encoder import EventBuffer

class Boundary(IntFlag):
    AT_VERSION = 1
    AT_RESTART = 2

class Stop(IntEnum):
    ENDED = 0
    NEEDS_MORE = 1
    IS_UNWRITTEN = 2
    IS_BAD_LENGTH = 3
    IS_LONG = 4
    AT_BOUNDARY = 5

@final
class Rewriter(Decider):
    stop: int
    boundary: int
    needed: int
    events: int
    events_kept: int
    events_changed: int
    bad_records: int
    first_wall_time: float
    has_wall_time: bool
    def begin(self, is_new_run: bool = True) -> None: ...
    def rewrite(self, buffer: Buffer, out: EventBuffer | None = None) -> int: ...
