"""SummaryWriter, a fast replacement for the writers of torch and tensorboardX."""

from __future__ import annotations

import copy
import operator
import os
import weakref
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

from runfold._core.recorder import ScalarMethods
from runfold._log.summary import add_arrays as arrays
from runfold._log.summary import add_media as media
from runfold._log.summary import add_models as models
from runfold._log.summary import add_scalars as scalars
from runfold._log.summary.custom_charts import Charts
from runfold._log.summary.histogram_buckets import default_limits
from runfold._log.summary.hparams_log import FirstEvents, HparamsLog
from runfold._log.summary.hparams_session import as_settings
from runfold._log.writer.convert import as_step
from runfold._log.writer.copying import reduce_closed
from runfold._log.writer.event_writer import EventWriter
from runfold._log.writer.file_writer import FileWriter
from runfold._log.writer.rank_zero import RankPolicy, make_folder
from runfold._system import host_name
from runfold._warnings import warn_caller

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from typing_extensions import Buffer

    from runfold._log.writer.guard import OnError
    from runfold._log.writer.rank_zero import Ranks
    from runfold._log.writer.remote_log import Remote

# `runfold run` passes the run's folder to a script's writers in this variable.
LOGDIR_VARIABLE = "RUNFOLD_LOGDIR"


class Forwarded:
    """An attribute of a writer that is stored in one of its parts.

    Assigning to it before `SummaryWriter.__init__`, as some subclasses do, has no effect.
    """

    def __init__(self, part: str, doc: str) -> None:
        """Store the path from a writer to the part, and the attribute's docstring."""
        self.__doc__ = doc
        self._find_part = operator.attrgetter(part)

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, writer: Any, owner: type | None = None) -> Any:
        """Return the part's attribute, or this object if accessed on the class."""
        return self if writer is None else getattr(self._find_part(writer), self._name)

    def __set__(self, writer: Any, value: Any) -> None:
        with suppress(AttributeError):
            setattr(self._find_part(writer), self._name, value)


def forwarded(part: str, doc: str) -> Any:
    """Return a `Forwarded`, typed as the attribute itself."""
    return Forwarded(part, doc)


