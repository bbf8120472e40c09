"""The tags of every kind: how many runs have each, and from which step to which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NotRequired, TypedDict

from runfold._serve.http.endpoint import endpoint
from runfold._serve.page_vocabulary import JsonNumber
from runfold._tables.by_run.run_columns import MOST_TAGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from runfold._logdir.payloads import Payloads
    from runfold._logdir.run_log import RunLog
    from runfold._serve.run_source import Source


class TagEntry(TypedDict):
    """A tag, how many runs have it, and its first and last step."""

    tag: str
    runs: int
    first: JsonNumber
    last: JsonNumber


class TagsResponse(TypedDict):
    """Tags by kind, and how many more of a kind there are than are listed.

    Reports of older versions have no `leftOut`.
    """

    kinds: dict[str, list[TagEntry]]
    leftOut: NotRequired[dict[str, int]]


@dataclass(slots=True)
class _Tag:
    runs: int
    first: int
    last: int


@endpoint("GET /api/tags", queue="work")
def list_tags(source: Source, runs: Iterable[str] | None = None) -> TagsResponse:
    """The tags of every kind, in the order in which they first appear.

    They are those of some runs, or all; any has a tag between the steps `first` and
    `last`. Of each kind the first MOST_TAGS are listed; `leftOut` says how many others
    there are.
    """
    found: dict[str, dict[str, _Tag]] = {}
    others: dict[str, set[str]] = {}

    def is_left_out(kind: str, tag: str) -> bool:
        known = found.setdefault(kind, {})
        if tag in known or len(known) < MOST_TAGS:
            return False
        others.setdefault(kind, set()).add(tag)
        return True

    for log in source.logs(runs):
        counted = set()
        for kind, tag, steps in _held(log, is_left_out):
            if not len(steps):
                continue
            low, high = int(steps.min()), int(steps.max())
            known = found[kind].setdefault(tag, _Tag(0, low, high))
            known.runs += (kind, tag) not in counted
            known.first, known.last = min(known.first, low), max(known.last, high)
            counted.add((kind, tag))
    return {
        "kinds": {
            kind: [
                {"tag": tag, "runs": one.runs, "first": one.first, "last": one.last}
                for tag, one in named.items()
            ]
            for kind, named in found.items()
            if named
        },
        "leftOut": {kind: len(names) for kind, names in others.items()},
    }


def _held(
    log: RunLog, is_left_out: Callable[[str, str], bool]
) -> Iterator[tuple[str, str, NDArray[np.int64]]]:
    """Yield the kind, the tag and the steps of what a run holds, but for what is left out."""
    for tag in log.scalars:
        if not is_left_out("scalar", tag):
            yield "scalar", tag, log.scalars[tag].steps
    for (kind, tag), payloads in log.payloads.items():
        # A mesh is asked for by its name, and lies in a tag for each of its parts.
        name = _mesh_name(log, payloads) if kind == "mesh" else tag
        if not is_left_out(kind, name):
            yield kind, name, payloads.steps


def _mesh_name(log: RunLog, payloads: Payloads) -> str:
    from runfold._tables.frames.decoded_values import (
        mesh_name,  # and with it all that decodes values
    )

    return mesh_name(log, payloads)
