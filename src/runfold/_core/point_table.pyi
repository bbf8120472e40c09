import numpy as np
from numpy.typing import NDArray

from runfold._core.scalar_columns import ScalarPoints

Source = ScalarPoints | tuple[NDArray[np.int64], NDArray[np.float64]]

def join_points(
    sources: list[Source], tags: NDArray[np.int32]
) -> tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]: ...
def find_ends(
    sources: list[Source], tags: NDArray[np.int32]
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]: ...
def stack_points(
    points: list[ScalarPoints], tags: NDArray[np.int32], most: int
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]] | None: ...
def find_last_steps(
    points: list[ScalarPoints], skipped: bytes
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]: ...
def list_tags(points: list[ScalarPoints]) -> list[tuple[int, int]]: ...
