"""Large files, sent one at a time by a thread of their own: smaller ones go past them."""

from __future__ import annotations

import threading
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable


class BackgroundUpload:
    """What is on its way, or has arrived and was not asked for since."""

    def __init__(self) -> None:
        self._loads: dict[Hashable, Future[None]] = {}

    def send(self, mark: Hashable, work: Callable[[], object], is_last: bool) -> bool:
        """Whether the load of a mark has arrived; it is begun where no other is on its way.

        With `is_last` it is waited for. Raises what the work raised; the next call begins
        it again.
        """
        load = self._loads.get(mark)
        if load is None:
            if is_last:
                wait(self._loads.values())
            elif not all(one.done() for one in self._loads.values()):
                return False
            load = self._loads[mark] = Future()
            # Not of a pool, which the end of the interpreter would wait for.
            threading.Thread(
                target=_carry, args=(load, work), name="runfold-upload", daemon=True
            ).start()
        if is_last:
            wait([load])
        if not load.done():
            return False
        self._loads.pop(mark).result()
        return True


def _carry(load: Future[None], work: Callable[[], object]) -> None:
    try:
        work()
    except BaseException as error:
        load.set_exception(error)
    else:
        load.set_result(None)
