"""A tracked run from start to end: story, heartbeat, captures and uploads."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runfold._conventions import BATCH_PREFIX, STORY_PREFIX, SYSTEM_PREFIX, is_system_tag
from runfold._files import list_event_files
from runfold._log.capture.console import ConsoleCapture
from runfold._log.capture.system_metrics import SystemMonitor
from runfold._log.track.heartbeat import Heart
from runfold._log.track.record_story import record_origin, record_settings
from runfold._log.track.resume import Resumption, warn_if_running
from runfold._log.writer.life import Part
from runfold._log.writer.remote_log import name_run
from runfold._log.writer.run_uploads import STORAGE_VARIABLE, Uploads, fetch_earlier
from runfold._storage.url import as_url, join_url
from runfold._story import story_parts
from runfold._story.stop_request import Control, interrupt_main

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runfold._log.summary.hparams_log import HparamsLog
    from runfold._log.track.batches import BatchLog
    from runfold._log.track.run_folder import RunLocation
    from runfold._log.writer.remote_log import Remote
    from runfold._log.writer.sink import Sink
    from runfold._story.stop_files import StopRequest

# Prefixes of tags whose steps are not training steps.
_OWN = (STORY_PREFIX, SYSTEM_PREFIX)


@dataclass(frozen=True)
class TrackOptions:
    """The options of `rf.track`; see `Tracker`.

    Attributes:
        system_seconds: interval of system metrics; 0 disables them.
        is_guest: whether the process runs under `runfold run`, which tracks the run itself.
    """

    logdir: str
    name: str | None
    hparams: Any
    config: Any
    resume: bool | int
    has_code: bool
    has_output: bool
    system_seconds: float
    on_stop: Callable[..., object] | None
    command: Sequence[str] | None
    storage: str | os.PathLike[str] | None
    is_guest: bool


class TrackedRun(Part):
    """Everything tracked besides the log. Starts with the first event file, and ends on `close`.

    Attributes:
        heart: the heartbeat; None before the run starts, and under `runfold run`.
        control: the watch for stop requests; None in the same cases as `heart`.
        began: when the run that this one continues in the same program began; None otherwise.
    """

    def __init__(
        self,
        options: TrackOptions,
        location: RunLocation,
        hparams: HparamsLog,
        batches: BatchLog,
        uploads: RunUploads,
    ) -> None:
        """Use these options and these parts of the run's writer to record the run."""
        self.heart: Heart | None = None
        self.control: Control | None = None
        self.began: float | None = None
        self._options = options
        self._location = location
        self._hparams = hparams
        self._batches = batches
        self._uploads = uploads
        self._captures: list[ConsoleCapture | SystemMonitor] = []
        # The step of the next artifact in the story.
        self._next_artifact = 0

    def reopen(self, sink: Sink) -> None:
        """Start the run with its first file; a forked child's file is never the first."""
        if self._location.file_count == 1 and not sink.is_silent:
            self._begin(sink)

    def close(self, sink: Sink) -> None:
        """Record how the run ended."""
        if self.heart is not None:
            self.heart.stop(sink.raised())

    def count_artifact(self) -> int:
        """Return the step of the next artifact in the story, and count the artifact."""
        step, self._next_artifact = self._next_artifact, self._next_artifact + 1
        return step

    def _begin(self, sink: Sink) -> None:
        """Record the story of the run, and start watching it."""
        options = self._options
        is_resumed = options.resume is not False
        url = self._choose_url(sink.folder)
        if is_resumed and url is not None:
            fetch_earlier(sink.folder, url)
        if is_resumed and not options.is_guest:
            warn_if_running(sink.folder, sink.file.policy.began)
        before = _next_steps(sink.folder) if is_resumed else {}
        self._continue(sink, before)
        record_settings(sink, self._hparams, options.hparams, options.config)
        if url is not None:
            self._uploads.start(sink.folder, url, is_resumed)
        if options.is_guest:
            return
        self._next_artifact = before.get(STORY_PREFIX + story_parts.ARTIFACT, 0)
        self._watch(sink, before.get(STORY_PREFIX + story_parts.STATUS, 0))
        record_origin(sink, options.command, options.has_code)
        self._capture(sink, before)

    def _continue(self, sink: Sink, before: dict[str, int]) -> None:
        """Continue the steps of a resumed run."""
        resume = self._options.resume
        earlier = Resumption({tag: before[tag] for tag in before if not tag.startswith(_OWN)})
        sink.checks.next_step = earlier.next_step
        self._batches.count = earlier.next_batch - 1
        if resume is True:
            if not earlier.is_over:
                sink.checks.on_step = functools.partial(_check_step, sink, earlier)
            sink.choose_path()
        elif resume is not False:
            self._batches.count = max(0, min(self._batches.count, resume - 1))
            _discard_from(sink, resume)

    def _watch(self, sink: Sink, first_step: int) -> None:
        uploads = self._uploads.uploads
        writer: Any = sink
        self.heart = Heart(
            sink.folder,
            writer,
            on_end=self._stop_captures,
            first_step=first_step,
            on_death=None if uploads is None else uploads.close_soon,
        )
        self.heart.began = self.began
        self.heart.start()
        self.control = Control(sink.folder, self._on_stop)
        self.control.start()
        if uploads is not None:
            uploads.relay_stop_requests()

    def _capture(self, sink: Sink, before: dict[str, int]) -> None:
        if self._options.has_output:
            first_step = before.get(STORY_PREFIX + story_parts.OUTPUT, 0)
            self._captures.append(ConsoleCapture(sink, first_step=first_step))
        if self._options.system_seconds:
            first_step = max(
                (step for tag, step in before.items() if is_system_tag(tag)), default=0
            )
            seconds = self._options.system_seconds
            self._captures.append(SystemMonitor(sink, seconds, first_step))
        for capture in self._captures:
            capture.start()

    def _stop_captures(self) -> None:
        for capture in reversed(self._captures):
            capture.stop()
        if self.control is not None:
            self.control.stop()

    def _on_stop(self, request: StopRequest) -> None:
        if self.heart is not None:
            self.heart.on_interrupt = "stopped"
        if self._options.on_stop is None:
            interrupt_main()
        else:
            self._options.on_stop(request)

    def _choose_url(self, folder: str) -> str | None:
        """Return the URL to upload the run to; None for a local run."""
        if self._uploads.remote is not None:
            return self._uploads.remote.url
        options = self._options
        is_hosted = options.is_guest and os.environ.get(STORAGE_VARIABLE)
        if options.storage is None or is_hosted:
            return None
        return join_url(as_url(options.storage), name_run(folder, options.logdir, options.name))


