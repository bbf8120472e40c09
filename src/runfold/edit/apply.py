"""An edit from beginning to end: survey, decide, write beside, put in place."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runfold.core.encoder import EventBuffer
from runfold.core.rewriter import Boundary, Rewriter
from runfold.edit.alive import being_written, find_changed, refuse_live, stamp_files
from runfold.edit.output import Output
from runfold.edit.parts import Parts
from runfold.edit.place import build, choose_place, find_root
from runfold.edit.plan import Moves, plan_moves
from runfold.edit.records import copy_records
from runfold.edit.report import Report, RunReport
from runfold.edit.rewrite import RunRewrite, resolve_tags
from runfold.edit.rules import HIGHEST, Rules
from runfold.edit.survey import survey
from runfold.edit.tree import Tree, place_event_file, read_tree
from runfold.errors import CannotEdit
from runfold.logdir.discover import discover
from runfold.logdir.progress import progress_bar
from runfold.text import escape, human_list

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runfold.edit.alive import Stamp

StrPath = str | os.PathLike[str]

_OVERLAPS = {"marker": "is hidden", "cut": "is removed", "keep": "is kept beside it"}


def edit(
    logdir: StrPath,
    output: StrPath | None = None,
    *,
    in_place: bool = False,
    backup: StrPath | None = None,
    dry_run: bool = False,
    force: bool = False,
    progress: bool | None = None,
    **rules: Any,
) -> Report:
    """Write a changed copy of a logdir, and return what became of each run.

    Args:
        logdir: a folder with runs below it, or of one run.
        output: the new folder. Its other files are copies of those beside the
            event files: artifacts, checkpoints, projector files.
        in_place: let the result take the place of the logdir, which is kept.
        backup: where it is kept then; `LOGDIR.backup-DATE-TIME` by default.
        dry_run: only say what would change; nothing is written.
        force: change a run in place although it is being written.
        progress: show a bar; by default where a person watches.
        rules: what changes; see `runfold.edit.rules.Rules`.

    The result appears when all of it is on the disk. On any error, and when the
    process is killed, the logdir is as it was. Raises UnknownTag or UnknownRun for
    a rule that fits nothing, CannotEdit for one that would spoil the log, and
    OutputExists.

    Example:
        >>> edit("runs", "clean", delete_tags="debug/*", rename_tags={"los": "loss"})
    """
    wanted = Rules(**rules)
    if dry_run:
        return _Job(find_root(logdir), wanted, is_linked=False).work(None, progress)
    place = choose_place(logdir, output, in_place, backup)
    job = _Job(place.source, wanted, is_linked=place.is_in_place)
    if place.is_in_place and not force:
        job.refuse_live()
    with build(place) as result:
        report = job.work(result.folder, progress)
        changed = find_changed(job.stamps)
        if changed and place.is_in_place and not force:
            raise being_written(changed)
        if place.is_in_place and not report.changed:
            result.cancel()
            return report
    if changed:
        report.notes.append(
            f"Written to meanwhile, so that the end may be missing: {human_list(changed)}."
        )
    report.target, report.backup = place.target, place.backup
    return report


@dataclass(slots=True)
class _Run:
    """One run and what its files become; `marker` is the step of a restart that goes before."""

    rewrite: RunRewrite
    counts: NDArray[Any]
    marker: int | None = None
    # Where it stands among the files of a merged run.
    number: int | None = None
    first_start: float = 0.0


class _Job:
    """The rules worked out for a logdir as it is."""

    def __init__(self, root: str, rules: Rules, is_linked: bool) -> None:
        self.rules = rules
        self.is_linked = is_linked
        self.tree: Tree = read_tree(root, discover(root))
        if is_linked:
            self.tree.check_links()
        self.moves: Moves = plan_moves(list(self.tree.runs), rules)
        # A run that does not move stays where it is, also where its name as text is another.
        self.places = self.tree.list_places() | {
            name: target for name, target in self.moves.targets.items() if target != name
        }
        for name in self.moves.deleted:
            del self.places[name]
        files = [path for run in self.tree.runs.values() for path in run.files]
        self.stamps: dict[str, Stamp] = stamp_files(files)

    def refuse_live(self) -> None:
        """Refuse a logdir that is being written. Raises CannotEdit."""
        refuse_live((run.path for run in self.tree.runs.values()), self.stamps)

    def work(self, folder: str | None, progress: bool | None) -> Report:
        """Write everything below a folder, or only count."""
        report = Report()
        runs = self._prepare(report)
        with (
            Output(folder) as output,
            progress_bar(
                lambda: sum(s[2] for s in self.stamps.values()), "Editing", progress
            ) as go,
        ):
            if folder is not None:
                self.tree.place_others(self.places, folder, self.is_linked)
            for name in self.tree.runs:
                report.runs.append(self._work_on(name, runs.get(name), output, report.notes))
                go(report.runs[-1].bytes[0])
        if folder is not None:
            self.tree.copy_rights(self.places, folder)
        return report

    def _prepare(self, report: Report) -> dict[str, _Run]:
        """Survey the runs in scope and work the rules out for each."""
        merged = {name for group in self.moves.merged.values() for name in group}
        looks_inside = self.rules.has_tag_rules or self.rules.split is not None
        surveys = [
            survey(self.tree.runs[name])
            for name in self.moves.in_scope
            if name not in self.moves.deleted and (looks_inside or name in merged)
        ]
        changes = resolve_tags(surveys, self.rules)
        for kind in self.rules.strip:
            if kind not in ("graph", "run_metadata") and not any(s.has_kind(kind) for s in surveys):
                report.notes.append(f"No run has values of the kind '{kind}'.")
        runs = {}
        for one in surveys:
            rewrite = RunRewrite(one, self.rules, changes)
            is_merged = one.run.name in merged
            runs[one.run.name] = _Run(rewrite, rewrite.prepare(needs_counts=is_merged))
        for group in self.moves.merged.values():
            report.notes += self._chain([runs[name] for name in group])
        return runs

    def _chain(self, group: list[_Run]) -> list[str]:
        """Put the runs that become one in the order in which they began; says what overlaps."""
        notes = []
        group.sort(key=lambda run: (_start(run), run.rewrite.survey.run.name))
        steps = [run.rewrite.first_step(run.counts) for run in group]
        ends = [run.rewrite.last_step(run.counts) for run in group]
        number = 0
        for place, run in enumerate(group):
            step = steps[place]
            if step is not None and any(end >= step for end in ends[:place]):
                name = escape(run.rewrite.survey.run.name)
                notes.append(
                    f"Run '{name}' goes on at step {step}: what the runs before it have from there"
                    f" on {_OVERLAPS[self.rules.overlap]}."
                )
            run.number, run.first_start = number, _start(group[0])
            number += len(run.rewrite.survey.run.files)
            if self.rules.overlap == "marker":
                # The first run, too: TensorBoard does not act on the first marker it meets.
                run.marker = step
            later = [after for after in steps[place + 1 :] if after is not None]
            if self.rules.overlap == "cut" and later:
                run.rewrite.limit = min(later) - self.rules.shift_steps
                run.counts = run.rewrite.prepare(needs_counts=True)
        return notes

    def _work_on(self, name: str, run: _Run | None, output: Output, notes: list[str]) -> RunReport:
        found = self.tree.runs[name]
        size = sum(self.stamps[path][2] for path in found.files)
        if name in self.moves.deleted:
            return RunReport(name, (), *_count_deleted(found), 0, (size, 0))
        target = self.moves.targets[name]
        if run is None or (run.rewrite.is_idle and run.number is None and not self.rules.split):
            if output.root is not None:
                for path in found.files:
                    place_event_file(path, output.root, self.places[name], self.is_linked)
            events, values = (0, 0) if run is None else _count_before(run)
            return RunReport(name, (target,), (events,) * 2, (values,) * 2, 0, (size, size))
        notes += run.rewrite.survey.notes
        return self._rewrite(name, target, run, output)

    def _rewrite(self, name: str, target: str, run: _Run, output: Output) -> RunReport:
        one = run.rewrite.survey
        parts = Parts(target, self.places[name], self._count_parts(run))
        parts.check(self.moves.targets.values())
        rewriter = run.rewrite.rewriter(run.rewrite.boundaries)
        before = output.size
        for number, (path, size) in enumerate(one.sizes.items()):
            base = os.path.basename(path)
            if run.number is not None:
                base = _merged_name(base, run.first_start, run.number + number)
            if number:
                rewriter.begin(is_new_run=self._parts_files)
                parts.advance(self._parts_files)

            def begin(base: str = base, path: str = path) -> None:
                output.begin(parts.current, base, path)

            begin()
            copy_records(
                path,
                rewriter,
                output.write,
                at_boundary=self._cross(parts, rewriter, output, begin, _start(run)),
                after_header=self._marker(run) if number == 0 else None,
                size=size,
            )
        output.end()
        return RunReport(
            name,
            tuple(parts.used),
            (one.events, rewriter.events_kept),
            (one.values, int(rewriter.count()[:, 2].sum())),
            rewriter.values_changed,
            (sum(one.sizes.values()), output.size - before),
        )

    def _cross(
        self,
        parts: Parts,
        rewriter: Rewriter,
        output: Output,
        begin: Callable[[], None],
        start: float,
    ) -> Callable[[], None]:
        """What to do where a part ends and the next begins."""

        def cross() -> None:
            parts.advance()
            begin()
            if rewriter.boundary == Boundary.AT_RESTART:
                header = EventBuffer()
                header.file_version(start + self.rules.shift_time)
                output.write(header)

        return cross

    def _marker(self, run: _Run) -> EventBuffer | None:
        if run.marker is None:
            return None
        marker = EventBuffer()
        marker.session_start(run.marker, _start(run) + self.rules.shift_time)
        return marker

    @property
    def _parts_files(self) -> bool:
        """Whether each file begins a part."""
        return self.rules.split in ("files", "sessions")

    def _count_parts(self, run: _Run) -> int:
        if self.rules.split is None:
            return 1
        sizes = run.rewrite.survey.sizes
        rewriter = run.rewrite.rewriter(run.rewrite.boundaries)
        count = 1
        crossed: list[None] = []
        for number, (path, size) in enumerate(sizes.items()):
            if number:
                rewriter.begin(is_new_run=self._parts_files)
                count += self._parts_files
            copy_records(path, rewriter, at_boundary=lambda: crossed.append(None), size=size)
        return count + len(crossed)


def _start(run: _Run) -> float:
    start = run.rewrite.survey.start
    return start if math.isfinite(start) else 0.0


def _count_before(run: _Run) -> tuple[int, int]:
    return run.rewrite.survey.events, run.rewrite.survey.values


def _count_deleted(found: Any) -> tuple[tuple[int, int], tuple[int, int]]:
    try:
        one = survey(found)
    except CannotEdit:  # what goes need not be sound
        return (0, 0), (0, 0)
    return (one.events, 0), (one.values, 0)


def _merged_name(name: str, start: float, number: int) -> str:
    """A name by which all readers put the files of merged runs in their order."""
    seconds = int(min(max(start, 0.0), HIGHEST))
    return f"events.out.tfevents.{seconds}.{number:04d}.{name.partition('tfevents.')[2] or name}"
