"""Batches, counted over the whole training: their metrics, their rate and their loading time."""

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

# The group of all tags here, which the steps of other tags say nothing of.
# What the names of validation begin with.
VALIDATION = "val_"
# Rates of fewer seconds would be of the clock more than of the training, and dear.
_RATE_SECONDS = 1.0


class BatchLog(Part):
    """The batches of a run: how many there were, and what passes between them.

    Attributes:
        count: the number of the last batch of training.
        lock: held while a batch is counted.
    """

    def __init__(self) -> None:
        self.count = 0
        self.lock = threading.Lock()
        self.meter = Meter()
        # By name: the tags of training, and those of validation.
        self._tags: tuple[dict[Any, str], dict[Any, str]] = ({}, {})

    def after_fork(self) -> None:
        """Take another lock: a thread of the parent may hold this one."""
        self.lock = threading.Lock()

    def name_tags(self, metrics: Any, validation: bool) -> dict[str, Any]:
        """The metrics by their tags. Raises CannotLog."""
        if type(metrics) is not dict and not isinstance(metrics, Mapping):
            raise CannotLog(refuse(None, "metrics", metrics, "numbers by name are meant"))
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
    """A tracker, as the functions that are its methods see it."""

    _batches: BatchLog

    @property
    def _recorder(self) -> Recorder:
        """The recorder of its event writer."""


@guarded
def batch(
    self: Tracked,
    metrics: Mapping[str, Any],
    *,
    size: Any = None,
    validation: bool = False,
    step: Any = None,
) -> None:
    """Log what one batch gave, as `batch/<name>` at the number of the batch.

        for inputs, targets in run.batches(loader):
            loss = train_on(inputs, targets)
            run.batch({"loss": loss}, size=len(inputs))
        run.batch({"loss": validate()}, validation=True)    # batch/val_loss

    The first batch has the number 1, and a resumed run goes on counting. Validation
    is not counted: it stands at the number of the last batch of training, so call it
    once for all its batches. About once a second the rates since the last time are
    logged as well: `batch/per_second`, `batch/samples_per_second` where sizes are
    given, and `batch/loading_seconds`, the time that a batch was waited for in
    `batches`. Time that validation takes counts for none of them.

    Args:
        metrics: numbers by name, as `log` takes them.
        size: how many samples the batch has.
        validation: whether it served validation; the names then begin with `val_`.
        step: the number of the batch, from which the count goes on; a resumed run
            that begins at an earlier batch than the last says so here.

    With on_error="raise" a value that is not a number raises CannotLog, and the batch
    is neither logged nor counted; otherwise only that value is left out.
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
    """The items of a loader, any iterable; how long each is waited for is measured.

    `batch`, called in the loop, logs it. It may be gone through again in each epoch,
    and has a length where the loader has one.
    """
    return Loader(loader, self._batches.meter)


class Meter:
    """What passes between batches: how many, of how many samples, in which time."""

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
        """Take the time from here on, where nothing was measured before."""
        if self._last is None:
            self._last = now

    def wait(self, seconds: float) -> None:
        """Note that the next batch was waited for."""
        self._waited += seconds

    def skip(self, now: float) -> None:
        """Note that the time since the last call was not for training."""
        self._last, self._waited = now, 0.0

    def add(self, now: float, size: float | None) -> dict[str, float]:
        """Count a batch that is done; the rates, where enough time has passed since the last."""
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
    """A loader whose items are waited for under a meter."""

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
    """How many samples a batch has. Raises CannotLog."""
    number = size if type(size) is int else as_number(size, None, "size")
    if not 0 <= number < float("inf"):
        raise CannotLog(refuse(None, "size", size, "a number of samples is meant"))
    return number
