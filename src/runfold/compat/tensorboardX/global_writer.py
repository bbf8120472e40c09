"""GlobalSummaryWriter: a writer that several processes share and that counts the steps."""

from __future__ import annotations

import multiprocessing
from typing import Any, ClassVar

from runfold.compat.tensorboardX.writer import SummaryWriter


class GlobalSummaryWriter:
    """Logs scalars, images and text from several processes to one run.

    The first value of a tag has step 0, and each subsequent value has the next step,
    no matter which process logs it. Create the writer before forking. Each process writes
    its own event file in the run's folder.

    Accepts the arguments of `SummaryWriter`. `coalesce_process` is ignored, as in
    tensorboardX.
    """

    _shared: ClassVar[GlobalSummaryWriter | None] = None

    def __init__(self, *args: Any, coalesce_process: bool = True, **kwargs: Any) -> None:
        # The manager forks, so it must start before the writer's threads.
        self._manager = multiprocessing.Manager()
        self._steps = self._manager.dict()
        self._lock = multiprocessing.Lock()
        self.smw = SummaryWriter(*args, **kwargs)

    def add_scalar(self, tag: str, scalar_value: Any, walltime: float | None = None) -> None:
        """Log one number at the tag's next step."""
        self.smw.add_scalar(tag, scalar_value, self._next("scalar", tag), walltime)

    def add_image(
        self, tag: str, img_tensor: Any, walltime: float | None = None, dataformats: str = "CHW"
    ) -> None:
        """Log an image at the tag's next step."""
        self.smw.add_image(tag, img_tensor, self._next("image", tag), walltime, dataformats)

    def add_text(self, tag: str, text_string: str, walltime: float | None = None) -> None:
        """Log text at the tag's next step."""
        self.smw.add_text(tag, text_string, self._next("text", tag), walltime)

    @staticmethod
    def getSummaryWriter() -> GlobalSummaryWriter:  # noqa: N802 - tensorboardX's name
        """Return the program's shared writer, which logs to the default folder."""
        if GlobalSummaryWriter._shared is None:
            GlobalSummaryWriter._shared = GlobalSummaryWriter()
        return GlobalSummaryWriter._shared

    @property
    def file_writer(self) -> Any:
        """The writer's `file_writer`."""
        writer: Any = self.smw
        return writer.file_writer

    def close(self) -> None:
        """Write everything and close the event file of this process."""
        self.smw.close()

    def _next(self, kind: str, tag: str) -> int:
        """Return the tag's next step, counted across all processes."""
        with self._lock:
            step: int = self._steps.get((kind, tag), -1) + 1
            self._steps[kind, tag] = step
        return step
