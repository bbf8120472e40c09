"""An index of a run's items at one moment: rows by kind and tag, and purges after restarts."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from runfold._core.event import Form
from runfold._core.items import group_items
from runfold._logdir.restarts import visible
from runfold.compat.tensorboard.journal import logger
from runfold.compat.tensorboard.purges import Purges, find_purges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runfold.compat.tensorboard.journal import Journal

KINDS = {
    "scalars": Form.SCALAR,
    "histograms": Form.HISTOGRAM,
    "images": Form.IMAGE,
    "audio": Form.AUDIO,
    "tensors": Form.TENSOR,
    "run_metadata": Form.RUN_METADATA,
}

_MAX_WRITER_NAME = 128


class Index:
    """A snapshot of a journal's items by kind and tag, computed on request."""

    def __init__(self, journal: Journal, has_purges: bool) -> None:
        self.journal = journal
        self.items = journal.items
        self.generation = journal.generation
        self.names = journal.tags.names()
        self._restarts = journal.restarts
        self._stretches = journal.starts
        self._has_purges = has_purges

    def rows(self, kind: str) -> dict[str, NDArray[np.intp]]:
        """Return the rows of each tag of a kind, in order of first appearance."""
        return self._rows.get(KINDS[kind], {})

    def last(self, form: Form) -> int | None:
        """Return the last row of a form, or None."""
        rows = self._rows.get(form, {}).get("")
        return None if rows is None else int(rows[-1])

    @cached_property
    def purges(self) -> Purges:
        """The purges that TensorBoard performs after restarts."""
        if not self._has_purges:
            return Purges()
        return find_purges(self.items, self.names, self._restarts, self.versions, self._stretches)

    def count_purged(self) -> int:
        """Return the number of values that TensorBoard would drop after restarts."""
        if not self.purges.found:
            return 0
        masks = (
            visible(self.items["step"][rows], self.purges.of(tag, rows), "session")
            for kind in ("scalars", "histograms", "images", "audio")
            for tag, rows in self.rows(kind).items()
        )
        return sum(int((~mask).sum()) for mask in masks if mask is not None)

    @cached_property
    def versions(self) -> list[tuple[int, float]]:
        """The row and number of each file version; -1 for an invalid version."""
        texts = self.journal.texts(Form.FILE_VERSION, len(self.items))
        return [(row, _parse_version(text)) for row, text in texts]

    @cached_property
    def _rows(self) -> dict[int, dict[str, NDArray[np.intp]]]:
        parts_of: dict[int, dict[str, list[NDArray[np.intp]]]] = {}
        for rows in group_items(self.items, len(self.names)):
            first = self.items[rows[0]]
            form, tag = int(first["form"]), int(first["tag"])
            name = self.names[tag] if tag >= 0 else ""
            named = {name: rows}
            if form == Form.TENSOR and not name:
                named = self._by_node(rows)
            for tag_name, part in named.items():
                parts_of.setdefault(form, {}).setdefault(tag_name, []).append(part)
        return {
            form: {
                name: parts[0] if len(parts) == 1 else np.sort(np.concatenate(parts))
                for name, parts in tags.items()
            }
            for form, tags in parts_of.items()
        }

    def _by_node(self, rows: NDArray[np.intp]) -> dict[str, NDArray[np.intp]]:
        """Group tensors without a tag by node name, as very old plugins wrote them."""
        from tensorboard.compat.proto.summary_pb2 import Summary

        nodes: dict[str, list[int]] = {}
        for row, value in zip(rows.tolist(), self.journal.fetch(rows), strict=True):
            nodes.setdefault(Summary.Value.FromString(value).node_name, []).append(row)
        return {node: np.array(group, np.intp) for node, group in nodes.items()}


def read_source(journal: Journal) -> str | None:
    """Return the last writer name in a run's files, or None if it is empty or too long."""
    from tensorboard.compat.proto.event_pb2 import SourceMetadata

    texts = journal.texts(Form.SOURCE, len(journal.items))
    writer = SourceMetadata.FromString(texts[-1][1]).writer if texts else ""
    return writer if 0 < len(writer) <= _MAX_WRITER_NAME else None


def _parse_version(text: bytes) -> float:
    try:
        return float(text.decode().split("brain.Event:")[-1])
    except ValueError:
        logger.warning("Invalid file version: %r. Decreasing steps count as restarts.", text[:80])
        return -1
