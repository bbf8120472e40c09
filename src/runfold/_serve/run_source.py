"""The runs that are served: looked up by name, read in threads, brought up to date."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, ParamSpec, TypeVar

from runfold._humanize import did_you_mean, escape
from runfold._runs import Runs, open_runs
from runfold.errors import LogdirNotFound, RunfoldError, UnknownTag

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

    from runfold._events.problems import Problem
    from runfold._logdir.run_log import RunLog

    P = ParamSpec("P")
    T = TypeVar("T")

# Decoding and Arrow let go of the GIL, so that some more than there are cores do no harm.
_WORKERS = 8
# So many may wait for a worker: 50 pages that open 60 charts at a time are no attack.
_PLACES = 4000
# So many folds and comparisons at once: they keep all cores busy, some for seconds.
_COMPUTING = 3
# So many queries at once: each has a process, and may take its memory.
_QUERIES = 2
# So many may wait; each of 50 pages has one, and a program may ask some more.
_QUERY_PLACES = 200
# For the work, and before that for its turn: both fit into what a request may take.
_SECONDS = 30.0
# How long a refresh holds requests up at most, in the hope that those at work end.
_PATIENCE = 0.5


@dataclass(frozen=True, slots=True)
class Changed:
    """What a refresh found: the runs that are new, and those that are not as they were.

    Attributes:
        has_news: whether it found anything; without runs it is of the tree, as a pack that is gone.
        seconds: how long it took; requests waited meanwhile.
    """

    generation: int
    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    has_news: bool = field(default=True, compare=False)
    seconds: float = field(default=0.0, compare=False)

    def __bool__(self) -> bool:
        return self.has_news


class Source:
    """The runs below some paths, for many requests at a time.

    Whatever runs in `work` sees the runs as they are at that moment: a refresh
    waits until those at work are done. `generation` is another number after
    each refresh that found something.
    """

    def __init__(
        self,
        *paths: str | os.PathLike[str],
        restarts: Literal["session", "step", "keep"] = "session",
        workers: int = _WORKERS,
        seconds: float = _SECONDS,
        is_eager: bool = False,
    ) -> None:
        """Open the runs; an eager one begins to read them all while the caller goes on."""
        self._runs = open_runs(*paths, restarts=restarts, progress=False)
        if is_eager:
            self._read_ahead()
        # Meanwhile: the decoder needs no GIL, and these take as long as it does.
        from runfold._serve.work_queues import WorkQueue
        from runfold._tables.sql.query_workers import QueryWorkers

        self.paths = [str(path) for path in paths]
        self.generation = 1
        self._telling = threading.Lock()
        # Whoever follows the files says so.
        self.is_live = False
        self._quick = WorkQueue(workers, _PLACES, seconds, seconds)
        self._computing = WorkQueue(_COMPUTING, _PLACES, seconds, seconds)
        self._queries = WorkQueue(_QUERIES, _QUERY_PLACES, seconds, seconds)
        # The processes in which queries are answered.
        self.query_workers = QueryWorkers(_QUERIES)
        self._is_fetched = False
        # Runs that were listed once, and are no longer there.
        self._gone: set[str] = set()
        self._gate = _Gate()

    def _read_ahead(self) -> None:
        def read() -> None:
            with suppress(RunfoldError, OSError):  # met again by whoever asks
                self.logs()

        # A command that ends with an error, as where its port is taken, does not wait for it.
        threading.Thread(target=read, name="runfold-read", daemon=True).start()

    def runs(self) -> Runs:
        """All runs; within `work` they stay as they are."""
        return self._runs

    def log(self, name: str) -> RunLog:
        """One run's log, read. Raises UnknownRun with the near names."""
        return self.logs([name])[0]

    def logs(self, names: Iterable[str] | None = None) -> list[RunLog]:
        """The logs of some runs, each once, or of all, read. Raises UnknownRun."""
        if names is None:
            return self._runs._logs(None)
        # A page asks for runs that were there a moment ago: it is told of those that are left.
        wanted = dict.fromkeys(names)
        left = [name for name in wanted if name not in self._gone] or wanted
        # One by one: here a name is never a glob.
        return self._runs._logs([self._runs[name].name for name in left])

    def logs_with(
        self, tag: str, kind: str = "scalar", names: Iterable[str] | None = None
    ) -> list[RunLog]:
        """Those of some runs that have a tag of a kind. Raises UnknownTag if none of them has."""
        logs = self.logs(names)
        having = [log for log in logs if tag in tags_of(log, kind)]
        if not having:
            known = dict.fromkeys(name for log in logs for name in tags_of(log, kind))
            hint = did_you_mean(tag, known)
            raise UnknownTag(f"No {kind} tag '{escape(tag)}'. {hint}".rstrip())
        return having

    async def work(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What a function gives, run in a thread while the runs stay as they are.

        Raises TooBusy and TookTooLong, as a queue does.
        """
        return await self._quick.work(self._held(function, *args, **kwargs))

    async def compute(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The same for what may take seconds: it takes no worker from what is quick."""
        return await self._computing.work(self._held(function, *args, **kwargs))

    async def query(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The same for what takes a process of its own: few at a time, the others wait.

        The function says itself, by `held`, when the runs are to stay as they are: a
        refresh would else wait for the longest query.
        """
        return await self._queries.work(lambda: function(*args, **kwargs))

    def held(self) -> AbstractContextManager[None]:
        """While this lasts, the runs stay as they are."""
        return self._gate.shared()

    def _held(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Callable[[], T]:
        def hold() -> T:
            with self.held():
                return function(*args, **kwargs)

        return hold

    def refresh(self) -> Changed | None:
        """Find new runs, and what is new or gone in those that were read; call it in a thread.

        None where requests at work did not end soon: nothing was looked at, ask
        again in a moment. Meanwhile no request is held up for long.
        """
        logdir = self._runs._logdir
        if not self._is_fetched:
            # Before requests are held up: a store may take its time.
            with suppress(LogdirNotFound):  # all of it is gone, as is found below
                logdir.sync()
            self._is_fetched = True
        with self._gate.alone(_PATIENCE) as is_alone:
            if not is_alone:
                return None
            self._is_fetched = False
            began = time.monotonic()
            before, wrong = self._states(), self._wrong()
            found = logdir.look_again()
            self._gone = (self._gone | {*found.gone}).difference(logdir.logs)
            changed = [
                name
                for name, states in self._states().items()
                if name in before and states != before[name]
            ]
            has_news = bool(found.runs or found.gone or changed or self._wrong() != wrong)
            with self._telling:
                self.generation += has_news
                seconds = time.monotonic() - began
                return Changed(self.generation, found.runs, changed, has_news, seconds)

    def tell_of(self, name: str) -> Changed:
        """That a run is not as it was, though nothing was written to its log."""
        with self._telling:
            self.generation += 1
            return Changed(self.generation, [], [name])

    def _states(self) -> dict[str, list[tuple[int, Problem | None]]]:
        """What was read of each run's files, and whether they could be: one may be gone."""
        logs = self._runs._logdir.logs
        return {
            name: [(file.version, file.trouble) for file in log.all_files]
            for name, log in logs.items()
        }

    def _wrong(self) -> list[tuple[str, str]]:
        # Without the words: a store that cannot be reached may say it anew each time.
        return [(one.code, one.file) for one in self._runs._logdir.problems]

    def close(self) -> bool:
        """Take no more work, and drop what waits; False where some is still being done."""
        for queue in (self._quick, self._computing, self._queries):
            queue.close()
        self.query_workers.close()
        with self._gate.alone(_PATIENCE) as is_alone:
            return is_alone


def tags_of(log: RunLog, kind: str) -> list[str]:
    """The tags of one kind in a run that was read."""
    if kind == "scalar":
        return list(log.scalars)
    return [tag for of, tag in log.payloads if of == kind]


class _Gate:
    """Many may be inside, or one alone."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._is_taken = False

    @contextmanager
    def shared(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._is_taken)
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self, patience: float) -> Iterator[bool]:
        """Inside alone, or False where the others did not leave within so many seconds.

        Nobody new comes in meanwhile: otherwise a busy server would never be refreshed.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self._is_taken)
            self._is_taken = True
            is_alone = self._changed.wait_for(lambda: self._inside == 0, patience)
            if not is_alone:
                self._let_in()
        if not is_alone:
            yield False
            return
        try:
            yield True
        finally:
            with self._changed:
                self._let_in()

    def _let_in(self) -> None:
        self._is_taken = False
        self._changed.notify_all()
