"""The interfaces of a writer's parts and of the location of its files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from runfold._log.writer.sink import Sink


class Part:
    """A part of a writer, opened and closed with its event file. By default, methods do nothing.

    An event writer calls its parts, then its file, then its uploads. Only `reopen` uses the reverse
    order, starting with the file.
    """

    def reopen(self, sink: Sink) -> None:
        """Start with a new event file: the first, the next after `close`, or a forked child's."""

    def flush(self, sink: Sink) -> None:
        """Add the part's pending events before a write. The writer holds its lock."""

    def close(self, sink: Sink) -> None:
        """Add the last events, and end. Raises only if warnings are errors."""

    def close_later(self, sink: Sink) -> None:
        """Do the same as `close`, in the background, for a writer that the program dropped."""
        self.close(sink)

    def after_fork(self) -> None:
        """Reset the locks and threads inherited from the parent process."""


class Location(Protocol):
    """Decides where a writer's next event file goes."""

    def claim(self) -> str | None:
        """Return the folder for the next event file; None if another process logs the run.

        Raises OSError.
        """

    def release(self, has_file: bool) -> None:
        """Release the claim on the folder, after the file was created or its creation failed."""
