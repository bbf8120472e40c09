"""What a run holds, counted before anything is changed: tags, kinds, steps."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from runfold.core.decider import FORMS, PLUGINS
from runfold.core.event import Form
from runfold.core.rewriter import Rewriter
from runfold.core.tags import Tags
from runfold.edit.records import copy_records
from runfold.events.kinds import PLUGIN_KINDS
from runfold.events.kinds.boxes import PREFIX as BOXES
from runfold.log.story import PREFIX as STORY
from runfold.text import escape, human_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from runfold.logdir.discover import FoundRun

# These tell of the run, not of a step of it: rules for steps leave them as they are.
STEPLESS_KINDS = frozenset({"graph", "hparams", "layout", "run_metadata"})

_FORM_KINDS = {
    Form.SCALAR: "scalar",
    Form.HISTOGRAM: "histogram",
    Form.IMAGE: "image",
    Form.AUDIO: "audio",
}


@dataclass(slots=True)
class Survey:
    """What one run holds; the arrays have a row for each tag number.

    `kinds` tells of every form and plugin which kind it is, and `sizes` how much of
    each file was there: a second pass must see the same. `restarts` are the steps of
    its restart markers.
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
        """How many values the run has."""
        return int(self.counts[:, 0].sum())

    def has_kind(self, kind: str) -> bool:
        """Whether any value is of a kind; graphs are not looked for."""
        return any(
            self.met[form, plugin] and self.kinds[form][plugin] == kind
            for form in range(FORMS)
            for plugin in range(PLUGINS)
        )


def survey(run: FoundRun) -> Survey:
    """Count what a run holds, in one pass over its files. Raises CannotEdit for broken ones."""
    tags = Tags()
    rewriter = Rewriter(tags)
    notes = []
    sizes = {path: os.path.getsize(path) for path in run.files}
    for path, size in sizes.items():
        bad = rewriter.bad_records
        tail = copy_records(path, rewriter, size=size)
        place = f"{escape(run.name)}/{escape(os.path.basename(path))}"
        if rewriter.bad_records > bad:
            found = human_count(rewriter.bad_records - bad, "record")
            notes.append(f"{place}: {found} with a bad checksum left out.")
        if tail is not None:
            notes.append(
                f"{place}: {human_count(tail.size, 'byte')} at the end left out, which are no whole"
                " record; `runfold repair` may find some in them."
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
    """The kind of a value by its form and the number of its plugin."""
    named = [PLUGIN_KINDS.get(plugin, "tensor") for plugin in plugins]
    named += ["tensor"] * (PLUGINS - len(named))
    # A tensor of many numbers under the scalars plugin is no scalar.
    tensors = ["tensor" if kind == "scalar" else kind for kind in named]
    return [
        [_FORM_KINDS[Form(form)]] * PLUGINS if form in _FORM_KINDS else tensors
        for form in range(FORMS)
    ]


def is_reserved(tag: str) -> bool:
    """Whether a tag belongs to the run as a whole: its story, hparams or layout."""
    return (
        (tag.startswith(STORY) and not tag.startswith(BOXES))
        or tag.startswith("_hparams_/")
        or tag == "custom_scalars__config__"
    )


def picture_of(tag: str) -> str:
    """The tag of the picture that a tag of boxes belongs to; any other tag itself."""
    return tag.removeprefix(BOXES)


def _pad(counts: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    missing = np.zeros((max(0, rows - len(counts)), counts.shape[1]), np.int64)
    return np.concatenate([counts, missing])[:rows]
