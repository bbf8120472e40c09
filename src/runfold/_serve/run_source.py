"""The served runs: looked up by name, read in threads, refreshed."""

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

    from runfold._index.facts import Facts
    from runfold._logdir.run_log import RunLog

    P = ParamSpec("P")
    T = TypeVar("T")

# Decoding and Arrow release the GIL, so a few more threads than cores do no harm.
_WORKERS = 8
# Requests that can wait for a worker. 50 pages that open 60 charts each are not an attack.
_PLACES = 4000
# Concurrent folds and comparisons. Each can keep all cores busy for seconds.
_COMPUTING = 3
# Concurrent queries. Each has its own process and memory.
_QUERIES = 2
# Maximum number of waiting queries: one for each of 50 pages, and more for programs.
_QUERY_PLACES = 200
# Time limit for the work, and also for the wait that precedes it. Both fit within a request's
# limit.
_SECONDS = 30.0
# How long a refresh blocks new requests while it waits for running ones to finish.
_PATIENCE = 0.5


@dataclass(frozen=True, slots=True)
class Changed:
    """The runs that a refresh found to be new or changed.

    Attributes:
        has_news: whether anything changed, even if `new` and `changed` are empty, for example
            because a pack was deleted.
        seconds: how long the refresh took; requests waited during that time.
    """

    generation: int
    new: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    has_news: bool = field(default=True, compare=False)
    seconds: float = field(default=0.0, compare=False)

    def __bool__(self) -> bool:
        return self.has_news