class RunUploads(Part):
    """Uploads a tracked run and, in a forked child, the child's files.

    Attributes:
        remote: the log at a URL; None for a run in a local folder.
        uploads: the uploads of the run itself; None before they start.
    """

    def __init__(self, remote: Remote | None) -> None:
        self.remote = remote
        self.uploads: Uploads | None = None

    def start(self, folder: str, url: str, is_resumed: bool) -> None:
        """Start uploading the run."""
        is_staged = self.remote is not None
        self.uploads = Uploads(folder, url, is_resumed=is_resumed, is_staged=is_staged)

    def reopen(self, sink: Sink) -> None:
        """Upload the files of a forked child; the run's own uploads start when the run does."""
        if self.remote is not None and self.uploads is not None:
            self.remote.start(self.uploads.target)

    def close(self, sink: Sink) -> None:
        """Finish the uploads."""
        if self.remote is not None:
            self.remote.close(sink)
        if self.uploads is not None:
            self.uploads.close()


def _check_step(sink: Sink, resumption: Resumption, index: int, tag: str | None) -> None:
    """If a resumed run starts at an earlier step, discard the steps that are logged again."""
    if tag is not None and tag.startswith(_OWN):
        return
    if resumption.goes_back(index, tag):
        _discard_from(sink, index)
    if resumption.is_over:
        sink.checks.on_step = None
        sink.choose_path()


def _discard_from(sink: Sink, step: int) -> None:
    sink.put("session_start", step, sink.checks.time(None))


def _next_steps(folder: str) -> dict[str, int]:
    """Return the next step of each tag in a folder's event files."""
    from runfold._logdir.assemble import assemble_series
    from runfold._logdir.run_log import read_event_files

    files = [os.path.join(folder, name) for name in sorted(list_event_files(folder))]
    log = read_event_files(folder, files)
    steps = {tag: series.steps for tag, series in log.scalars.items()}
    # If the run was ever restarted at an earlier batch, count from there.
    valid = assemble_series("", log.files, log.names, "session")
    steps |= {tag: series.steps for tag, series in valid.items() if tag.startswith(BATCH_PREFIX)}
    steps |= {tag: payloads.steps for (_, tag), payloads in log.payloads.items()}
    return {tag: int(logged.max()) + 1 for tag, logged in steps.items() if len(logged)}
