"""Answers that were dear to make, kept while the runs stay as they are."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from runfold._serve.run_source import Source

# In all, and for one answer, in bytes.
_MOST = 32_000_000
_LARGEST = 8_000_000


class Cache:
    """Answers by what was asked, those asked for last; none of an earlier generation."""

    def __init__(self, most: int = _MOST, largest: int = _LARGEST) -> None:
        self._most = most
        self._largest = largest
        self._lock = Lock()
        self._generation = 0
        self._size = 0
        self._answers: dict[Hashable, bytes] = {}

    def get(self, generation: int, asked: Hashable, make: Callable[[], bytes]) -> bytes:
        """The answer to what is asked, made anew only where it is not known."""
        with self._lock:
            if generation != self._generation:
                self._answers.clear()
                self._generation, self._size = generation, 0
            answer = self._answers.pop(asked, None)
            if answer is not None:
                self._answers[asked] = answer  # last again
                return answer
        answer = make()
        if len(answer) <= self._largest:
            self._keep(generation, asked, answer)
        return answer

    def _keep(self, generation: int, asked: Hashable, answer: bytes) -> None:
        with self._lock:
            # Another thread may have made the same, or a refresh come between.
            if generation != self._generation or asked in self._answers:
                return
            self._answers[asked] = answer
            self._size += len(answer)
            while self._size > self._most:
                self._size -= len(self._answers.pop(next(iter(self._answers))))


_caches: WeakKeyDictionary[Source, Cache] = WeakKeyDictionary()


def remember(source: Source, asked: Hashable, make: Callable[[], bytes]) -> bytes:
    """What `make` gives, kept for the next who asks the same of the same runs.

    Call it in `source.work`: the runs do not change meanwhile.
    """
    return _caches.setdefault(source, Cache()).get(source.generation, asked, make)
