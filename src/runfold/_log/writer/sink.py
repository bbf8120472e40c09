"""What the parts of a writer, and the functions behind its methods, may ask of it."""

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
    """Takes events for an event file. An `EventWriter` is one.

    Attributes:
        lock: held while the file is opened, written or closed, and by those who change
            state that a flush reads.
        file: the event file that is open.
        checks: makes tags, steps and times of what callers give.
        errors: what becomes of calls that fail.
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
        """The event file; None while there is none."""

    @property
    def is_silent(self) -> bool:
        """Whether the writer takes every call and writes nothing."""

    def accepts(self) -> bool:
        """Whether a call is to be recorded; opens the file if need be."""

    def put(self, kind: str, *arguments: Any) -> None:
        """Add to the events by one of the methods of EventBuffer."""

    def add_value(
        self, tag: str, message: Buffer, step: Any = None, walltime: float | None = None
    ) -> None:
        """Add one serialised `Summary.Value`."""

    def add_scalar(self, tag: str, scalar_value: Any, global_step: Any = None) -> None:
        """Add one number."""

    def choose_path(self) -> None:
        """Decide whether plain numbers take the fast path; after a change of `checks`."""

    def flush(self) -> None:
        """Wait until the system has everything that was logged."""

    def raised(self) -> BaseException | None:
        """Return the exception that ends the writer, if one does."""

    def _survive(self, error: Exception, call: str, tag: str) -> bool:
        """Report a call that failed, or return False where it has to raise."""


class Writer(Protocol):
    """A SummaryWriter, as the functions that are its methods see it.

    They call its public methods where a subclass may have overridden them.
    """

    last_step: int
    # The `Charts` and the `HparamsLog` of the writer.
    _charts: Any
    _hparams: Any
    # The limits of histograms that the program has set in place of torch's.
    _default_bins: list[float] | None

    @property
    def _event_writer(self) -> Any:
        """The `EventWriter`, which is a `Sink`."""

    def _survive(self, error: Exception, call: str, tag: str) -> bool:
        """Report a call that failed, or return False where it has to raise."""

    def add_value(
        self, tag: str, message: Buffer, step: Any = None, walltime: float | None = None
    ) -> None:
        """Add one serialised `Summary.Value`."""

    def add_scalar(self, tag: str, scalar_value: Any, global_step: Any = None) -> None:
        """Log one number."""

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Log several numbers at one step, on one chart."""

    def log(
        self, values: Mapping[str, Any], step: Any = None, walltime: float | None = None
    ) -> None:
        """Log several numbers at one step, by tag."""

    def flush(self) -> None:
        """Wait until the system has everything that was logged."""
