"""What was read from an event file, without its points."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from runfold._core.decoder import Position, Restart
    from runfold._events.file_state import FileState
    from runfold._events.problems import Problem


class ReadState(NamedTuple):
    """What was read from an event file, except the points, which are only counted.

    An `EventFile` continues from it in another process. It can be pickled.

    Attributes:
        path: the path of the file.
        state: the file's size, times and identity at the last read; None if that failed partway.
        position: where the decoder stopped, and why.
        head: the first bytes of the file.
        before: the bytes before the decoder's position.
        trouble: the reason why the file could not be read, if any.
        notes: the position, code and tag of each problem.
        items: the values that are not scalars.
        restarts: the restart markers.
        tags: the numbers of the tags that have points, in increasing order.
        counts: the number of points of each of these tags.
    """

    path: str
    state: FileState | None
    position: Position
    head: bytes
    before: bytes
    trouble: Problem | None
    notes: list[tuple[int, int, int]]
    items: NDArray[np.void]
    restarts: list[Restart]
    tags: NDArray[np.int32]
    counts: NDArray[np.int64]
