"""SummaryWriter: the interface of torch's and tensorboardX's, at a hundredth of the cost."""

from __future__ import annotations

import os
from datetime import datetime
from typing import TYPE_CHECKING, Any

from runfold.log.arrays import as_step, warn
from runfold.log.hparams import as_settings
from runfold.log.media import Media
from runfold.log.models import Models
from runfold.log.numbers import Numbers
from runfold.log.ranks import is_rank_zero

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runfold.log.writer import OnError

# How `runfold run` tells a script's writers where the run is.
LOGDIR_VARIABLE = "RUNFOLD_LOGDIR"


class SummaryWriter(Numbers, Media, Models):
    """Logs everything that TensorBoard shows into one event file.

    A drop-in for `torch.utils.tensorboard.SummaryWriter` and tensorboardX's:

        from runfold import SummaryWriter

        with SummaryWriter("runs/seed-1") as writer:
            writer.add_scalar("train/loss", 0.5, 1)

    Values may be Python numbers, NumPy arrays, or tensors of torch, JAX and
    TensorFlow on any device. See `EventWriter` for what happens when things go
    wrong.
    """

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
        on_error: OnError = "raise",
        rank_zero_only: bool = True,
        is_lazy: bool = False,
        **kwargs: object,
    ) -> None:
        """Begin an event file in a folder.

        Args:
            log_dir: the run's folder; by default `runs/<time>_<host><comment>`.
            comment: the end of that default name.
            purge_step: what was logged in this folder at or after this step is void.
            max_queue: taken for torch's sake; calls never wait for the disk.
            flush_secs: what was logged so long ago is on the disk.
            filename_suffix: the end of the event file's name.
            write_to_disk: False makes a writer that takes every call and writes nothing.
            logdir: tensorboardX's name of `log_dir`.
            comet_config: of tensorboardX; nothing is sent to other services.
            hparams: the run's hparams, as by `add_hparams`.
            on_error: "raise" raises what goes wrong on the disk at the next call;
                "warn" warns, and training goes on.
            rank_zero_only: in a distributed job, only the first process writes.
            is_lazy: begin the file at the first call, not at once.
            kwargs: taken for tensorboardX's sake; a warning names those that ask for something.
        """
        if log_dir is not None and logdir is not None:
            raise TypeError("log_dir and logdir are two names of one argument; give one of them")
        # tensorboardX's own default is a config that is disabled.
        is_sent = bool(comet_config) and not comet_config.get("disabled")
        if ignored := [*["comet_config"] * is_sent, *filter(kwargs.get, kwargs)]:
            warn(f"SummaryWriter ignores {', '.join(ignored)}.")
        folder = os.fspath(log_dir or logdir or default_folder(comment))
        # What comes first in the file, which with on_error="warn" may be made later.
        self._purge_step = None if purge_step is None else as_step(purge_step, None, "purge_step")
        self._hparams_given = None if hparams is None else as_settings(hparams)
        self.max_queue = max_queue
        super().__init__(
            folder,
            suffix=filename_suffix,
            flush_secs=flush_secs,
            on_error=on_error,
            is_silent=not write_to_disk or (rank_zero_only and not is_rank_zero()),
            is_lazy=is_lazy,
        )

    @property
    def log_dir(self) -> str:
        """The run's folder."""
        return self.folder

    @property
    def logdir(self) -> str:
        """The run's folder, by tensorboardX's name."""
        return self.folder

    def get_logdir(self) -> str:
        """The run's folder."""
        return self.folder

    def _open(self) -> None:
        super()._open()
        purge_step, self._purge_step = self._purge_step, None
        if purge_step is not None:
            self.put("session_start", purge_step, self._time(None))
        hparams, self._hparams_given = self._hparams_given, None
        if hparams is not None:
            self.add_hparams(hparams)


def default_folder(comment: str = "") -> str:
    """Where a run goes that was given no folder: that of `runfold run`, or a new one in `runs`."""
    if given := os.environ.get(LOGDIR_VARIABLE):
        return given
    now = datetime.now().strftime("%b%d_%H-%M-%S")
    return os.path.join("runs", f"{now}_{os.uname().nodename}{comment}")