class SummaryWriter(ScalarMethods):
    """Logs everything that TensorBoard shows, to event files in a folder.

    A drop-in replacement for `torch.utils.tensorboard.SummaryWriter` and
    `tensorboardX.SummaryWriter`. Values can be Python numbers, NumPy arrays, or torch, JAX and
    TensorFlow tensors on any device.

    Calls return at once: a background thread writes the events at least every two seconds.
    Writers are thread-safe. A call after `close` opens a new event file in the same folder.

    By default, logging never stops training: a value that cannot be logged causes one warning per
    tag and is counted in `skipped`. If the disk is full, events are kept in memory and the write
    is retried. Pass on_error="raise" to get `CannotLog` and `OSError` instead. A tag that is not
    a str always raises `BadTag`.

    Examples:
        >>> from runfold import SummaryWriter
        >>> with SummaryWriter("runs/seed-1") as writer:
        ...     for step in range(100):
        ...         writer.add_scalar("train/loss", 1 / (step + 1), step)
    """

    folder: str = forwarded("_event_writer.file", "The local folder of the event file.")
    flush_secs: float = forwarded(
        "_event_writer", "The maximum number of seconds until logged events are written."
    )
    is_closed: bool = forwarded("_event_writer", "Whether the event file is closed.")
    skipped: dict[str, int] = forwarded(
        "_event_writer.errors",
        'Number of failed calls per tag; "" counts calls without a tag.',
    )
    clean_tags: bool = forwarded(
        "_event_writer.checks", "Whether tags are cleaned as in tensorboardX."
    )
    purge_step: int | None = forwarded(
        "_first_events", "The `purge_step` option, until it is written to the event file."
    )

    _file_writer: weakref.ref[FileWriter] | None = None
    _default_bins: list[float] | None = None

    add_scalars = scalars.add_scalars
    add_scalar_dict = scalars.add_scalar_dict
    add_scalar_series = scalars.add_scalar_series
    add_custom_scalars = scalars.add_custom_scalars
    add_custom_scalars_multilinechart = scalars.add_custom_scalars_multilinechart
    add_custom_scalars_marginchart = scalars.add_custom_scalars_marginchart
    export_scalars_to_json = scalars.export_scalars_to_json
    use_metadata = scalars.use_metadata
    add_tensor = arrays.add_tensor
    add_histogram = arrays.add_histogram
    add_histogram_raw = arrays.add_histogram_raw
    add_pr_curve = arrays.add_pr_curve
    add_pr_curve_raw = arrays.add_pr_curve_raw
    add_image = media.add_image
    add_images = media.add_images
    add_image_with_boxes = media.add_image_with_boxes
    add_figure = media.add_figure
    add_video = media.add_video
    add_audio = media.add_audio
    add_text = media.add_text
    add_hparams = models.add_hparams
    add_graph = models.add_graph
    add_onnx_graph = models.add_onnx_graph
    add_openvino_graph = models.add_openvino_graph
    add_embedding = models.add_embedding
    add_mesh = models.add_mesh

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
        """Open a new event file in a folder.

        Args:
            log_dir: the run's folder, or a URL such as `s3://bucket/run`, to which a local copy
                is uploaded as it grows. Default: `runs/<time>_<host><comment>`.
            comment: suffix of the default folder name.
            purge_step: discard events already in this folder that are at or after this step.
            max_queue: ignored; accepted for compatibility with torch.
            flush_secs: maximum number of seconds until logged events are written.
            filename_suffix: suffix of the event file's name.
            write_to_disk: False accepts every call and writes nothing.
            logdir: tensorboardX's name for `log_dir`.
            comet_config: ignored; accepted for compatibility with tensorboardX.
            hparams: the run's hparams, as in `add_hparams`.
            on_error: "raise" raises every error; "warn" only warns, even if the folder cannot be
                written to. Default: raise here if the folder cannot be written to, and only
                warn later.
            is_main: True always writes, whatever the rank of this process; False never writes.
            ranks: "zero" silences a rank above zero if rank zero of the same job logs to the same
                folder; "all" writes from every rank.
            is_lazy: open the file on the first call.
            clean_tags: replace characters other than letters, digits and `-_./` in tags with `_`,
                as tensorboardX does. This makes calls slower.
            storage: a URL such as `s3://bucket/runs`, or a shared folder, to which the run's folder
                is uploaded as it grows, under its own name.
            sync_trackers: forward logged data to W&B, MLflow, SwanLab, ClearML and Comet, if the
                program has set them up to receive TensorBoard data.
            kwargs: ignored, with a warning if any is set.

        Raises:
            OSError: the folder cannot be written to.
            CannotStore: a URL is not supported.
            CannotLog: `log_dir` is a URL and `storage` is set too, or `hparams` cannot be logged.

        Examples:
            >>> writer = SummaryWriter()  # runs/<time>_<host>
            >>> writer = SummaryWriter("runs/seed-1", hparams={"lr": 0.1})
            >>> writer = SummaryWriter("s3://bucket/runs/seed-1")
        """
        if log_dir is not None and logdir is not None:
            raise TypeError("log_dir and logdir are the same argument; pass only one of them")
        # tensorboardX's default is a disabled config.
        is_sent = bool(comet_config) and not comet_config.get("disabled")
        if ignored := [*["comet_config"] * is_sent, *filter(kwargs.get, kwargs)]:
            warn_caller(f"SummaryWriter ignores {', '.join(ignored)}.")
        policy = RankPolicy(is_main if write_to_disk else False, ranks)
        chosen = log_dir or logdir or os.environ.get(LOGDIR_VARIABLE)
        self.log_dir = chosen or policy.choose_default(default_folder(comment))
        folder, self._remote = _locate(self.log_dir, storage)
        if self._remote is not None and self._remote.is_staged:
            # Other machines cannot see a mark in a staging folder.
            policy.defer(self._remote.shown)
        purge_step = None if purge_step is None else as_step(purge_step, None, "purge_step")
        settings = None if hparams is None else as_settings(hparams)
        self._charts, self._hparams = Charts(), HparamsLog(self._remote)
        self._first_events = FirstEvents(self._hparams, purge_step, settings)
        self.max_queue = max_queue
        self.filename_suffix = filename_suffix
        event_writer = EventWriter(
            folder,
            suffix=filename_suffix,
            flush_secs=flush_secs,
            on_error=on_error,
            policy=policy,
            is_lazy=is_lazy,
            clean_tags=clean_tags,
            sync_trackers=sync_trackers,
            staged_for=None if self._remote is None else self._remote.path,
            reopens=True,
            parts=(self._charts, self._hparams, self._first_events),
            uploads=() if self._remote is None else (self._remote,),
            location=self._remote,
        )
        self._use(event_writer)
        if self.is_silent and write_to_disk and self._remote is None:
            make_folder(self.folder)

    @property
    def is_silent(self) -> bool:
        """Whether the writer accepts every call and writes nothing."""
        is_silent: bool = self._event_writer.is_silent
        return is_silent

    @property
    def path(self) -> str | None:
        """The path of the event file; None for a silent writer."""
        path: str | None = self._event_writer.path
        return path

    def add_value(
        self, tag: str, message: Buffer, step: Any = None, walltime: float | None = None
    ) -> None:
        """Add a serialized `Summary.Value` protobuf message.

        Args:
            tag: the tag, used only for checks; the message contains its own tag.
            message: the serialized message.
            step: the step. Default: 0.
            walltime: seconds since 1970. Default: now.
        """
        self._event_writer.add_value(tag, message, step, walltime)

    def flush(self, *, fsync: bool = False) -> None:
        """Write all pending events, and retry writes that failed before.

        Args:
            fsync: also wait until everything is on disk, safe from a power failure.

        Raises:
            OSError: the events cannot be written. Only with on_error="raise".
        """
        self._event_writer.flush(fsync=fsync)

    def close(self) -> None:
        """Write all pending events and close the event file.

        Raises:
            OSError: the events cannot be written. Only with on_error="raise".
        """
        self._event_writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        error = raised[1] if len(raised) > 1 else None
        self._event_writer.ended_by = (error if isinstance(error, BaseException) else None,)
        self.close()

    __reduce_ex__ = reduce_closed

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes that are not tied to this process."""
        kept = {name: value for name, value in vars(self).items() if name != "_file_writer"}
        return {**kept, "_event_writer": copy.copy(self._event_writer)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._use(state["_event_writer"])
        for name, value in state.items():
            if name != "_event_writer":
                setattr(self, name, value)

    def _survive(self, error: Exception, call: str, tag: str) -> bool:
        survives: bool = self._event_writer._survive(error, call, tag)
        return survives

    @property
    def logdir(self) -> str | os.PathLike[str]:
        """The run's folder or URL: tensorboardX's name for `log_dir`."""
        return self.log_dir

    @logdir.setter
    def logdir(self, value: Any) -> None:
        self.log_dir = value

    def get_logdir(self) -> str | os.PathLike[str]:
        """Return the run's folder or URL, as passed to the constructor."""
        return self.log_dir

    @property
    def file_writer(self) -> FileWriter | None:
        """The writer for whole protobuf messages; None after `close`, as in torch.

        Assigning to it has no effect; subclasses written for torch's writer may do so.
        """
        if self.is_closed:
            return None
        file_writer = self._file_writer() if self._file_writer is not None else None
        if file_writer is None:
            # A weak reference, to avoid a cycle: the file writer refers to this object.
            file_writer = FileWriter(self)
            self._file_writer = weakref.ref(file_writer)
        return file_writer

    @file_writer.setter
    def file_writer(self, value: Any) -> None:
        pass

    @property
    def all_writers(self) -> dict[str, FileWriter] | None:
        """The file writer by folder; None after `close`, as in torch.

        Assigning to it has no effect.
        """
        file_writer = self.file_writer
        return None if file_writer is None else {file_writer.get_logdir(): file_writer}

    @all_writers.setter
    def all_writers(self, value: Any) -> None:
        pass

    def _get_file_writer(self) -> FileWriter:
        """Return the file writer; opens a new file if the last one was closed."""
        self._event_writer.accepts()
        return self.file_writer or FileWriter(self)

    @property
    def default_bins(self) -> list[float]:
        """The default bin edges for `add_histogram`; can be set."""
        return list(default_limits()) if self._default_bins is None else self._default_bins

    @default_bins.setter
    def default_bins(self, limits: list[float]) -> None:
        self._default_bins = limits

    @property
    def scalar_dict(self) -> dict[str, list[list[Any]]]:
        """All scalars in this writer's files, in the format of `export_scalars_to_json`.

        Assigning to it has no effect.
        """
        return scalars.read_scalars(self)

    @scalar_dict.setter
    def scalar_dict(self, value: Any) -> None:
        pass


def _locate(
    log_dir: str | os.PathLike[str], storage: str | os.PathLike[str] | None
) -> tuple[str, Remote | None]:
    """Return the local folder for a log, and its Remote if it is uploaded."""
    path = os.fsdecode(log_dir) if isinstance(log_dir, bytes | os.PathLike) else str(log_dir)
    if storage is None and ":/" not in path:
        return path, None
    # Skip this slow import for local folders.
    from runfold._log.writer.remote_log import locate

    return locate(path, storage)


def default_folder(comment: str = "") -> str:
    """Return the default folder: that of `runfold run`, or a new one in `runs`."""
    if folder := os.environ.get(LOGDIR_VARIABLE):
        return folder
    now = datetime.now().strftime("%b%d_%H-%M-%S")
    return os.path.join("runs", f"{now}_{host_name()}{comment}")
