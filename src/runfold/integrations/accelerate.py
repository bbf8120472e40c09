"""accelerate: RunfoldTracker, which is also `Accelerator(log_with="runfold")`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._story.stop_request import interrupt_main
from runfold.integrations._support.framework_import import importing
from runfold.integrations._support.framework_run import FrameworkRun, name_series
from runfold.integrations._support.run_owner import RunOwner

with importing("accelerate", "accelerate", "1.15"):
    from accelerate import tracking
    from accelerate.state import PartialState
    from accelerate.tracking import GeneralTracker, on_main_process

if TYPE_CHECKING:
    from runfold._log.track.tracker import Tracker
    from runfold._story.stop_files import StopRequest

__all__ = ["RunfoldTracker"]


class RunfoldTracker(RunOwner, GeneralTracker):
    """A tracker for accelerate's Accelerator that tracks a run, as `rf.track` does.

    Importing this module registers the tracker, so `Accelerator(log_with="runfold",
    project_dir="runs")` logs to `runs/<project_name>`. This needs accelerate 1.15 or later.

    The tags and steps match those of accelerate's `TensorBoardTracker`, except that a value that is
    a mapping becomes one series per key, `tag/key`. The configuration passed to `init_trackers` is
    logged as hparams. Only the main process logs.

    `end_training` ends the run, and marks it as failed if an exception is being handled. A stop
    request raises KeyboardInterrupt in the main thread. If there are several processes, or to
    handle the request differently, pass `on_stop` and check `should_stop`.

    Args:
        run_name: the run's folder below `logging_dir`, or its whole path without `logging_dir`.
            Default: `runs/<time>_<host>` or, under `runfold run`, the folder that it created.
        logging_dir: the logdir, or a URL such as `s3://bucket/runs`.
        options: options of `rf.track`, such as `storage=` or `system=False`. `resume=True`
            continues the run and discards nothing. Pass a step to discard everything at or after
            that step.

    Raises:
        TypeError: an option is unknown or has the wrong type.
        ValueError: an option has an invalid value.
        CannotLog: the options contradict each other, or the operating system is Windows.

    Examples:
        >>> from accelerate import Accelerator
        >>> from runfold.integrations.accelerate import RunfoldTracker
        >>> accelerator = Accelerator(log_with=RunfoldTracker("runs/seed-1"))
        >>> accelerator.init_trackers("mnist", config={"lr": 0.1})
        >>> accelerator.log({"train/loss": 0.5}, step=1)
        >>> accelerator.end_training()
    """

    name = "runfold"
    requires_logging_directory = True

    def __init__(
        self,
        run_name: str | os.PathLike[str] | None = None,
        logging_dir: str | os.PathLike[str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self._on_stop = options.pop("on_stop", None)
        options["on_stop"] = self._receive_stop
        if logging_dir is None:
            self._run = FrameworkRun(run_name, **options)
        else:
            name = os.fspath(run_name) if run_name is not None else None
            self._run = FrameworkRun(logging_dir, name, **options)

    @property
    def tracker(self) -> Tracker:
        """The run, with all methods of `SummaryWriter`.

        Reading this attribute starts or continues the run. In processes other than the main one,
        the methods do nothing.
        """
        # The Accelerator creates this state, possibly after the tracker, so it is read only now.
        options = self._run.options
        if "is_main" not in options:
            options["is_main"] = PartialState().is_main_process
        return self._run.tracker

    @property
    def should_stop(self) -> bool:
        """Whether the run has been asked to stop. False in processes other than the main one."""
        return self._run.should_stop

    @on_main_process
    def start(self) -> None:
        """Start the run. `init_trackers` calls this."""
        _ = self.tracker

    @on_main_process
    def store_init_configuration(self, values: Any) -> None:
        """Log the configuration as hparams, with secrets replaced by `***`.

        Args:
            values: any type that `rf.track` accepts. Nested names are joined by dots.
        """
        _ = self.tracker
        self._run.log_config(values)

    def log(self, values: Mapping[str, Any], step: int | None = None, **kwargs: Any) -> None:
        """Log numbers and strings by tag. A mapping becomes one series per key: `tag/key`.

        A value that cannot be logged causes one warning per tag and does not stop training.

        Args:
            values: numbers, single-element tensors, strings, or mappings.
            step: the step.
            kwargs: further arguments of `add_scalar` and `add_text`, such as `walltime=`.
        """
        # An open run is in the main process, so the check in `on_main_process`, which takes longer
        # than logging, is not needed.
        if kwargs or not self._run.log_plain(values, step):
            self._log_each(values, step, **kwargs)

    @on_main_process
    def _log_each(self, values: Mapping[str, Any], step: int | None, **kwargs: Any) -> None:
        """Log values one by one."""
        run = self.tracker
        for tag, value in name_series(values):
            add = run.add_text if isinstance(value, str) else run.add_scalar
            add(tag, value, step, **kwargs)

    @on_main_process
    def log_images(self, values: Mapping[str, Any], step: int | None = None, **kwargs: Any) -> None:
        """Log images by tag.

        Args:
            values: batches of shape (images, channels, height, width), or lists of PIL images,
                which become one series per image: `tag/0`, `tag/1` and so on.
            step: the step.
            kwargs: further arguments of `add_images`, such as `dataformats="NHWC"`.
        """
        run = self.tracker
        for tag, images in values.items():
            if isinstance(images, list | tuple) and all(map(_is_pil, images)):
                for index, image in enumerate(images):
                    pixels = np.asarray(image.convert("RGB"))
                    run.add_image(f"{tag}/{index}", pixels, step, dataformats="HWC")
            else:
                run.add_images(tag, images, step, **kwargs)

    @on_main_process
    def log_table(
        self,
        table_name: str,
        columns: Sequence[str] | None = None,
        data: Sequence[Sequence[Any]] | None = None,
        dataframe: Any = None,
        step: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Log a table as text, which TensorBoard and Runfold's page show as a table.

        A table without columns is not logged.

        Args:
            table_name: the tag.
            columns: names of the columns. Default: the first row of `data`.
            data: the rows.
            dataframe: a data frame, instead of `columns` and `data`.
            step: the step.
            kwargs: further arguments of `add_text`, such as `walltime=`.
        """
        if dataframe is not None:
            columns, data = list(dataframe.columns), dataframe.to_numpy().tolist()
        rows = [list(row) for row in (data if data is not None else [])]
        header = list(columns) if columns is not None else rows.pop(0) if rows else []
        if not header:
            return
        lines = [header, ["---"] * len(header), *rows]
        text = "\n".join(f"| {' | '.join(map(_as_cell, line))} |" for line in lines)
        self.tracker.add_text(table_name, text, step, **kwargs)

    @on_main_process
    def log_artifact(self, local_path: str | os.PathLike[str], name: str | None = None) -> None:
        """Copy a file or folder, such as a checkpoint, into the run's folder as an artifact.

        If the copy cannot be saved, a warning is issued and training continues.

        Args:
            local_path: the file or folder to copy.
            name: name of the copy below `artifacts`. Default: the name of the file.
        """
        _ = self.tracker
        self._run.save(local_path, name)

    @on_main_process
    def finish(self) -> None:
        """End the run; mark it as failed if an exception is being handled.

        `end_training` calls this.
        """
        self._run.finish(sys.exception())

    def _receive_stop(self, request: StopRequest) -> None:
        self._run.stop_request = request
        if self._on_stop is not None:
            self._on_stop(request)
        else:
            interrupt_main()


# Older versions of accelerate accept only an instance of the class.
if hasattr(tracking, "register_tracker_class") and "runfold" not in tracking.LOGGER_TYPE_TO_CLASS:
    tracking.register_tracker_class(RunfoldTracker)


def _is_pil(image: Any) -> bool:
    return hasattr(image, "convert") and hasattr(image, "getbands")


def _as_cell(value: Any) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")
