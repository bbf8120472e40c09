"""Support for copying and pickling closed writers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runfold._humanize import escape

if TYPE_CHECKING:
    from runfold._core.recorder import ScalarMethods


def reduce_closed(self: ScalarMethods, protocol: Any) -> Any:
    """Pickle or copy a closed writer; the copy opens its own file on first use.

    Raises TypeError for an open writer, and for one that cannot be reopened.
    """
    event_writer: Any = self._event_writer or self
    if not (event_writer.is_closed and event_writer.reopens):
        raise TypeError(
            f"The writer for {escape(event_writer.folder)} cannot be copied or sent to another "
            "process while its file is open. Close the writer first, or open a new writer for the "
            "copy or in the other process."
        )
    return _make_empty, (type(self),), self.__getstate__()


def _make_empty(kind: type[ScalarMethods]) -> ScalarMethods:
    """Return a writer without attributes; unpickling sets them."""
    return kind.__new__(kind)
