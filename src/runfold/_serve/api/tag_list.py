"""Tags of every kind, each with its number of runs and its first and last step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NotRequired, TypedDict

from runfold._serve.http.endpoint import endpoint
from runfold._serve.page_vocabulary import JsonNumber
from runfold._tables.by_run.kept_statistics import FIRST_STEP, KeptStatistics
from runfold._tables.by_run.run_columns import MOST_TAGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from runfold._index.facts import Facts
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
    """Tags by kind, and the number of tags left out per kind.

    Reports from older versions lack `leftOut`.
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
    """List the tags of every kind, in order of first appearance.

    Covers the given runs, by default all; `first` and `last` are the lowest and highest step in
    these runs. At most MOST_TAGS are listed per kind; `leftOut` is the number of other tags.
    """
    found: dict[str, dict[str, _Tag]] = {}
    others: dict[str, set[str]] = {}

    def is_left_out(kind: str, tag: str) -> bool:
        known = found.setdefault(kind, {})
        if tag in known or len(known) < MOST_TAGS:
            return False
        others.setdefault(kind, set()).add(tag)
        return True

    def add(tags: Iterable[tuple[str, str, NDArray[np.int64]]]) -> None:
        """Add the tags of a run."""
        counted = set()
        for kind, tag, steps in tags:
            if not len(steps):
                continue
            low, high = int(steps.min()), int(steps.max())
            known = found[kind].setdefault(tag, _Tag(0, low, high))
            known.runs += (kind, tag) not in counted
            known.first, known.last = min(known.first, low), max(known.last, high)
            counted.add((kind, tag))

    facts = source.facts() if runs is None else None
    scalars = None if facts is None else _find_scalars(facts)
    if facts is None or scalars is None:
        for log in source.logs(runs):
            add(_find_tags(log, is_left_out))
    else:
        for row, tags in facts.tag_lists():
            if tags:
                found["scalar"] = scalars
            if row in facts.logs:
                add(_find_payloads(facts.logs[row], is_left_out))
    return _describe(found, {kind: len(names) for kind, names in others.items()})


def _find_scalars(facts: Facts) -> dict[str, _Tag] | None:
    """Return the scalar tags of all runs; None if there are too many."""
    names = {tag for _, tags in facts.tag_lists() for tag in tags}
    if len(names) > MOST_TAGS:
        return None
    found: dict[tuple[int, int], tuple[str, _Tag]] = {}
    for tag in names:
        statistics = KeptStatistics(facts, tag)
        rows, lowest = statistics.find(FIRST_STEP)
        if len(rows):
            row, highest = int(rows[0]), statistics.last_step()[1]
            # In order of first appearance.
            position = row, facts.tags_of(row).index(tag)
            found[position] = tag, _Tag(len(rows), int(lowest.min()), int(highest.max()))
    return dict(entry for _, entry in sorted(found.items()))


def _describe(found: dict[str, dict[str, _Tag]], left_out: dict[str, int]) -> TagsResponse:
    return {
        "kinds": {
            kind: [
                {"tag": tag, "runs": entry.runs, "first": entry.first, "last": entry.last}
                for tag, entry in named.items()
            ]
            for kind, named in found.items()
            if named
        },
        "leftOut": left_out,
    }


def _find_tags(
    log: RunLog, is_left_out: Callable[[str, str], bool]
) -> Iterator[tuple[str, str, NDArray[np.int64]]]:
    """Yield the kind, tag and steps of a run's values, except those left out."""
    for tag in log.scalars:
        if not is_left_out("scalar", tag):
            yield "scalar", tag, log.scalars[tag].steps
    yield from _find_payloads(log, is_left_out)


def _find_payloads(
    log: RunLog, is_left_out: Callable[[str, str], bool]
) -> Iterator[tuple[str, str, NDArray[np.int64]]]:
    for (kind, tag), payloads in log.payloads.items():
        # A mesh is requested by name, but each of its parts is stored in a separate tag.
        name = _mesh_name(log, payloads) if kind == "mesh" else tag
        if not is_left_out(kind, name):
            yield kind, name, payloads.steps


def _mesh_name(log: RunLog, payloads: Payloads) -> str:
    from runfold._tables.frames.decoded_values import (
        mesh_name,  # imported late, because it loads all decoders
    )

    return mesh_name(log, payloads)
