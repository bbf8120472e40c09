from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from runfold._core.scalar_columns import ScalarPoints
from runfold._core.tag_table import Tags

# step, number of items before it, and number of points before it for each tag that gained points
# since the previous restart
Restart: TypeAlias = tuple[int, int, dict[int, int]]

# offset, needed, stop, events, first and last wall time
Position: TypeAlias = tuple[int, int, int, int, float, float]

MAX_RECORD: int
ITEM: np.dtype[np.void]
NO_ITEMS: NDArray[np.void]

class Decoder:
    tags: Tags
    def __init__(
        self,
        tags: Tags,
        offset: int = 0,
        limit: int = ...,
        is_in_order: bool = False,
        keep: bytes | None = None,
        only_points: bool = False,
    ) -> None: ...
    @property
    def offset(self) -> int: ...
    @property
    def needed(self) -> int: ...
    @property
    def stop(self) -> int: ...
    @property
    def events(self) -> int: ...
    @property
    def first_wall_time(self) -> float: ...
    @property
    def last_wall_time(self) -> float: ...
    def position(self) -> Position: ...
    def resume(
        self,
        offset: int,
        needed: int,
        stop: int,
        events: int,
        first_wall_time: float,
        last_wall_time: float,
    ) -> None: ...
    def counts(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]: ...
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
