from enum import IntEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from runfold.core.scalars import ScalarPoints
from runfold.core.tags import Tags

# step, items before it, points before it of each tag that got some since the last one
Restart: TypeAlias = tuple[int, int, dict[int, int]]

MAX_RECORD: int
ITEM: np.dtype[np.void]
NO_ITEMS: NDArray[np.void]

class State(IntEnum):
    AT_END = 0
    IS_TORN = 1
    IS_ZEROS = 2
    HAS_BAD_LENGTH = 3
    IS_TOO_LONG = 4

class Decoder:
    tags: Tags
    def __init__(
        self, tags: Tags, offset: int = 0, limit: int = ..., is_in_order: bool = False
    ) -> None: ...
    @property
    def offset(self) -> int: ...
    @property
    def needed(self) -> int: ...
    @property
    def state(self) -> int: ...
    @property
    def events(self) -> int: ...
    @property
    def first_wall_time(self) -> float: ...
    @property
    def last_wall_time(self) -> float: ...
    def skip(self) -> None: ...
    def take(
        self,
    ) -> tuple[ScalarPoints, NDArray[np.void], list[tuple[int, int, int]], list[Restart]]: ...

def decode(
    decoders: list[Decoder],
    buffer: bytes | bytearray | memoryview | NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
) -> None: ...
