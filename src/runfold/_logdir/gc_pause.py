"""Pauses Python's cyclic garbage collector."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def pause_collector() -> Iterator[None]:
    """Pause the collector while creating many objects that all stay alive.

    With 2,000 runs, fruitless collections take a third of the time spent on opening
    and tabulating them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
