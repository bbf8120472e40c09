from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Buffer

class HistogramColumns(NamedTuple):
    min: NDArray[np.float64]
    max: NDArray[np.float64]
    num: NDArray[np.float64]
    sum: NDArray[np.float64]
    sum_squares: NDArray[np.float64]
    offsets: NDArray[np.int64]
    right_edges: NDArray[np.float64]
    counts: NDArray[np.float64]
    valid: NDArray[np.bool_]

def decode_histograms(messages: Iterable[Buffer]) -> HistogramColumns: ...
def is_valid_histogram(data: Buffer) -> bool: ...
