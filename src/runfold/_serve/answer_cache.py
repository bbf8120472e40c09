"""A cache of expensive responses, valid until the runs change."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from runfold._serve.run_source import Source

# Limits in bytes: for all responses together, and for a single response.
_MOST = 32_000_000
_LARGEST = 8_000_000


class Cache:
    """Recently used responses by request, all from the current generation of the runs."""

    def __init__(self, most: int = _MOST, largest: int = _LARGEST) -> None:
        self._most = most
        self._largest = largest
        self._lock = Lock()
        self._generation = 0
        self._size = 0
        self._answers: dict[Hashable, bytes] = {}

    def get(self, generation: int, key: Hashable, make: Callable[[], bytes]) -> bytes:
        """Return the cached response for `key`, or call `make` and cache its result."""
        with self._lock:
            if generation != self._generation:
                self._answers.clear()
                self._generation, self._size = generation, 0
            answer = self._answers.pop(key, None)
            if answer is not None:
                self._answers[key] = answer  # now the most recently used
                return answer
        answer = make()
        if len(answer) <= self._largest:
            self._keep(generation, key, answer)
        return answer

    def _keep(self, generation: int, key: Hashable, answer: bytes) -> None:
        with self._lock:
            # Another thread may have cached the same response, or a refresh may have happened.
            if generation != self._generation or key in self._answers:
                return
            self._answers[key] = answer
            self._size += len(answer)
            while self._size > self._most:
                self._size -= len(self._answers.pop(next(iter(self._answers))))


_caches: WeakKeyDictionary[Source, Cache] = WeakKeyDictionary()


def remember(source: Source, key: Hashable, make: Callable[[], bytes]) -> bytes:
    """Return the result of `make`, cached until the runs change.

    Call this within `source.work`, so that the runs do not change during the call.
    """
    return _caches.setdefault(source, Cache()).get(source.generation, key, make)
