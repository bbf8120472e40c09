"""`repair`: keeps every intact record of broken event files and reports the lost bytes."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runfold._core.encoder import EventBuffer
from runfold._edit.edit_target import build, choose_destination, find_root
from runfold._edit.edited_files import Output
from runfold._edit.folder_tree import Tree, place_event_file, read_tree
from runfold._edit.live_runs import being_written, find_changed, refuse_live, stamp_files
from runfold._edit.record_stream import CHUNK
from runfold._edit.sound_records import Loss, Salvage, salvage
from runfold._events.opened_file import OPEN_FLAGS
from runfold._humanize import escape, human_count
from runfold._logdir.discover import discover
from runfold._progress import progress_bar

if TYPE_CHECKING:
    from runfold._edit.live_runs import Stamp

StrPath = str | os.PathLike[str]

# Only this many losses per file are listed, because a bad disk can cause thousands.
_MOST_LINES = 10

# gzip and zlib files are not broken event files and are kept unchanged.
_COMPRESSED = (b"\x1f\x8b", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")


@dataclass(frozen=True, slots=True)
class FileRepair:
    """The repair of one file: the number of its records, and its losses.

    A file without any intact record is left out, and a compressed file is kept.
    """

    file: str
    run: str
    records: int
    losses: list[Loss] = field(default_factory=list)
    has_new_header: bool = False
    is_compressed: bool = False

    @property
    def has_changed(self) -> bool:
        """Whether the file was changed."""
        return not self.is_compressed and bool(self.losses or self.has_new_header)

    @property
    def lost(self) -> int:
        """The number of lost bytes."""
        return sum(loss.stop - loss.start for loss in self.losses)

    @property
    def lines(self) -> list[str]:
        """The report: one line per loss, or the first losses and a count if there are many."""
        name = os.path.basename(self.file)
        name_in_run = escape(name if self.run == "." else f"{self.run}/{name}")
        if self.is_compressed:
            return [f"{name_in_run}: compressed, not broken. Kept unchanged; decompress it first."]
        report_lines = [f"{name_in_run}: {loss}." for loss in self.losses[:_MOST_LINES]]
        others = self.losses[_MOST_LINES:]
        if others:
            stretches = "1 more range" if len(others) == 1 else f"{len(others):,} more ranges"
            size = human_count(sum(loss.stop - loss.start for loss in others), "byte")
            report_lines.append(
                f"{name_in_run}: {stretches} lost, {size}; use --json to list them all."
            )
        if self.losses and not self.records:
            report_lines.append(f"{name_in_run}: no intact record. The file is left out.")
        if self.has_new_header:
            report_lines.append(f"{name_in_run}: the header was missing and has been added.")
        return report_lines


@dataclass(slots=True)
class RepairReport:
    """The result of a repair: a report per file, and the paths of the result and the backup."""

    files: list[FileRepair] = field(default_factory=list)
    target: str | None = None
    backup: str | None = None

    @property
    def changed(self) -> list[FileRepair]:
        """The files that changed."""
        return [file for file in self.files if file.has_changed]

    @property
    def summary(self) -> str:
        """A summary of all files, or a message that there was nothing to repair."""
        if not self.changed:
            files = human_count(len(self.files), "event file")
            return f"Nothing to repair in {files}. Nothing was written."
        kept = sum(file.records for file in self.files)
        lost = sum(file.lost for file in self.files if not file.is_compressed)
        return (
            f"{human_count(len(self.changed))} of {human_count(len(self.files), 'event file')}"
            f" repaired: {human_count(kept, 'intact record')}, {human_count(lost, 'byte')} lost."
        )


def repair(
    logdir: StrPath,
    output: StrPath | None = None,
    *,
    in_place: bool = False,
    backup: StrPath | None = None,
    dry_run: bool = False,
    force: bool = False,
    progress: bool | None = None,
) -> RepairReport:
    """Write a copy of a logdir with repaired event files, and return a report of the losses.

    Every record with valid checksums is kept, wherever it is. Torn and damaged records and
    ranges of zeros are removed, and missing headers are added. Intact files, and all other
    files, are copied unchanged. If no file needs repair, nothing is written: the report's
    `changed` is empty and its `target` is None. The arguments are the same as in `rf.edit`, except
    for the rules. As with `rf.edit`, the result appears once all of it is on disk; until then, the
    logdir is unchanged.

    Examples:
        >>> rf.repair("runs", "repaired").changed
    """
    if dry_run and output is None and not in_place and backup is None:
        tree, stamps = _read(find_root(logdir))
        return _judge_all(tree, stamps, progress)[0]
    destination = choose_destination(logdir, output, in_place, backup)
    tree, stamps = _read(destination.source)
    if destination.is_in_place:
        tree.check_links()
        if not force:
            refuse_live((run.path for run in tree.runs.values()), stamps)
    report, salvages = _judge_all(tree, stamps, progress)
    if dry_run or not report.changed:
        return report
    with build(destination) as result:
        _write_tree(tree, report, salvages, result.folder, destination.is_in_place)
        changed = find_changed(stamps) if destination.is_in_place else []
        if changed and not force:
            raise being_written(changed)
    report.target, report.backup = destination.target, destination.backup
    return report


def _read(root: str) -> tuple[Tree, dict[str, Stamp]]:
    tree = read_tree(root, discover(root))
    return tree, stamp_files(path for run in tree.runs.values() for path in run.files)


def _judge_all(
    tree: Tree, stamps: dict[str, Stamp], progress: bool | None
) -> tuple[RepairReport, list[Salvage]]:
    """Return the repair of each file, and the positions of its intact records."""
    report = RepairReport()
    salvages = []
    total = sum(stamp[2] for stamp in stamps.values())
    with progress_bar(lambda: total, "Repairing", progress) as advance:
        for name, run in tree.runs.items():
            for path in run.files:
                salvages.append(salvage(path))
                report.files.append(_judge(path, name, salvages[-1]))
                advance(stamps[path][2])
    return report, salvages


def _write_tree(
    tree: Tree, report: RepairReport, salvages: list[Salvage], folder: str, is_linked: bool
) -> None:
    folders = tree.list_folders()
    tree.place_others(folders, folder, is_linked)
    with Output(folder) as output:
        for file, salvaged in zip(report.files, salvages, strict=True):
            if not file.has_changed:
                place_event_file(file.file, folder, folders[file.run], is_linked)
            elif salvaged.spans:
                output.begin(folders[file.run], os.path.basename(file.file), file.file)
                _write(file.file, salvaged, output)
                output.end()
    tree.copy_rights(folders, folder)


def _judge(path: str, run: str, salvaged: Salvage) -> FileRepair:
    needs_header = bool(salvaged.spans) and not salvaged.has_header
    is_compressed = False
    if salvaged.losses and not salvaged.spans:
        with open(path, "rb") as file:
            is_compressed = file.read(2) in _COMPRESSED
    return FileRepair(path, run, salvaged.records, salvaged.losses, needs_header, is_compressed)


def _write(path: str, salvaged: Salvage, output: Output) -> None:
    if not salvaged.has_header:
        header = EventBuffer()
        header.file_version(salvaged.wall_time if math.isfinite(salvaged.wall_time) else 0.0)
        output.write(header)
    descriptor = os.open(path, OPEN_FLAGS)
    try:
        for start, stop in salvaged.spans:
            for at in range(start, stop, CHUNK):
                output.write(os.pread(descriptor, min(CHUNK, stop - at), at))
    finally:
        os.close(descriptor)
