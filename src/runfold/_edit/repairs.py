"""Broken event files made sound: every good record kept, what is lost told byte by byte."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from runfold._core.encoder import EventBuffer
from runfold._edit.edit_target import build, choose_place, find_root
from runfold._edit.edited_files import Output
from runfold._edit.folder_tree import Tree, place_event_file, read_tree
from runfold._edit.live_runs import being_written, find_changed, refuse_live, stamp_files
from runfold._edit.record_stream import CHUNK
from runfold._edit.sound_records import Loss, Salvage, salvage
from runfold._events.event_file import OPEN_FLAGS
from runfold._humanize import escape, human_count
from runfold._logdir.discover import discover
from runfold._progress import progress_bar

if TYPE_CHECKING:
    from runfold._edit.live_runs import Stamp

StrPath = str | os.PathLike[str]

# So many losses of a file have a line each; a bad disk may leave thousands.
_MOST_LINES = 10

# gzip and zlib: these are no broken event files, and are left as they are.
_COMPRESSED = (b"\x1f\x8b", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")


@dataclass(frozen=True, slots=True)
class FileRepair:
    """What was done to one file: how many records it has now, and what was lost of it.

    A file without a sound record is left out, and one that is compressed is kept.
    """

    file: str
    run: str
    records: int
    losses: list[Loss] = field(default_factory=list)
    has_new_header: bool = False
    is_compressed: bool = False

    @property
    def has_changed(self) -> bool:
        """Whether the file is not as it was."""
        return not self.is_compressed and bool(self.losses or self.has_new_header)

    @property
    def lost(self) -> int:
        """How many bytes were lost."""
        return sum(loss.stop - loss.start for loss in self.losses)

    @property
    def lines(self) -> list[str]:
        """What there is to say, a line each; of many losses the first ones and a count."""
        name = os.path.basename(self.file)
        place = escape(name if self.run == "." else f"{self.run}/{name}")
        if self.is_compressed:
            return [f"{place}: compressed, not broken. Left as it is; decompress it first."]
        found = [f"{place}: {loss}." for loss in self.losses[:_MOST_LINES]]
        left = self.losses[_MOST_LINES:]
        if left:
            stretches = "1 more stretch" if len(left) == 1 else f"{len(left):,} more stretches"
            size = human_count(sum(loss.stop - loss.start for loss in left), "byte")
            found.append(f"{place}: {stretches} lost, {size}; --json lists them all.")
        if self.losses and not self.records:
            found.append(f"{place}: not one sound record. The file is left out.")
        if self.has_new_header:
            found.append(f"{place}: the header was missing, and is there now.")
        return found


@dataclass(slots=True)
class RepairReport:
    """What a repair did to each file, where the result is, and where the source is kept."""

    files: list[FileRepair] = field(default_factory=list)
    target: str | None = None
    backup: str | None = None

    @property
    def changed(self) -> list[FileRepair]:
        """The files that are not as they were."""
        return [file for file in self.files if file.has_changed]

    @property
    def summary(self) -> str:
        """What was done to all files, or that there was nothing to do."""
        if not self.changed:
            files = human_count(len(self.files), "event file")
            return f"Nothing to repair in {files}. Nothing was written."
        kept = sum(file.records for file in self.files)
        lost = sum(file.lost for file in self.files if not file.is_compressed)
        return (
            f"{human_count(len(self.changed))} of {human_count(len(self.files), 'event file')}"
            f" repaired: {human_count(kept, 'sound record')}, {human_count(lost, 'byte')} lost."
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
    """Write a copy of a logdir with sound event files, and return what was lost.

    Every record whose checksums fit is kept, wherever it stands; what is torn, zeros
    or damaged goes; a header is put where it is missing. Files that are whole, and
    all others, are copied as they are. Where no file needs repair, nothing is
    written: `changed` of the report is empty and its `target` None. The arguments
    are those of `runfold._edit.edit`, and so is the promise: the result appears when
    all of it is on the disk, and the logdir is as it was until then.

    Example:
        >>> repair("runs", "sound").changed
    """
    if dry_run and output is None and not in_place and backup is None:
        tree, stamps = _read(find_root(logdir))
        return _judge_all(tree, stamps, progress)[0]
    place = choose_place(logdir, output, in_place, backup)
    tree, stamps = _read(place.source)
    if place.is_in_place:
        tree.check_links()
        if not force:
            refuse_live((run.path for run in tree.runs.values()), stamps)
    report, found = _judge_all(tree, stamps, progress)
    if dry_run or not report.changed:
        return report
    with build(place) as result:
        _write_tree(tree, report, found, result.folder, place.is_in_place)
        changed = find_changed(stamps) if place.is_in_place else []
        if changed and not force:
            raise being_written(changed)
    report.target, report.backup = place.target, place.backup
    return report


def _read(root: str) -> tuple[Tree, dict[str, Stamp]]:
    tree = read_tree(root, discover(root))
    return tree, stamp_files(path for run in tree.runs.values() for path in run.files)


def _judge_all(
    tree: Tree, stamps: dict[str, Stamp], progress: bool | None
) -> tuple[RepairReport, list[Salvage]]:
    """What is to be done to each file, and where its sound records are."""
    report = RepairReport()
    found = []
    total = sum(stamp[2] for stamp in stamps.values())
    with progress_bar(lambda: total, "Repairing", progress) as advance:
        for name, run in tree.runs.items():
            for path in run.files:
                found.append(salvage(path))
                report.files.append(_judge(path, name, found[-1]))
                advance(stamps[path][2])
    return report, found


def _write_tree(
    tree: Tree, report: RepairReport, found: list[Salvage], folder: str, is_linked: bool
) -> None:
    places = tree.list_places()
    tree.place_others(places, folder, is_linked)
    with Output(folder) as output:
        for file, salvaged in zip(report.files, found, strict=True):
            if not file.has_changed:
                place_event_file(file.file, folder, places[file.run], is_linked)
            elif salvaged.spans:
                output.begin(places[file.run], os.path.basename(file.file), file.file)
                _write(file.file, salvaged, output)
                output.end()
    tree.copy_rights(places, folder)


def _judge(path: str, run: str, found: Salvage) -> FileRepair:
    needs_header = bool(found.spans) and not found.has_header
    is_compressed = False
    if found.losses and not found.spans:
        with open(path, "rb") as file:
            is_compressed = file.read(2) in _COMPRESSED
    return FileRepair(path, run, found.records, found.losses, needs_header, is_compressed)


def _write(path: str, found: Salvage, output: Output) -> None:
    if not found.has_header:
        header = EventBuffer()
        header.file_version(found.wall_time if math.isfinite(found.wall_time) else 0.0)
        output.write(header)
    descriptor = os.open(path, OPEN_FLAGS)
    try:
        for start, stop in found.spans:
            for at in range(start, stop, CHUNK):
                output.write(os.pread(descriptor, min(CHUNK, stop - at), at))
    finally:
        os.close(descriptor)