class Source:
    """The runs under some paths, shared by concurrent requests.

    Functions passed to `work` see a consistent state of the runs, because a refresh
    waits until they are done. `generation` increases with each refresh that finds
    a change.
    """

    def __init__(
        self,
        *paths: str | os.PathLike[str],
        restarts: Literal["session", "step", "keep"] = "session",
        workers: int = _WORKERS,
        seconds: float = _SECONDS,
        is_eager: bool = False,
    ) -> None:
        """Open the runs. If `is_eager`, start reading all of them in the background."""
        self._runs = open_runs(*paths, restarts=restarts, progress=False)
        if is_eager:
            self._read_ahead()
        # Imported while a thread reads the runs: the decoder needs no GIL, and both take equally
        # long.
        from runfold._serve.work_queues import WorkQueue
        from runfold._tables.sql.query_workers import QueryWorkers

        self.paths = [str(path) for path in paths]
        self.generation = 1
        self._generation_lock = threading.Lock()
        # Set by the watcher of the files.
        self.is_live = False
        self._quick = WorkQueue(workers, _PLACES, seconds, seconds)
        self._computing = WorkQueue(_COMPUTING, _PLACES, seconds, seconds)
        self._queries = WorkQueue(_QUERIES, _QUERY_PLACES, seconds, seconds)
        # Processes that execute queries.
        self.query_workers = QueryWorkers(_QUERIES)
        self._is_fetched = False
        # Runs that were listed before but no longer exist.
        self._gone: set[str] = set()
        self._gate = _Gate()

    def _read_ahead(self) -> None:
        def read() -> None:
            with suppress(RunfoldError, OSError):  # the first request raises the error again
                if self.facts() is None:
                    self.logs()

        # A daemon, so that a command that fails, for example on a taken port, exits at once.
        threading.Thread(target=read, name="runfold-read", daemon=True).start()

    def runs(self) -> Runs:
        """Return all runs. The runs do not change within `work`."""
        return self._runs

    def log(self, name: str) -> RunLog:
        """Read a run and return its log. Raises UnknownRun with near matches."""
        return self.logs([name])[0]

    def logs(self, names: Iterable[str] | None = None) -> list[RunLog]:
        """Read the named runs (all by default) and return each log once. Raises UnknownRun."""
        if names is None:
            return self._runs._logs(None)
        # A page can request runs that have just disappeared: return the remaining ones.
        requested = dict.fromkeys(names)
        remaining = [name for name in requested if name not in self._gone] or requested
        # Look up each name, because here a name is never a glob.
        return self._runs._logs([self._runs[name].name for name in remaining])

    def facts(self) -> Facts | None:
        """Return what is known about all runs without their points, if there is an index."""
        return self._runs._facts()

    def logs_with(
        self, tag: str, kind: str = "scalar", names: Iterable[str] | None = None
    ) -> list[RunLog]:
        """Return the logs that have this tag. Raises UnknownTag if none of them has it."""
        logs = self.logs(names)
        having = [log for log in logs if tag in tags_of(log, kind)]
        if not having:
            known = dict.fromkeys(name for log in logs for name in tags_of(log, kind))
            hint = did_you_mean(tag, known)
            raise UnknownTag(f"No {kind} tag '{escape(tag)}'. {hint}".rstrip())
        return having

    async def work(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function in a thread while the runs cannot change, and return its result.

        Raises TooBusy or TookTooLong, as `WorkQueue.work` does.
        """
        return await self._quick.work(self._held(function, *args, **kwargs))

    async def compute(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function that may take seconds, without occupying a worker for quick requests."""
        return await self._computing.work(self._held(function, *args, **kwargs))

    async def query(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function that needs its own process; only a few run at a time.

        The runs can change during the call, because a refresh must not wait for the longest
        query. The function itself must call `held` while it reads the runs.
        """
        return await self._queries.work(lambda: function(*args, **kwargs))

    def held(self) -> AbstractContextManager[None]:
        """Return a context in which the runs do not change."""
        return self._gate.shared()

    def _held(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Callable[[], T]:
        def hold() -> T:
            with self.held():
                return function(*args, **kwargs)

        return hold

    def refresh(self) -> Changed | None:
        """Find new runs, and changes to runs already read. Call this method in a thread.

        Return None if running requests did not finish soon enough. In that
        case, nothing was refreshed; try again in a moment. No request is blocked for long.
        """
        logdir = self._runs._logdir
        if not self._is_fetched:
            # Fetch before requests are blocked, because a store can be slow.
            with suppress(LogdirNotFound):  # the whole logdir is gone; `look_again` finds that too
                logdir.sync()
            self._is_fetched = True
        with self._gate.alone(_PATIENCE) as is_alone:
            if not is_alone:
                return None
            self._is_fetched = False
            began = time.monotonic()
            wrong = self._wrong()
            update = logdir.look_again()
            self._gone = (self._gone | {*update.gone}).difference(logdir.logs)
            changed = logdir.altered
            has_news = bool(update.runs or update.gone or changed or self._wrong() != wrong)
            with self._generation_lock:
                self.generation += has_news
                seconds = time.monotonic() - began
                return Changed(self.generation, update.runs, changed, has_news, seconds)

    def mark_changed(self, name: str) -> Changed:
        """Return a new change for a run whose status has changed although its log has not."""
        with self._generation_lock:
            self.generation += 1
            return Changed(self.generation, [], [name])

    def _wrong(self) -> list[tuple[str, str]]:
        # Messages are left out: an unreachable store may word its error differently each time.
        return [(problem.code, problem.file) for problem in self._runs._logdir.problems]

    def close(self) -> bool:
        """Reject new work and drop queued work; return False if some work is still running."""
        for queue in (self._quick, self._computing, self._queries):
            queue.close()
        self.query_workers.close()
        with self._gate.alone(_PATIENCE) as is_alone:
            return is_alone


def tags_of(log: RunLog, kind: str) -> list[str]:
    """Return the tags of one kind in a run whose log has been read."""
    if kind == "scalar":
        return list(log.scalars)
    return [tag for tag_kind, tag in log.payloads if tag_kind == kind]


class _Gate:
    """A lock held by many readers or by one writer."""

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
        """Hold the lock exclusively; yield False if the readers did not release it in time.

        New readers wait; otherwise, a busy server would never be refreshed.
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
