from collections.abc import Callable
from enum import IntEnum, IntFlag
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import Buffer

from runfold.core.encoder import EventBuffer
from runfold.core.scanner import Scanner
from runfold.core.tags import Tags

FORMS: int
PLUGINS: int

class TagFlag(IntFlag):
    DROP = 1
    IN_SCOPE = 2
    STEPLESS = 4
    ASK = 8
    UNTHINNED = 16

class KindFlag(IntFlag):
    STRIP = 1
    HAS_NO_STEPS = 2

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
class Rewriter(Scanner):
    stop: int
    boundary: int
    needed: int
    events: int
    events_kept: int
    events_changed: int
    values_changed: int
    bad_records: int
    values_hidden: int
    restarts: list[int]
    first_wall_time: float
    has_wall_time: bool
    def __init__(
        self,
        tags: Tags,
        *,
        flags: NDArray[np.uint8] | None = None,
        names: list[bytes | None] | None = None,
        kinds: NDArray[np.uint8] | None = None,
        events: int = 4,
        keeps: ArrayLike | None = None,
        cuts: ArrayLike | None = None,
        limit: int = ...,
        limits: NDArray[np.int64] | None = None,
        every: int = 0,
        lasts: NDArray[np.int64] | None = None,
        shift_steps: int = 0,
        shift_time: float = 0.0,
        boundaries: int = 0,
        replace: Callable[[bytes], bytes] | None = None,
        max_record: int = ...,
    ) -> None: ...
    def begin(self, is_new_run: bool = True) -> None: ...
    def count(self) -> NDArray[np.int64]: ...
    def count_kinds(self) -> NDArray[np.int64]: ...
    def rewrite(self, buffer: Buffer, out: EventBuffer | None = None) -> int: ...
