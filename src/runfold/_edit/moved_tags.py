"""Tags that move from one run to another: their targets and the files they arrive in."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._conventions import EVENT_FILE_MARK, EVENT_FILE_PREFIX, MOVED_INFIX
from runfold._core.encoder import EventBuffer
from runfold._edit.edit_report import TagMove
from runfold._edit.edit_rules import Rules
from runfold._edit.record_stream import copy_records
from runfold._edit.renaming import list_renames, rename
from runfold._edit.run_order import RunEdit, list_limits, number_name
from runfold._edit.run_plan import check_name
from runfold._edit.survey import Survey, is_reserved, picture_of
from runfold._edit.tag_rules import RunRewrite, TagChanges
from runfold._humanize import file_order, human_count, human_list

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runfold._core.rewriter import Rewriter
    from runfold._edit.edited_files import Output


@dataclass(slots=True)
class Arrival:
    """The tags that move from one run to another, and the name of the file for them."""

    source: RunEdit
    # The run in the result that the source becomes or is merged into.
    origin: str
    target: str
    rewrite: RunRewrite
    counts: NDArray[Any] = field(default_factory=lambda: np.zeros((0, 7), np.int64))
    file_name: str = ""

    @property
    def move(self) -> TagMove:
        """The move, for the report."""
        kept = self.counts[:, 2]
        return TagMove(self.target, int((kept > 0).sum()), int(kept.sum()))


def choose_targets(
    surveys: Sequence[Survey], rules: Rules, changes: TagChanges, names: Mapping[str, str]
) -> dict[str, dict[str, str]]:
    """Return the new run of each moved tag, by its current run; other tags are omitted.

    `names` has the new names of runs, for `{run}`. Tags that describe a run move
    only if they are named in full, and boxes move with their image. Raises
    UnknownTag, and CannotEdit for an invalid run name.
    """
    tags = list(dict.fromkeys(name for survey in surveys for name in survey.names))
    if changes.in_scope is not None:
        tags = [tag for tag in tags if tag in changes.in_scope]
    named = {tag for tag, _ in list_renames(rules.move_tags)}
    movable = [tag for tag in tags if tag in named or not is_reserved(tag)]
    forms = rename(movable, rules.move_tags, verb="moved")
    for tag in tags:
        if picture_of(tag) in forms:
            forms[tag] = forms[picture_of(tag)]
    targets: dict[str, dict[str, str]] = {}
    for survey in surveys:
        run = names[survey.run.name]
        for tag in survey.names:
            if tag in forms:
                target = check_name(forms[tag].replace("{run}", run))
                if target != run:
                    targets.setdefault(survey.run.name, {})[tag] = target
    return targets


def plan_arrivals(
    streams: Mapping[str, Sequence[RunEdit]],
    targets: Mapping[str, Mapping[str, str]],
    rules: Rules,
    changes: TagChanges,
) -> dict[str, list[Arrival]]:
    """Return the arrivals in each run, in reading order.

    `streams` maps each run in the result to its source runs.

    Values hidden by a restart in the source must stay hidden. If a new run receives
    tags from only one run, the markers move with them. In any other run, a marker
    would also hide values from other runs, so the values that it hides are left out
    instead.
    """
    arrivals_by_run: dict[str, list[Arrival]] = {}
    for origin, stream in sorted(streams.items(), key=lambda item: (item[1][0].start, item[0])):
        for run, hidden in zip(stream, list_limits(stream, rules), strict=True):
            moves = targets.get(run.name, {})
            for target in dict.fromkeys(moves.values()):
                tags = frozenset(tag for tag, goal in moves.items() if goal == target)
                rewrite = RunRewrite(run.rewrite.survey, rules, changes, tags, is_apart=True)
                rewrite.limit, rewrite.limits = run.rewrite.limit, hidden
                arrivals_by_run.setdefault(target, []).append(Arrival(run, origin, target, rewrite))
    for target, arrivals in arrivals_by_run.items():
        is_alone = target not in streams and len({arrival.origin for arrival in arrivals}) == 1
        for arrival in arrivals:
            arrival.rewrite.has_markers = is_alone
            if is_alone:
                arrival.rewrite.limits = None
            arrival.counts = arrival.rewrite.prepare(needs_counts=True)
        arrivals_by_run[target] = [arrival for arrival in arrivals if arrival.move.values]
        _name_files(arrivals_by_run[target], streams.get(target, ()))
    return {target: arrivals for target, arrivals in arrivals_by_run.items() if arrivals}


def write_arrival(arrival: Arrival, folder: str, output: Output, rules: Rules) -> Rewriter:
    """Write an arrival as a file in the folder of its target run."""
    rewriter = arrival.rewrite.rewriter()
    files = arrival.rewrite.survey.sizes
    output.begin(folder, arrival.file_name, next(iter(files)))
    head = EventBuffer()
    head.file_version(arrival.source.start + rules.shift_time)
    if arrival.rewrite.has_markers and arrival.source.marker is not None:
        head.session_start(arrival.source.marker, arrival.source.start + rules.shift_time)
    output.write(head)
    for path, size in files.items():
        copy_records(path, rewriter, output.write, size=size)
    output.end()
    return rewriter


def describe_moves(
    arrivals: Mapping[str, Sequence[Arrival]], streams: Mapping[str, Sequence[RunEdit]]
) -> list[str]:
    """Return notes on values that were left out and runs without remaining tags."""
    notes = []
    everything = [arrival for group in arrivals.values() for arrival in group]
    hidden = {each.target: each.rewrite.hidden for each in everything if each.rewrite.hidden}
    if hidden:
        count = human_count(sum(each.rewrite.hidden for each in everything), "value")
        notes.append(
            f"Left out {count} that restarts hide in the tags moved to {human_list(hidden)}."
        )
    emptied = [
        origin
        for origin in dict.fromkeys(each.origin for each in everything)
        if origin not in arrivals and not any(run.counts[:, 2].any() for run in streams[origin])
    ]
    if emptied:
        notes.append(
            f"No tags remain in {human_list(emptied)}. To delete empty runs, edit again with"
            " --delete-runs."
        )
    return notes


def _name_files(arrivals: Sequence[Arrival], residents: Sequence[RunEdit]) -> None:
    """Name the files of arrivals so that readers read them in order, after the run's own files."""
    taken = [name for run in residents for name in run.file_names]
    for number, arrival in enumerate(arrivals):
        own = os.path.basename(arrival.source.rewrite.survey.run.files[0])
        if not taken:
            is_only = len(arrivals) == 1
            start = arrivals[0].source.start
            arrival.file_name = own if is_only else number_name(own, start, number)
        else:
            arrival.file_name = _name_after(taken)
            taken.append(arrival.file_name)


def _name_after(names: Sequence[str]) -> str:
    """Return a name that sorts after the others, both alphabetically and by number.

    The name starts like the last of the others, so that files that a job writes later
    sort after it.
    """
    last = max(names)
    top, _, number = last.rpartition(MOVED_INFIX)
    is_moved = bool(top) and len(number) == 4 and number.isdigit() and number < "9999"
    choices = [f"{top}{MOVED_INFIX}{int(number) + 1:04d}"] if is_moved else []
    tops = (last, EVENT_FILE_PREFIX, f"~{EVENT_FILE_MARK}")
    choices += [f"{top}{MOVED_INFIX}0001" for top in tops]
    for choice in choices:
        if choice > last and all(file_order(choice) > file_order(name) for name in names):
            return choice
    return choices[0]
