"""`edit`: survey the runs, apply the rules, write the result, put it in place."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from runfold._core.encoder import EventBuffer
from runfold._core.rewriter import Boundary, Rewriter
from runfold._edit.edit_report import Report, RunReport, join_parts
from runfold._edit.edit_rules import Rules
from runfold._edit.edit_target import build, choose_destination, find_root
from runfold._edit.edited_files import Output
from runfold._edit.folder_tree import Tree, place_event_file, read_tree
from runfold._edit.live_runs import being_written, find_changed, refuse_live, stamp_files
from runfold._edit.merge_checks import check_together
from runfold._edit.moved_tags import (
    Arrival,
    choose_targets,
    describe_moves,
    plan_arrivals,
    write_arrival,
)
from runfold._edit.record_stream import copy_records, read_wall_time
from runfold._edit.run_order import RunEdit, put_in_order
from runfold._edit.run_plan import Moves, find_folder, plan_moves
from runfold._edit.run_split import Parts, find_part, name_part
from runfold._edit.survey import survey
from runfold._edit.tag_rules import RunRewrite, TagChanges, resolve_tags
from runfold._events.kinds import KINDS
from runfold._humanize import human_list
from runfold._logdir.discover import discover
from runfold._logdir.run_parts import find_parts
from runfold._progress import progress_bar
from runfold.errors import CannotEdit

if TYPE_CHECKING:
    from runfold._edit.live_runs import Stamp

StrPath = str | os.PathLike[str]


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
    """Write an edited copy of a logdir, and return a report on each run.

    Args:
        logdir: the folder of one run, or a folder with runs below it.
        output: the new folder. Other files next to the event files, such as
            artifacts, checkpoints and projector files, are copied too.
        in_place: replace the logdir with the result; the original is kept as a backup.
        backup: the path of the backup; `LOGDIR.backup-DATE-TIME` by default.
        dry_run: only report what would change and write nothing. `output` and `in_place`
            are checked as usual.
        force: edit in place even if a run is being written to.
        progress: show a progress bar; by default, only in a terminal or notebook.
        rules: the changes to make; see `runfold._edit.edit_rules.Rules`.

    The result appears once all of it is on disk. If an error occurs or the process is
    killed, the logdir is unchanged. Raises UnknownTag or UnknownRun for a rule that
    matches nothing, CannotEdit for a rule that would damage the log, and OutputExists
    if the output or the backup already exists and is not an empty folder.

    Examples:
        >>> rf.edit("runs", "clean", delete_tags="debug/*", rename_tags={"los": "loss"})
    """
    checked_rules = Rules(**rules)
    if dry_run and output is None and not in_place and backup is None:
        return _Job(find_root(logdir), checked_rules, is_linked=False).work(None, progress)
    destination = choose_destination(logdir, output, in_place, backup)
    job = _Job(destination.source, checked_rules, is_linked=destination.is_in_place)
    if destination.is_in_place and not force:
        job.refuse_live()
    if dry_run:
        return job.work(None, progress)
    with build(destination) as result:
        report = job.work(result.folder, progress)
        changed = find_changed(job.stamps)
        if changed and destination.is_in_place and not force:
            raise being_written(changed)
        if destination.is_in_place and not report.changed:
            result.cancel()
            return report
    if changed:
        report.notes.append(
            f"Modified during the edit, so recent data may be missing: {human_list(changed)}."
        )
    report.target, report.backup = destination.target, destination.backup
    return report


class _Job:
    """An edit of one logdir: the rules applied to its runs."""

    def __init__(self, root: str, rules: Rules, is_linked: bool) -> None:
        self.rules = rules
        self.is_linked = is_linked
        self.tree: Tree = read_tree(root, discover(root))
        if is_linked:
            self.tree.check_links()
        self.owners = find_parts(self.tree.runs)
        self.moves: Moves = plan_moves(list(self.tree.runs), rules, self.owners)
        # A run that is not renamed keeps its folder, even if its name differs from the path.
        self.run_folders = self.tree.list_folders() | {
            name: target for name, target in self.moves.targets.items() if target != name
        }
        for name in self.moves.deleted:
            del self.run_folders[name]
        files = [path for run in self.tree.runs.values() for path in run.files]
        self.stamps: dict[str, Stamp] = stamp_files(files)
        # Tags moving out of each run, and the folders of the runs in the result.
        self.departures: dict[str, list[Arrival]] = {}
        self.folders = {
            target: self.run_folders[name] for name, target in self.moves.targets.items()
        }

    def refuse_live(self) -> None:
        """Raise CannotEdit if the logdir is being written to."""
        refuse_live((run.path for run in self.tree.runs.values()), self.stamps)

    def work(self, folder: str | None, progress: bool | None) -> Report:
        """Write the result to a folder; without a folder, only count."""
        report = Report()
        runs = self._prepare(report)
        with (
            Output(folder) as output,
            progress_bar(
                lambda: sum(s[2] for s in self.stamps.values()), "Editing", progress
            ) as go,
        ):
            if folder is not None:
                self.tree.place_others(self.run_folders, folder, self.is_linked)
            for name in self.tree.runs:
                report.runs.append(self._work_on(name, runs.get(name), output, report.notes))
                go(report.runs[-1].bytes[0])
        report.runs = join_parts(report.runs, self.owners)
        if folder is not None:
            self.tree.copy_rights(self.run_folders, folder)
        return report

    def _prepare(self, report: Report) -> dict[str, RunEdit]:
        """Survey the selected runs and prepare the rewrite of each."""
        targets = self.moves.targets
        merged = {name for group in self.moves.merged.values() for name in group}
        looks_inside = self.rules.has_tag_rules or self.rules.split is not None
        surveys = [
            survey(self.tree.runs[name])
            for name in self.moves.in_scope
            if name not in self.moves.deleted and (looks_inside or name in merged)
        ]
        changes = resolve_tags(surveys, self.rules)
        for kind in self.rules.strip:
            if not (KINDS[kind].is_in_events or any(survey.has_kind(kind) for survey in surveys)):
                report.notes.append(f"No run has values of kind '{kind}'.")
        # In a part of a run, `{run}` is the name of the whole run.
        names = {name: targets[self.owners.get(name, name)] for name in targets}
        goals = choose_targets(surveys, self.rules, changes, names)
        reached = {goal for tags in goals.values() for goal in tags.values()}
        runs = {}
        for run_survey in surveys:
            name = run_survey.run.name
            stay = frozenset(run_survey.names) - goals[name].keys() if name in goals else None
            rewrite = RunRewrite(run_survey, self.rules, changes, stay)
            needs_counts = name in merged or name in goals or targets[name] in reached
            counts = whole = rewrite.prepare(needs_counts)
            if name in merged and stay is not None:
                whole = RunRewrite(run_survey, self.rules, changes).count()
            runs[name] = RunEdit(rewrite, counts, whole)
        for name, target in targets.items():
            if target in reached and name not in runs:  # unchanged, except for the tags that arrive
                run_survey = survey(self.tree.runs[name])
                runs[name] = RunEdit(
                    RunRewrite(run_survey, Rules(), TagChanges()),
                    run_survey.counts,
                    run_survey.counts,
                )
        if self.rules.split:
            self._follow_parts(runs)
        streams = {targets[name]: [run] for name, run in runs.items() if name not in merged}
        for target, group in self.moves.merged.items():
            streams[target] = [runs[name] for name in group]
            report.notes += put_in_order(streams[target], self.rules)
        arrivals = plan_arrivals(streams, goals, self.rules, changes)
        for target in {**self.moves.merged, **arrivals}:
            check_together(target, streams.get(target, ()), arrivals.get(target, ()))
        new = [find_folder(target, self.folders) for target in arrivals if target not in streams]
        self.tree.check_folders(self.run_folders, new)
        for arrival in chain.from_iterable(arrivals.values()):
            self.departures.setdefault(arrival.source.name, []).append(arrival)
        report.notes += describe_moves(arrivals, streams)
        return runs

    def _follow_parts(self, runs: dict[str, RunEdit]) -> None:
        """Move each `add_hparams` folder to the part of its run in which it was created."""
        targets, folders = self.moves.targets, self.run_folders
        for name, owner in self.owners.items():
            if name not in runs or owner not in runs:
                continue
            inside = posixpath.relpath(name, owner)
            # If a separate rule renames the folder, that rule applies.
            if targets[name] == posixpath.normpath(posixpath.join(targets[owner], inside)):
                starts = self._find_starts(runs[owner])
                number = find_part(starts, runs[name].rewrite.survey.start)
                own = os.path.relpath(folders[name], folders[owner])
                for names, path in ((targets, inside), (folders, own)):
                    part = name_part(names[owner], number, len(starts))
                    names[name] = os.path.normpath(os.path.join(part, path))

    def _splits(self, name: str) -> bool:
        """Return whether a run is split; a folder of `add_hparams` is never split."""
        return self.rules.split is not None and name not in self.owners

    def _work_on(
        self, name: str, run: RunEdit | None, output: Output, notes: list[str]
    ) -> RunReport:
        source = self.tree.runs[name]
        size = sum(self.stamps[path][2] for path in source.files)
        if name in self.moves.deleted:
            return RunReport(name, (), *_count_deleted(source), 0, (size, 0))
        target = self.moves.targets[name]
        if run is None or (run.rewrite.is_idle and run.number is None and not self._splits(name)):
            if output.root is not None:
                for path in source.files:
                    place_event_file(path, output.root, self.run_folders[name], self.is_linked)
            events, values = (0, 0) if run is None else _count_before(run)
            return RunReport(name, (target,), (events,) * 2, (values,) * 2, 0, (size, size))
        notes += run.rewrite.survey.notes
        stays = self._rewrite(name, target, run, output)
        return self._send(stays, output)

    def _send(self, stays: RunReport, output: Output) -> RunReport:
        """Write the tags that move from a run to others, and add them to the run's report."""
        for arrival in self.departures.get(stays.name, ()):
            before = output.size
            folder = find_folder(arrival.target, self.folders)
            rewriter = write_arrival(arrival, folder, output, self.rules)
            stays = replace(
                stays,
                events=(stays.events[0], stays.events[1] + rewriter.events_kept),
                values=(stays.values[0], stays.values[1] + arrival.move.values),
                renamed=stays.renamed + rewriter.values_changed,
                bytes=(stays.bytes[0], stays.bytes[1] + output.size - before),
                moved=(*stays.moved, arrival.move),
                shifted=stays.shifted + rewriter.values_shifted,
            )
        return stays

    def _rewrite(self, name: str, target: str, run: RunEdit, output: Output) -> RunReport:
        run_survey = run.rewrite.survey
        splits = self._splits(name)
        parts = Parts(target, self.run_folders[name], len(self._find_starts(run)) if splits else 1)
        parts.check(self.moves.targets.values())
        rewriter = run.rewrite.rewriter(run.rewrite.boundaries if splits else 0)
        parts_files = splits and self._parts_files
        before, names = output.size, run.file_names
        for number, (path, size) in enumerate(run_survey.sizes.items()):
            base = names[number]
            if number:
                rewriter.begin(is_new_run=parts_files)
                parts.advance(parts_files)

            def begin(base: str = base, path: str = path) -> None:
                output.begin(parts.current, base, path)

            begin()
            copy_records(
                path,
                rewriter,
                output.write,
                at_boundary=self._cross(parts, rewriter, output, begin, run.start),
                after_header=self._marker(run) if number == 0 else None,
                size=size,
            )
        output.end()
        return RunReport(
            name,
            tuple(parts.used),
            (run_survey.events, rewriter.events_kept),
            (run_survey.values, int(rewriter.count()[:, 2].sum())),
            rewriter.values_changed,
            (sum(run_survey.sizes.values()), output.size - before),
            shifted=rewriter.values_shifted,
        )

    def _cross(
        self,
        parts: Parts,
        rewriter: Rewriter,
        output: Output,
        begin: Callable[[], None],
        start: float,
    ) -> Callable[[int], None]:
        """Return the callback for the boundary between two parts."""

        def cross(offset: int) -> None:
            parts.advance()
            begin()
            if rewriter.boundary == Boundary.AT_RESTART:
                header = EventBuffer()
                header.file_version(start + self.rules.shift_time)
                output.write(header)

        return cross

    def _marker(self, run: RunEdit) -> EventBuffer | None:
        if run.marker is None:
            return None
        marker = EventBuffer()
        marker.session_start(run.marker, run.start + self.rules.shift_time)
        return marker

    @property
    def _parts_files(self) -> bool:
        """Whether each file starts a part."""
        return self.rules.split in ("files", "sessions")

    def _find_starts(self, run: RunEdit) -> list[float]:
        """Return the wall time at which each part of a run starts."""
        sizes = run.rewrite.survey.sizes
        rewriter = run.rewrite.rewriter(run.rewrite.boundaries)
        starts = []
        for number, (path, size) in enumerate(sizes.items()):
            boundaries: list[int] = []
            if number:
                rewriter.begin(is_new_run=self._parts_files)
            copy_records(path, rewriter, at_boundary=boundaries.append, size=size)
            if number == 0 or self._parts_files:
                boundaries.insert(0, 0)
            starts += [read_wall_time(path, offset) for offset in boundaries]
        return starts


def _count_before(run: RunEdit) -> tuple[int, int]:
    return run.rewrite.survey.events, run.rewrite.survey.values


def _count_deleted(run: Any) -> tuple[tuple[int, int], tuple[int, int]]:
    try:
        run_survey = survey(run)
    except CannotEdit:  # a deleted run need not be intact
        return (0, 0), (0, 0)
    return (run_survey.events, 0), (run_survey.values, 0)
