"""The points of each tag of one file, counted at first and decoded on access."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from runfold._core.scalar_columns import Points, ScalarPoints
    from runfold._core.tag_table import Tags
    from runfold._events.file_mark import FileMark
    from runfold._events.opened_file import Opener

    # The points of a file, and the tags to decode.
    Request = tuple["LazyPoints", Sequence[int]]


class PointSource(Protocol):
    """Decodes points for the files of one run, or of a whole pack."""

    # Whether `decode` is used, because the points are not in an event file.
    is_packed: bool

    def read(self, points: LazyPoints, tag: int) -> Points:
        """Return the points of one tag of a file."""

    def decode(self, requests: Sequence[Request]) -> dict[LazyPoints, ScalarPoints]:
        """Return the points of the requested tags."""

    def distrust(self, points: LazyPoints) -> None:
        """Note that a file has changed in a way that its mark does not show."""

    def siblings(self) -> Sequence[LazyPoints]:
        """Return the points of all files of the run, in reading order."""


class LazyPoints(Mapping[int, "Points"]):
    """The points of each tag in one file up to a mark; only their numbers are in memory.

    Never modified: if the file grows, another instance replaces this one.
    """

    __slots__ = ("_file_tags", "_mark", "_sizes", "_tags", "opener", "path", "source")

    def __init__(
        self,
        path: str,
        mark: FileMark | None,
        tags: Tags | None,
        numbers: NDArray[np.int32],
        sizes: NDArray[np.int64],
        source: PointSource,
        opener: Opener | None = None,
    ) -> None:
        """Store the description of a file; `mark` and `tags` are None for a file in a pack."""
        self.path = path
        self.opener = opener
        self._mark = mark
        self._file_tags = tags
        self.source = source
        # The tags with points, in increasing order, and the number of points of each.
        self._tags = numbers
        self._sizes = sizes

    @property
    def mark(self) -> FileMark:
        """The end of the points in an event file."""
        assert self._mark is not None
        return self._mark

    @property
    def tags(self) -> Tags:
        """The tags of the run whose event file this is."""
        assert self._file_tags is not None
        return self._file_tags

    def followed_by(self, later: LazyPoints) -> LazyPoints:
        """Return the points of this part of the file and those of the next one."""
        numbers = np.union1d(self._tags, later._tags)
        sizes = np.zeros(len(numbers), np.int64)
        for piece in (self, later):
            sizes[np.searchsorted(numbers, piece._tags)] += piece._sizes
        return LazyPoints(
            self.path, later.mark, self.tags, numbers, sizes, self.source, self.opener
        )

    def _find(self, tag: object) -> int:
        if not isinstance(tag, int):
            return -1
        at = int(self._tags.searchsorted(tag))
        return at if at < len(self._tags) and self._tags[at] == tag else -1

    def __getitem__(self, tag: int) -> Points:
        if self._find(tag) < 0:
            raise KeyError(tag)
        return self.source.read(self, tag)

    def __contains__(self, tag: object) -> bool:
        return self._find(tag) >= 0

    def __iter__(self) -> Iterator[int]:
        return iter(self._tags.tolist())

    def __len__(self) -> int:
        return len(self._tags)

    # Instances are keys of the cache, and comparing contents would decode them.
    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def counts(self) -> dict[int, int]:
        """Return the number of points per tag."""
        return dict(zip(self._tags.tolist(), self._sizes.tolist(), strict=True))

    def count(self, tag: int) -> int:
        """Return the number of points of a tag; 0 if it has none."""
        at = self._find(tag)
        return int(self._sizes[at]) if at >= 0 else 0

    def from_tag(self, tag: int, most: int) -> list[int]:
        """Return a tag and those after it, with at most this many points in total."""
        at = self._find(tag)
        totals = np.cumsum(self._sizes[at:])
        count = int(np.searchsorted(totals, most, side="right"))
        return [int(number) for number in self._tags[at : at + max(count, 1)]]

    @property
    def total(self) -> int:
        """The total number of points."""
        return int(self._sizes.sum())
