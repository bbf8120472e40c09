from enum import IntFlag
from typing import final

from typing_extensions import Buffer

from runfold._core.decider import Decider
from runfold._core.encoder import EventBuffer

class Boundary(IntFlag):
    AT_VERSION = 1
    AT_RESTART = 2

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
