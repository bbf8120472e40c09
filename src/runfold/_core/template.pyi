import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer

from runfold._core.tag_table import Tags

PART: np.dtype[np.void]
EVENT: int
BROKEN: int
TEMPLATE_HEAD: int

def take_apart(
    data: Buffer, base: int, templates: Tags, limit: int
) -> tuple[NDArray[np.void], int]: ...
def fill(template: bytes, value: float) -> bytes: ...
def put_together(
    templates: list[bytes],
    records: NDArray[np.int64],
    numbers: NDArray[np.int32],
    steps: NDArray[np.int64],
    wall_times: NDArray[np.float64],
    values: NDArray[np.float64],
) -> bytes: ...
