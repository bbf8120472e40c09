from collections.abc import Callable
from enum import IntFlag

import numpy as np
from numpy.typing import ArrayLike, NDArray

from runfold._core.scanner import Scanner
from runfold._core.tag_table import Tags

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

class Decider(Scanner):
    values_changed: int
    values_shifted: int
    values_hidden: int
    restarts: list[int]
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
    def count(self) -> NDArray[np.int64]: ...
    def count_kinds(self) -> NDArray[np.int64]: ...
