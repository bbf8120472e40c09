"""One event file: its tags, and the rows that it has for each table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._conventions import HPARAMS_SESSION_START
from runfold._events.kinds import stored_value
from runfold._logdir.restarts import visible
from runfold.compat.tbparse.value_columns import READERS, parse_hparams
from runfold.compat.tensorboard.event_index import Index
from runfold.compat.tensorboard.journal import Journal, logger

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runfold._logdir.bulk_read import Reader
    from runfold.compat.tbparse.value_columns import Columns

_TEXT_SUFFIX = "/text_summary"


@dataclass(frozen=True, slots=True)
class Piece:
    """The rows of one event type in one file, tag after tag.

    Attributes:
        folder: below that of the reader, '' for its own.
        file: the file's name.
        tags: of the rows; one may come twice.
        lengths: how many rows each tag has.
        columns: `step` and `wall_time`, but for hparams, and those of the type.
    """

    folder: str
    file: str
    tags: list[str]
    lengths: list[int]
    columns: Columns


class Leaf:
    """One event file, indexed when first asked for; values are read when they are needed.

    With `has_times`, what is read has a column `wall_time`.
    """

    def __init__(self, path: str, has_times: bool) -> None:
        self.path = path
        self.has_times = has_times
        self._found: Index | None = None
        # All that a file has which holds nothing but scalars: its index is let go then,
        # which takes twice as much memory.
        self._scalars: Piece | None = None

    def load(self, reader: Reader) -> None:
        """Index the file with a reader that many may share, unless it was done before."""
        if self._found is None and self._scalars is None:
            journal = Journal(self.path)
            journal.read(reader)
            self._found = Index(journal, has_purges=True)

    @property
    def _index(self) -> Index:
        if self._found is None:
            raise AssertionError("`load` comes first")
        return self._found

    @cached_property
    def _has_purges(self) -> bool:
        """Whether restarts may have made anything wrong: a quick look that mostly says no."""
        steps = self._index.items["step"]
        return bool(self._index.journal.restarts) or bool((steps[1:] < steps[:-1]).any())

    @cached_property
    def _plugin_tags(self) -> dict[str, list[str]]:
        tags = self._index.journal.tags
        plugins = tags.plugins()
        found: dict[str, list[str]] = {"hparams": [], "text": []}
        for number, name in enumerate(self._index.names):
            plugin = plugins[tags.plugin(number)]
            if plugin in found:
                found[plugin].append(name)
        return found

    @cached_property
    def _hparams(self) -> dict[str, Any]:
        if HPARAMS_SESSION_START not in self._plugin_tags["hparams"]:
            return {}
        number = self._index.names.index(HPARAMS_SESSION_START)
        metadata = self._index.journal.tags.metadata(number) or b""
        try:
            return parse_hparams(stored_value.plugin_content(metadata))
        except ValueError as error:
            logger.warning("%s: %s; they are left out.", self.path, error)
            return {}

    def list_tags(self, event_type: str) -> list[str]:
        """The tags of a type, by first appearance; hparams by name."""
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
        """The rows of a type, or None; what does not decode is logged and left out."""
        if self._scalars is not None:
            return replace(self._scalars, folder=folder) if event_type == "scalars" else None
        if event_type == "hparams":
            tags, values = list(self._hparams), list(self._hparams.values())
            return Piece(folder, file, tags, [1] * len(tags), {"value": values}) if tags else None
        found = {
            tag: self._shown(event_type, tag, rows) for tag, rows in self._rows(event_type).items()
        }
        lengths = [len(rows) for rows in found.values()]
        if not sum(lengths):
            return None
        tags = list(found)
        if event_type == "text":  # torch and tensorboardX write the suffix
            tags = [tag.removesuffix(_TEXT_SUFFIX) for tag in tags]
        rows = np.concatenate(list(found.values()))
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
            self._scalars, self._found = piece, None
        return piece

    def _has_more_than_scalars(self) -> bool:
        kinds = ("histograms", "images", "audio", "tensors")
        return any(self._index.rows(kind) for kind in kinds) or any(self._plugin_tags.values())

    def _shown(self, event_type: str, tag: str, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """The rows without those that a restart made wrong; tensors are never dropped."""
        if event_type in ("tensors", "text") or not self._has_purges:
            return rows
        steps = self._index.items["step"][rows]
        mask = visible(steps, self._index.purges.of(tag, rows), "session")
        return rows if mask is None else rows[mask]

    def _note(self, event_type: str, lost: NDArray[np.intp]) -> None:
        names = {self._index.names[tag] for tag in self._index.items["tag"][lost].tolist()}
        logger.warning(
            "%s: %d values of %s could not be decoded and are left out of the %s.",
            *(self.path, len(lost), sorted(names), event_type),
        )
