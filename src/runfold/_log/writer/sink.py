"""The interface between a writer, its parts and its methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping

    from typing_extensions import Buffer

    from runfold._log.writer.checks import Checks
    from runfold._log.writer.current_file import EventFile
    from runfold._log.writer.guard import ErrorPolicy


class Sink(Protocol):
    """Accepts events for an event file. Implemented by `EventWriter`.

    Attributes:
        lock: held while the file is opened, written or closed, and while state that a flush reads
            is changed.
        file: the open event file.
        checks: converts arguments to tags, steps and times.
        errors: decides what happens when a call fails.
    """

    flush_secs: float
    is_closed: bool
    last_step: int
    lock: threading.RLock
    file: EventFile
    checks: Checks
    errors: ErrorPolicy

    @property
    def folder(self) -> str:
        """The local folder of the event file."""

    @property
    def path(self) -> str | None:
        """The path of the event file; None while there is no file."""

    @property
    def is_silent(self) -> bool:
        """Whether the writer accepts every call and writes nothing."""

    def accepts(self) -> bool:
        """Whether to record a call; opens the file if needed."""

    def put(self, kind: str, *arguments: Any) -> None:
        """Add an event by calling the EventBuffer method named `kind`."""

    def add_value(
        self, tag: str, message: Buffer, step: Any = None, walltime: float | None = None
    ) -> None:
        """Add a serialized `Summary.Value`."""

    def add_scalar(self, tag: str, scalar_value: Any, global_step: Any = None) -> None:
        """Add one number."""

    def choose_path(self) -> None:
        """Decide whether plain numbers take the fast path, after `checks` has changed."""

    def flush(self) -> None:
        """Write all pending events."""

    def raised(self) -> BaseException | None:
        """Return the exception that ended the writer, or None."""

    def _survive(self, error: Exception, call: str, tag: str) -> bool:
        """Warn about a failed call and return True, or return False if it must raise."""


class Writer(Protocol):
    """A SummaryWriter, as seen by the functions that are its methods.

    They call its public methods, because a subclass may override them.
    """

    last_step: int
    # The writer's `Charts` and `HparamsLog`.
    _charts: Any
    _hparams: Any
    # The histogram limits that the program has set in place of torch's.
    _default_bins: list[float] | None

    @property
    def _event_writer(self) -> Any:
        """The `EventWriter`, which is a `Sink`."""

    def _survive(self, error: Exception, call: str, tag: str) -> bool:
        """Warn about a failed call and return True, or return False if it must raise."""

    def add_value(
        self, tag: str, message: Buffer, step: Any = None, walltime: float | None = None
    ) -> None:
        """Add a serialized `Summary.Value`."""

    def add_scalar(self, tag: str, scalar_value: Any, global_step: Any = None) -> None:
        """Log one number."""

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Log several numbers at one step, in one chart."""

    def log(
        self, values: Mapping[str, Any], step: Any = None, walltime: float | None = None
    ) -> None:
        """Log several numbers at one step, by tag."""

    def flush(self) -> None:
        """Write all pending events."""
