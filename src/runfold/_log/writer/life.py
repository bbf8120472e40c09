"""The life of a writer's parts: four verbs that all of them have, and where the file goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from runfold._log.writer.sink import Sink


class Part:
    """A part of a writer that lives with its event file. A verb does nothing by default.

    An event writer calls the verbs of its parts, then of its file, then of its uploads,
    in this order. Only `reopen` goes the other way, after the file.
    """

    def reopen(self, sink: Sink) -> None:
        """Continue in a new event file: the first, one after a close, or that of a fork's child."""

    def flush(self, sink: Sink) -> None:
        """Add what waits: the events are about to be written. The writer holds its lock."""

    def close(self, sink: Sink) -> None:
        """Add what comes last, and end. Raises nothing but a warning made an error."""

    def close_later(self, sink: Sink) -> None:
        """Do the same as `close` in the background, for a writer that was forgotten."""
        self.close(sink)

    def after_fork(self) -> None:
        """Forget the locks and threads of the parent process."""


class Location(Protocol):
    """Decides where the next event file of a writer goes."""

    def claim(self) -> str | None:
        """Return the folder for the next event file; None if another process logs the run.

        Raises OSError.
        """

    def release(self, has_file: bool) -> None:
        """Give back what kept others from the folder, after the file was made or could not be."""
