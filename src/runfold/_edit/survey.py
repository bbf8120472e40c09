"""The content of a run before an edit: tags, kinds, steps."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from runfold._conventions import BOXES_PREFIX, CUSTOM_SCALARS_TAG, HPARAMS_PREFIX, is_story_tag
from runfold._core.decider import FORMS, PLUGINS
from runfold._core.rewriter import Rewriter
from runfold._core.tag_table import Tags
from runfold._edit.record_stream import copy_records
from runfold._events.kinds import kind_of
from runfold._humanize import escape, human_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from runfold._logdir.discover import FoundRun


@dataclass(slots=True)
class Survey:
    """The content of one run; the arrays have one row per tag number.

    `kinds` maps every form and plugin to a kind. `sizes` has the size of each file
    when it was read, because a second pass must see the same bytes. `restarts` are
    the steps of the run's restart markers.
    """

    run: FoundRun
    tags: Tags
    names: list[str]
    counts: NDArray[np.int64]
    kinds: list[list[str]]
    met: NDArray[np.int64]
    start: float
    restarts: list[int]
    sizes: dict[str, int]
    events: int
    notes: list[str] = field(default_factory=list)

    @property
    def values(self) -> int:
        """The number of values in the run."""
        return int(self.counts[:, 0].sum())

    def has_kind(self, kind: str) -> bool:
        """Return whether any value is of this kind; graphs are not considered."""
        return any(
            self.met[form, plugin] and self.kinds[form][plugin] == kind
            for form in range(FORMS)
            for plugin in range(PLUGINS)
        )


def survey(run: FoundRun) -> Survey:
    """Count the content of a run in one pass over its files. Raises CannotEdit if one is broken."""
    tags = Tags()
    rewriter = Rewriter(tags)
    notes = []
    sizes = {path: os.path.getsize(path) for path in run.files}
    for path, size in sizes.items():
        bad = rewriter.bad_records
        tail = copy_records(path, rewriter, size=size)
        file_name = f"{escape(run.name)}/{escape(os.path.basename(path))}"
        if rewriter.bad_records > bad:
            skipped = human_count(rewriter.bad_records - bad, "record")
            notes.append(f"{file_name}: left out {skipped} with a bad checksum.")
        if tail is not None:
            notes.append(
                f"{file_name}: left out {human_count(tail.size, 'byte')} at the end, where no "
                "complete record starts. `runfold repair` may recover some of this data."
            )
    names = tags.names()
    return Survey(
        run,
        tags,
        names,
        _pad(rewriter.count(), len(names)),
        list_kinds(tags.plugins()),
        rewriter.count_kinds(),
        rewriter.first_wall_time,
        rewriter.restarts,
        sizes,
        rewriter.events,
        notes,
    )


def list_kinds(plugins: Sequence[str]) -> list[list[str]]:
    """Return the kind of a value by its form and plugin number."""
    named = [*plugins, *[""] * (PLUGINS - len(plugins))]
    return [[kind_of(form, plugin) for plugin in named] for form in range(FORMS)]


def is_reserved(tag: str) -> bool:
    """Return whether a tag describes the run itself: its story, hparams or layout."""
    return (
        (is_story_tag(tag) and not tag.startswith(BOXES_PREFIX))
        or tag.startswith(HPARAMS_PREFIX)
        or tag == CUSTOM_SCALARS_TAG
    )


def picture_of(tag: str) -> str:
    """Return the tag of the image for a tag of boxes; any other tag is returned unchanged."""
    return tag.removeprefix(BOXES_PREFIX)


def _pad(counts: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    missing = np.zeros((max(0, rows - len(counts)), counts.shape[1]), np.int64)
    return np.concatenate([counts, missing])[:rows]
