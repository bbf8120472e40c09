import numpy as np
from numpy.typing import NDArray

def group_items(items: NDArray[np.void], tags: int) -> list[NDArray[np.intp]]: ...
