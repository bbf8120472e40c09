import numpy as np
from numpy.typing import NDArray

from runfold._core.decoder import Decoder, Restart
from runfold._core.scalar_columns import ScalarPoints
from runfold._core.tag_table import Tags

Content = tuple[
    Decoder,
    ScalarPoints,
    NDArray[np.void],
    list[tuple[int, int, int]] | None,
    list[Restart] | None,
    bytes,
    bytes,
]

def decode_whole_files(
    buffer: bytes | bytearray | memoryview, sizes: list[int], known: dict[bytes, Tags]
) -> list[Content]: ...
