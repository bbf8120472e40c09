"""Batches, counted across epochs, with their metrics, rates and loading times."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from runfold._conventions import BATCH_PREFIX
from runfold._log.writer.convert import as_number, as_step, as_tag, refuse
from runfold._log.writer.guard import guarded
from runfold._log.writer.life import Part
from runfold._log.writer.sink import Writer
from runfold.errors import CannotLog

if TYPE_CHECKING:
    from collections.abc import Callable

    from runfold._core.recorder import Recorder

Item = TypeVar("Item")

# Prefix of validation metrics.
VALIDATION = "val_"
# Rates over shorter periods would be imprecise, and would take too much time to log.
_RATE_SECONDS = 1.0


class BatchLog(Part):
    """The batches of a run, and the time between them.

    Attributes:
        count: the number of the last training batch.
        lock: held while a batch is counted.
    """

    def __init__(self) -> None:
        self.count = 0
        self.lock = threading.Lock()
        self.meter = Meter()
        # Tags by metric name, for training and for validation.
        self._tags: tuple[dict[Any, str], dict[Any, str]] = ({}, {})

    def after_fork(self) -> None:
        """Replace the lock, because a thread of the parent may hold it."""
        self.lock = threading.Lock()

    def name_tags(self, metrics: Any, validation: bool) -> dict[str, Any]:
        """Return metrics by tag. Raises CannotLog."""
        if type(metrics) is not dict and not isinstance(metrics, Mapping):
            raise CannotLog(
                refuse(None, "metrics", metrics, "expected a mapping of names to numbers")
            )
        tags = self._tags[validation]
        named = {}
        for name, value in metrics.items():
            tag = tags.get(name)
            if tag is None:
                own = as_tag(name, "metrics")
                is_plain = not validation or own.startswith(VALIDATION)
                tag = tags[name] = BATCH_PREFIX + (own if is_plain else VALIDATION + own)
            named[tag] = value
        return named


class Tracked(Writer, Protocol):
    """A tracker, as seen by the functions that are its methods."""

    _batches: BatchLog

    @property
    def _recorder(self) -> Recorder:
        """The event writer's recorder."""


@guarded
def batch(
    self: Tracked,
    metrics: Mapping[str, Any],
    *,
    size: Any = None,
    validation: bool = False,
    step: Any = None,
) -> None:
    """Log the metrics of a batch, as `batch/<name>`, with the batch number as the step.

    Batches are numbered from 1; a resumed run continues the count. Validation is not counted: its
    metrics are logged at the number of the last training batch, so call `batch` once for all
    validation batches.

    About once per second, the current rates are also logged: `batch/per_second`,
    `batch/samples_per_second` if sizes are given, and `batch/loading_seconds`, the time that a
    loop over `batches` waited for a batch. Time spent on validation is not included.

    With on_error="raise", a value that is not a number raises CannotLog, and the batch is neither
    logged nor counted. Otherwise only that value is left out.

    Args:
        metrics: numbers by name, as in `log`.
        size: number of samples in the batch.
        validation: whether these are validation metrics. Their names are prefixed with `val_`.
        step: the number of this batch, from which the count continues. Use it if a run
            resumes from a batch before the last one that it logged.

    Examples:
        >>> for inputs, targets in run.batches(loader):
        ...     loss = train_on(inputs, targets)
        ...     run.batch({"loss": loss}, size=len(inputs))
        >>> run.batch({"loss": validate()}, validation=True)  # batch/val_loss
    """
    now = time.perf_counter()
    log = self._batches
    if not self._recorder.is_ready and not self._event_writer.accepts():
        return
    named = log.name_tags(metrics, validation)
    samples = None if size is None else _read_size(size)
    with log.lock:
        next_number = log.count + (not validation)
        number = next_number if step is None else as_step(step, None, "step")
        self.log(named, number)
        if validation:
            log.meter.skip(now)
            return
        log.count = number
        rates = log.meter.add(now, samples)
        if rates:
            self.log(rates, number)


def batches(self: Tracked, loader: Iterable[Item]) -> Loader[Item]:
    """Iterate over a loader and measure how long each batch takes to load.

    A call to `batch` in the loop logs this time. You can iterate over the result again in each
    epoch. It has a length if the loader has one.

    Args:
        loader: any iterable, such as a torch DataLoader.

    Returns:
        An iterable of the loader's items.

    Examples:
        >>> for inputs, targets in run.batches(loader):
        ...     run.batch({"loss": train_on(inputs, targets)})
    """
    return Loader(loader, self._batches.meter)


class Meter:
    """Counts batches and samples, and measures elapsed and loading time, between logged rates."""

    def __init__(self) -> None:
        self._last: float | None = None
        self._waited = 0.0
        self._clear()

    def _clear(self) -> None:
        self._batches = 0
        self._samples: float | None = 0.0
        self._seconds = 0.0
        self._loading: float | None = None

    def begin(self, now: float) -> None:
        """Start the clock, if it is not running."""
        if self._last is None:
            self._last = now

    def wait(self, seconds: float) -> None:
        """Add time spent waiting for the next batch."""
        self._waited += seconds

    def skip(self, now: float) -> None:
        """Exclude the time since the last call from the rates."""
        self._last, self._waited = now, 0.0

    def add(self, now: float, size: float | None) -> dict[str, float]:
        """Count a finished batch; return the rates if enough time has passed, else {}."""
        last, waited = self._last, self._waited
        self._last, self._waited = now, 0.0
        if last is None:
            return {}
        self._batches += 1
        self._seconds += now - last
        self._samples = None if size is None or self._samples is None else self._samples + size
        if waited:
            self._loading = (self._loading or 0.0) + waited
        if self._seconds < _RATE_SECONDS:
            return {}
        rates = {BATCH_PREFIX + "per_second": self._batches / self._seconds}
        if self._samples is not None:
            rates[BATCH_PREFIX + "samples_per_second"] = self._samples / self._seconds
        if self._loading is not None:
            rates[BATCH_PREFIX + "loading_seconds"] = self._loading / self._batches
        self._clear()
        return rates


class Loader(Generic[Item]):
    """A loader that reports to a meter how long each item takes to load."""

    def __init__(
        self,
        loader: Iterable[Item],
        meter: Meter,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._loader = loader
        self._meter = meter
        self._clock = clock

    def __len__(self) -> int:
        return len(self._loader)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Item]:
        start = self._clock()
        self._meter.begin(start)
        items = iter(self._loader)
        while True:
            try:
                item = next(items)
            except StopIteration:
                return
            self._meter.wait(self._clock() - start)
            yield item
            start = self._clock()


def _read_size(size: Any) -> float:
    """Return the number of samples in a batch. Raises CannotLog."""
    number = size if type(size) is int else as_number(size, None, "size")
    if not 0 <= number < float("inf"):
        raise CannotLog(refuse(None, "size", size, "expected a number of samples"))
    return number
