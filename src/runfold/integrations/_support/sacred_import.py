"""Conversion of the runs in a folder of Sacred's FileStorageObserver to event files."""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from runfold._conventions import ARTIFACTS, EVENT_FILE_PREFIX, EVENT_FILE_SUFFIX
from runfold._files import is_inside, list_event_files, make_folder, open_draft
from runfold._humanize import escape, human_count
from runfold._log.track.artifacts import encode_artifact, save_file
from runfold._runs import open_runs
from runfold._warnings import warn_caller
from runfold.errors import RunfoldError
from runfold.integrations._support.recorded_run import encode_run
from runfold.integrations._support.sacred_folder import SacredRun, explain, list_runs

if TYPE_CHECKING:
    from runfold._story.story_records import Artifact

# Event files with this suffix were converted; a later conversion may replace them.
SUFFIX = f"{EVENT_FILE_SUFFIX}-sacred"


@dataclass
class ImportReport:
    """The result of an import.

    Attributes:
        written: the folders of new and of changed runs.
        unchanged: the folders of runs that were imported before and have not changed.
        problems: what could not be read or written, one line each.
    """

    written: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def import_runs(
    folder: str | os.PathLike[str], logdir: str | os.PathLike[str] = "runs"
) -> ImportReport:
    """Convert the runs that Sacred's FileStorageObserver stored to event files.

    Does not need a database. Each run gets the folder `<logdir>/<experiment>/<id>`. Its event file
    has the metrics with their steps and times, the configuration as hparams, status, host,
    dependencies, sources, output, result and info. Artifacts are copied next to it. Secrets are
    replaced by `***`.

    You can repeat an import: it writes new runs, and updates the event files and artifacts of
    runs that have changed since the last import. It does not change other files.

    Args:
        folder: the folder that was passed to `FileStorageObserver`, or the folder of one run.
        logdir: the logdir.

    Returns:
        The folders of the runs, and the problems. Problems also cause one warning.

    Raises:
        OSError: the folder cannot be read.

    Examples:
        >>> from runfold.integrations.sacred import import_runs
        >>> import_runs("sacred_runs", "runs").written
        ['runs/mnist/1', 'runs/mnist/2']
    """
    report = ImportReport()
    base = os.path.abspath(os.fspath(folder))
    for path in list_runs(base, report.problems):
        problems: list[str] = []
        try:
            _import_run(SacredRun(path, base, problems.append), os.fspath(logdir), report)
        except Exception as error:  # JSON of any shape, such as 900 nested lists
            problems.append(f"the run was not imported: {explain(error)}")
        name = escape(os.path.basename(path))
        report.problems += [f"run {name}: {problem}" for problem in problems]
    if report.problems:
        count = human_count(len(report.problems), "problem")
        rest = " `problems` of the result lists them all." if len(report.problems) > 1 else ""
        warn_caller(f"The import from {escape(base)} had {count}: {report.problems[0]}.{rest}")
    return report


def _import_run(source: SacredRun, logdir: str, report: ImportReport) -> None:
    """Write the event file of a run, and copy its artifacts. Raises OSError and ValueError."""
    run = source.read()
    folder = os.path.join(logdir, source.name, os.path.basename(source.path))
    # Sacred sets the start time, which is part of the file name, when a queued run starts.
    target = f"{EVENT_FILE_PREFIX}.{int(run.started):010d}.sacred{SUFFIX}"
    earlier = list_event_files(folder) if os.path.isdir(folder) else []
    if not all(name.endswith(SUFFIX) for name in earlier):
        raise ValueError(f"there is already another run in {escape(folder)}")
    copies = {item.name: item for item in _list_copies(folder)} if earlier else {}
    os.makedirs(folder, exist_ok=True)
    for name, path in source.list_artifacts():
        try:
            if name in copies and not _is_copy(path, copies[name]):
                _remove_copy(folder, copies.pop(name))
            artifact = save_file(folder, path, name)
        except (OSError, RunfoldError) as error:
            source.report(f"artifact {escape(name)}: {explain(error)}")
        else:
            copies.pop(artifact.name, None)
            run.messages.append((encode_artifact(artifact, name), len(run.messages)))
    content = encode_run(run)
    path = os.path.join(folder, target)
    if earlier == [target] and Path(path).read_bytes() == content:
        report.unchanged.append(folder)
        return
    # For a run without a recorded end, the modification time is when it was last active.
    with open_draft(path, time=run.last_time) as file:
        file.write(content)
    for name in earlier:
        if name != target:
            os.unlink(os.path.join(folder, name))
    for copy in copies.values():
        _remove_copy(folder, copy)
    report.written.append(folder)


def _list_copies(folder: str) -> list[Artifact]:
    """Return the artifacts that an earlier import copied."""
    runs = open_runs(folder, progress=False, find_config=False)
    return runs["."].artifacts if "." in runs else []


def _is_copy(path: str, artifact: Artifact) -> bool:
    """Return whether a file has the content of an artifact. Raises OSError."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size != artifact.size:
            return False
        return hashlib.file_digest(file, "sha256").hexdigest() == artifact.sha256


def _remove_copy(folder: str, artifact: Artifact) -> None:
    """Delete a copy that has not changed since its import; never through a link."""
    parent, name = os.path.split(artifact.name)
    base = os.path.join(folder, ARTIFACTS)
    path = os.path.join(base, artifact.name)
    with contextlib.suppress(OSError, RunfoldError):
        if os.path.islink(path) or not os.path.isfile(path) or not is_inside(path, base):
            return
        if ".." not in parent.split("/") and _is_copy(path, artifact):
            with make_folder(folder, os.path.join(ARTIFACTS, parent)) as parent_fd:
                os.unlink(name, dir_fd=parent_fd)
