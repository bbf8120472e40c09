"""One event file: its tags, and its rows for each table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._conventions import HPARAMS_SESSION_START, TEXT_SUFFIX
from runfold._events.kinds import stored_value
from runfold._logdir.restarts import visible
from runfold.compat.tbparse.value_columns import READERS, parse_hparams
from runfold.compat.tensorboard.event_index import Index
from runfold.compat.tensorboard.journal import Journal, logger

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runfold._logdir.bulk_read import Reader
    from runfold.compat.tbparse.value_columns import Columns


@dataclass(frozen=True, slots=True)
class Piece:
    """The rows of one event type in one file, tag after tag.

    Attributes:
        folder: the path below the reader's folder, '' for that folder itself.
        file: the file's name.
        tags: the tags of the rows; a tag can occur twice.
        lengths: the number of rows of each tag.
        columns: `step` and `wall_time` (except for hparams), and the columns of the type.
    """

    folder: str
    file: str
    tags: list[str]
    lengths: list[int]
    columns: Columns


class Leaf:
    """One event file, indexed on first use; values are read when they are needed.

    If `has_times` is set, tables have a `wall_time` column.
    """

    def __init__(self, path: str, has_times: bool) -> None:
        self.path = path
        self.has_times = has_times
        self._loaded: Index | None = None
        # The contents of a file with only scalars. The file's index, which needs twice
        # as much memory, is released.
        self._scalars: Piece | None = None

    def load(self, reader: Reader) -> None:
        """Index the file, unless it is already indexed. Many files can share the reader."""
        if self._loaded is None and self._scalars is None:
            journal = Journal(self.path)
            journal.read(reader)
            self._loaded = Index(journal, has_purges=True)

    @property
    def _index(self) -> Index:
        if self._loaded is None:
            raise AssertionError("call `load` first")
        return self._loaded

    @cached_property
    def _has_purges(self) -> bool:
        """Whether restarts may have made values obsolete; fast to check, and usually False."""
        steps = self._index.items["step"]
        return bool(self._index.journal.restarts) or bool((steps[1:] < steps[:-1]).any())

    @cached_property
    def _plugin_tags(self) -> dict[str, list[str]]:
        tags = self._index.journal.tags
        plugins = tags.plugins()
        names: dict[str, list[str]] = {"hparams": [], "text": []}
        for number, name in enumerate(self._index.names):
            plugin = plugins[tags.plugin(number)]
            if plugin in names:
                names[plugin].append(name)
        return names

    @cached_property
    def _hparams(self) -> dict[str, Any]:
        if HPARAMS_SESSION_START not in self._plugin_tags["hparams"]:
            return {}
        number = self._index.names.index(HPARAMS_SESSION_START)
        metadata = self._index.journal.tags.metadata(number) or b""
        try:
            return parse_hparams(stored_value.plugin_content(metadata))
        except ValueError as error:
            logger.warning("%s: the hparams were skipped: %s", self.path, error)
            return {}

    def list_tags(self, event_type: str) -> list[str]:
        """Return the tags of a type in order of first appearance; hparams are sorted by name."""
        if self._scalars is not None:
            return self._scalars.tags.copy() if event_type == "scalars" else []
        return list(self._hparams if event_type == "hparams" else self._rows(event_type))

    def _rows(self, event_type: str) -> dict[str, NDArray[np.intp]]:
        if event_type not in ("tensors", "text"):
            return self._index.rows(event_type)
        tensors = self._index.rows("tensors")
        if event_type == "text":
            return {tag: tensors[tag] for tag in self._plugin_tags["text"] if tag in tensors}
        owned = {tag for tags in self._plugin_tags.values() for tag in tags}
        return {tag: rows for tag, rows in tensors.items() if tag not in owned}

    def read(self, event_type: str, folder: str, file: str) -> Piece | None:
        """Return the rows of a type, or None; values that do not decode are logged and skipped."""
        if self._scalars is not None:
            return replace(self._scalars, folder=folder) if event_type == "scalars" else None
        if event_type == "hparams":
            tags, values = list(self._hparams), list(self._hparams.values())
            return Piece(folder, file, tags, [1] * len(tags), {"value": values}) if tags else None
        rows_of = {
            tag: self._shown(event_type, tag, rows) for tag, rows in self._rows(event_type).items()
        }
        lengths = [len(rows) for rows in rows_of.values()]
        if not sum(lengths):
            return None
        tags = list(rows_of)
        if event_type == "text":  # torch and tensorboardX write the suffix
            tags = [tag.removesuffix(TEXT_SUFFIX) for tag in tags]
        rows = np.concatenate(list(rows_of.values()))
        columns, lost = READERS[event_type](self._index, rows)
        if lost:
            self._note(event_type, rows[lost])
            is_kept = np.ones(len(rows), np.int64)
            is_kept[lost] = 0
            counts = np.cumsum(is_kept)[np.cumsum(lengths) - 1]
            lengths = np.diff(counts, prepend=0).tolist()
            rows = np.delete(rows, lost)
        columns["step"] = self._index.items["step"][rows]
        if self.has_times:
            columns["wall_time"] = self._index.items["wall_time"][rows]
        piece = Piece(folder, file, tags, lengths, columns) if len(rows) else None
        if event_type == "scalars" and not self._has_more_than_scalars():
            self._scalars, self._loaded = piece, None
        return piece

    def _has_more_than_scalars(self) -> bool:
        kinds = ("histograms", "images", "audio", "tensors")
        return any(self._index.rows(kind) for kind in kinds) or any(self._plugin_tags.values())

    def _shown(self, event_type: str, tag: str, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the rows that no restart made obsolete; tensors are never dropped."""
        if event_type in ("tensors", "text") or not self._has_purges:
            return rows
        steps = self._index.items["step"][rows]
        mask = visible(steps, self._index.purges.of(tag, rows), "session")
        return rows if mask is None else rows[mask]

    def _note(self, event_type: str, lost: NDArray[np.intp]) -> None:
        names = {self._index.names[tag] for tag in self._index.items["tag"][lost].tolist()}
        logger.warning(
            "%s: %d values of %s could not be decoded and are missing from the %s.",
            *(self.path, len(lost), sorted(names), event_type),
        )
