"""Memory limits that are raised until they are enough."""

import re
from collections.abc import Callable
from typing import TypeVar

from runfold.errors import NotEnoughMemory

T = TypeVar("T")


def with_enough(work: Callable[[int], T], limit: int) -> T:
    """Return the result of work within a limit, raised as the messages of NotEnoughMemory say."""
    while True:
        try:
            return work(limit)
        except NotEnoughMemory as error:
            limit = enough(error, limit)


def enough(error: NotEnoughMemory, limit: int) -> int:
    """Return the limit that a message calls enough, which must be higher than the one given."""
    need = re.search(r"at least (\d+)\.", str(error))
    assert need
    assert int(need[1]) > limit
    return int(need[1])
