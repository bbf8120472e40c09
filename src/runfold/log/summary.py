"""SummaryWriter: the interface of torch's and tensorboardX's, at a hundredth of the cost."""

from __future__ import annotations

import os
import weakref
from datetime import datetime
from typing import TYPE_CHECKING, Any

from runfold.log.arrays import as_step, warn
from runfold.log.file_writer import FileWriter
from runfold.log.histograms import default_limits
from runfold.log.hparams import as_settings
from runfold.log.media import Media
from runfold.log.models import Models
from runfold.log.numbers import Numbers
from runfold.log.ranks import RankPolicy, make_folder
from runfold.log.trials import Trials

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runfold.log.points import OnError
    from runfold.log.ranks import Ranks
    from runfold.log.remote import Remote

# How `runfold run` tells a script's writers where the run is.
LOGDIR_VARIABLE = "RUNFOLD_LOGDIR"


class SummaryWriter(Numbers, Media, Models):
    """Logs everything that TensorBoard shows into event files in one folder.

    A drop-in for `torch.utils.tensorboard.SummaryWriter` and tensorboardX's:

        from runfold import SummaryWriter

        with SummaryWriter("runs/seed-1") as writer:
            writer.add_scalar("train/loss", 0.5, 1)

    Values may be Python numbers, NumPy arrays, or tensors of torch, JAX and
    TensorFlow on any device. See `EventWriter` for what happens when things go
    wrong. A call after `close` opens another event file in the same folder.
    """

    _reopens = True
    _file_writer: weakref.ref[FileWriter] | None = None
    # Also for a writer whose options were refused.
    _remote: Remote | None = None

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
        write_to_disk: bool = True,
        logdir: str | os.PathLike[str] | None = None,
        comet_config: Any = None,
        *,
        hparams: Mapping[str, Any] | None = None,
        on_error: OnError | None = None,
        is_main: bool | None = None,
        ranks: Ranks = "zero",
        is_lazy: bool = False,
        clean_tags: bool = False,
        storage: str | os.PathLike[str] | None = None,
        sync_trackers: bool = True,
        **kwargs: object,
    ) -> None:
        """Begin an event file in a folder.

        Args:
            log_dir: the run's folder; by default `runs/<time>_<host><comment>`. A URL such as
                `s3://bucket/run` is written to a local folder and uploaded while it grows.
            comment: the end of that default name.
            purge_step: discard earlier events in this folder at or after this step.
            max_queue: ignored; accepted for compatibility with torch.
            flush_secs: maximum seconds before logged events reach the disk.
            filename_suffix: the end of the event file's name.
            write_to_disk: False makes a writer that takes every call and writes nothing.
            logdir: tensorboardX's name of `log_dir`.
            comet_config: ignored; accepted for compatibility with tensorboardX.
            hparams: the run's hparams, as by `add_hparams`.
            on_error: by default a folder that cannot be written to raises here, and no
                later call raises: what cannot be logged warns once and is counted in
                `skipped`. "raise" raises it, also for a full disk. "warn" never raises,
                not even here.
            is_main: True writes whatever the rank of this process, False never writes.
            ranks: "zero" keeps a rank above zero from writing where rank zero of the
                same job logs to the same folder; "all" writes from every rank.
            is_lazy: begin the file at the first call, not at once.
            clean_tags: store tags as tensorboardX does, which replaces characters other than
                letters, digits and `-_./` by `_`. A call then takes longer.
            storage: upload the folder there while it grows, under its own name: a URL such as
                `s3://bucket/runs`, or a shared folder.
            sync_trackers: whether W&B, MLflow, SwanLab, ClearML and Comet receive what is
                logged, where the program has set them up to take TensorBoard data.
            kwargs: ignored; a warning lists those with a true value.
        """
        if log_dir is not None and logdir is not None:
            raise TypeError("log_dir and logdir are two names of one argument; give one of them")
        # tensorboardX's own default is a config that is disabled.
        is_sent = bool(comet_config) and not comet_config.get("disabled")
        if ignored := [*["comet_config"] * is_sent, *filter(kwargs.get, kwargs)]:
            warn(f"SummaryWriter ignores {', '.join(ignored)}.")
        policy = RankPolicy(is_main if write_to_disk else False, ranks)
        given = log_dir or logdir or os.environ.get(LOGDIR_VARIABLE)
        self.log_dir = given or policy.choose_default(default_folder(comment))
        folder, self._remote = _locate(self.log_dir, storage)
        if self._remote is not None and self._remote.is_staged:
            # Other machines see no mark in a staging folder.
            policy.defer(self._remote.shown)
        # What comes first in the file, which with on_error="warn" may be opened later.
        self.purge_step = None if purge_step is None else as_step(purge_step, None, "purge_step")
        self._hparams_given = None if hparams is None else as_settings(hparams)
        self.max_queue = max_queue
        self.filename_suffix = filename_suffix
        super().__init__(
            folder,
            suffix=filename_suffix,
            flush_secs=flush_secs,
            on_error=on_error,
            policy=policy,
            is_lazy=is_lazy,
            clean_tags=clean_tags,
            sync_trackers=sync_trackers,
            staged_for=None if self._remote is None else self._remote.path,
        )
        if self.is_silent and write_to_disk and self._remote is None:
            make_folder(self.folder)

    @property
    def logdir(self) -> str | os.PathLike[str]:
        """The run's folder or URL, by tensorboardX's name."""
        return self.log_dir

    @logdir.setter
    def logdir(self, value: Any) -> None:
        self.log_dir = value

    def get_logdir(self) -> str | os.PathLike[str]:
        """Return the run's folder or URL, as it was given."""
        return self.log_dir

    @property
    def file_writer(self) -> FileWriter | None:
        """What takes whole protobuf messages, or None after `close`, as in torch.

        Subclasses that were written for torch's writer may assign to it, which has no effect.
        """
        if self.is_closed:
            return None
        file_writer = self._file_writer() if self._file_writer is not None else None
        if file_writer is None:
            # It holds the writer, so the writer must not hold it: nobody else would let go.
            file_writer = FileWriter(self)
            self._file_writer = weakref.ref(file_writer)
        return file_writer

    @file_writer.setter
    def file_writer(self, value: Any) -> None:
        pass

    @property
    def all_writers(self) -> dict[str, FileWriter] | None:
        """The file writer by its folder, or None after `close`, as in torch.

        Assigning to it has no effect.
        """
        file_writer = self.file_writer
        return None if file_writer is None else {file_writer.get_logdir(): file_writer}

    @all_writers.setter
    def all_writers(self, value: Any) -> None:
        pass

    def _get_file_writer(self) -> FileWriter:
        """Return the file writer, and open a new file if the last one was closed."""
        self._is_heard()
        return self.file_writer or FileWriter(self)

    @property
    def default_bins(self) -> list[float]:
        """The limits of the bins that `add_histogram` counts in by default; may be set."""
        return list(default_limits()) if self._default_bins is None else self._default_bins

    @default_bins.setter
    def default_bins(self, limits: list[float]) -> None:
        self._default_bins = limits

    @property
    def scalar_dict(self) -> dict[str, list[list[Any]]]:
        """Every scalar of this writer, as `export_scalars_to_json` writes them.

        Assigning to it has no effect.
        """
        return self._read_scalars()

    @scalar_dict.setter
    def scalar_dict(self, value: Any) -> None:
        pass

    def _end(self) -> None:
        """Close without raising."""
        super()._end()
        if self._remote is not None:
            self._remote.close()

    def __del__(self) -> None:
        remote, self._remote = self._remote, None
        super().__del__()
        if remote is not None:
            # Training must not wait for the store of a forgotten writer.
            remote.close_later()

    def _open(self) -> None:
        with self._lock:
            if self._stream is None:  # or another thread was faster
                if self._remote is not None:
                    self._move(self._remote.prepare())
                super()._open()
                self._start_upload()
        purge_step, self.purge_step = self.purge_step, None
        if purge_step is not None:
            self._put("session_start", purge_step, self._time(None))
        hparams, self._hparams_given = self._hparams_given, None
        if hparams is not None:
            self.add_hparams(hparams, run_name=os.curdir)

    def _move(self, folder: str) -> None:
        """Write to this folder from now on, if it is another."""
        if self._remote is not None and self._trials is not None and folder != self.folder:
            self._trials.move(folder, self._remote.mark)
        self.folder = folder

    def _make_trials(self) -> Trials:
        return Trials(self.folder, "" if self._remote is None else self._remote.mark)

    def _start_upload(self) -> None:
        if self._remote is not None:
            self._remote.start()


def _locate(
    log_dir: str | os.PathLike[str], storage: str | os.PathLike[str] | None
) -> tuple[str, Remote | None]:
    """Return the local folder for a log, and its Remote if it is to be uploaded."""
    path = os.fsdecode(log_dir) if isinstance(log_dir, bytes | os.PathLike) else str(log_dir)
    if storage is None and ":/" not in path:
        return path, None
    # Programs that log to a local folder are not to wait for this import.
    from runfold.log.remote import locate

    return locate(path, storage)


def default_folder(comment: str = "") -> str:
    """Where a run goes that was given no folder: that of `runfold run`, or a new one in `runs`."""
    if given := os.environ.get(LOGDIR_VARIABLE):
        return given
    now = datetime.now().strftime("%b%d_%H-%M-%S")
    return os.path.join("runs", f"{now}_{os.uname().nodename}{comment}")
