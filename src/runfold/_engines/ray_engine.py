"""The engine that works on a Ray cluster: `rf.open(..., engine="ray")`.

Ray schedules the tasks, moves and spills their results, and repeats tasks whose node died. This
module divides the work into tasks, and turns Ray's errors into this package's.
"""

from __future__ import annotations

import os
from collections import deque
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from runfold._engines import ray_tasks
from runfold._engines.ray_cluster import connect
from runfold._engines.ray_tasks import Failure
from runfold._engines.sent_run import adopt_state, find_runs, send_runs, this_machine
from runfold._humanize import escape, human_count
from runfold._logdir.loader import count_unread
from runfold._logdir.run_batches import list_requests
from runfold._logdir.run_state import restore_state
from runfold.errors import ClusterFailed, FileChanged, RunfoldError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from runfold._core.scalar_columns import Points
    from runfold._events.lazy_points import LazyPoints
    from runfold._logdir.discover import FoundRun
    from runfold._logdir.point_cache import Held
    from runfold._logdir.run_engine import Part
    from runfold._logdir.run_log import RunLog

Item = TypeVar("Item")
Result = TypeVar("Result")

# The bytes of event files for one task. Decoding them takes about 50 ms, and a task about 2 ms
# more than its work. If a node dies, little is lost.
_UNIT = 32 << 20
# Tasks per core, so that they end at about the same time. Smaller tasks would mostly wait.
_TASKS_PER_CORE = 4
_SMALLEST_UNIT = 2 << 20
# To open a file and store what was read takes as long as decoding this many bytes.
_RUN_BYTES = 64 << 10

# Tasks that are submitted before the first result is needed, per core: one works, one waits.
_AHEAD = 2

# Seconds that tasks have to end by themselves after an interruption.
_GRACE = 1

# How often a task is repeated because its node or process died, before the work fails.
_RETRIES = 5


class RayEngine:
    """An engine whose tasks run on a Ray cluster. Raises NoCluster if there is none."""

    name = "ray"

    def __init__(self, address: str | None = None) -> None:
        self.address = address
        self._ray = connect(address, "engine='ray'")

    def _task(self, function: Callable[..., Any], **options: Any) -> Any:
        return self._ray.remote(num_cpus=1, max_retries=_RETRIES, **options)(function)

    @property
    def _cores(self) -> int:
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def read(self, logs: Sequence[RunLog], advance: Callable[[int], object]) -> None:
        """Read runs that have not been read; their points are only counted."""
        task = self._task(ray_tasks.read_unit)
        units = self._split(logs, [count_unread([log]) for log in logs])
        for (_, own), result in self._in_order(
            units,
            lambda unit: task.remote(find_runs(unit[1]), [log.restarts for log in unit[1]]),
        ):
            self._check_absent(result, own)
            for log, state in zip(own, result.states, strict=True):
                restore_state(log, adopt_state(state, result.machine))
                advance(log.size)

    def call(
        self, runs: Sequence[FoundRun], work: Callable[[Sequence[FoundRun]], Result]
    ) -> Iterator[Result]:
        """Yield the results for consecutive runs that have not been read; see `Engine`."""
        task, function = self._task(ray_tasks.call_unit), self._ray.put(work)
        sizes = [sum(map(_size, run.files)) for run in runs]
        for (_, own), called in self._in_order(
            self._split(runs, sizes), lambda unit: task.remote(function, unit[1])
        ):
            if called.absent and os.access(called.absent, os.R_OK):
                run = next(run for run in own if called.absent in run.files)
                raise ClusterFailed(_explain_absence(called.absent, called.node, run.name))
            yield called.result

    def map(
        self, logs: Sequence[RunLog], work: Callable[[Sequence[RunLog]], Result]
    ) -> Iterator[tuple[int, Result]]:
        """Yield the results for consecutive runs, in order; see `Engine`."""
        task, machine = self._task(ray_tasks.work_on_unit), this_machine()
        function = self._ray.put(work)
        for (start, _), result in self._in_order(
            self._split_read(logs),
            lambda unit: task.remote(machine, function, send_runs(unit[1])),
            logs,
        ):
            yield start, result

    def decode(self, batches: Iterable[list[Part]]) -> Iterator[tuple[list[Part], Held]]:
        """Yield each batch with its points, while the next ones are decoded."""
        task, machine = self._task(ray_tasks.decode_unit), this_machine()

        def submit(batch: list[Part]) -> Any:
            sent = send_runs([log for log, _ in batch])
            return task.remote(machine, list(zip(sent, (tags for _, tags in batch), strict=True)))

        batches = list(batches)
        logs = [log for batch in batches for log, _ in batch]
        for batch, columns in self._in_order(batches, submit, logs):
            yield batch, _hold(batch, columns)

    def combine(
        self,
        logs: Sequence[RunLog],
        split: Callable[[int, Sequence[RunLog]], Sequence[Any]],
        join: Callable[[int, list[Any]], Result],
        count: int,
    ) -> Iterator[tuple[int, Result]]:
        """Yield the results of joining the pieces of all runs; see `Engine`."""
        machine = this_machine()
        split_task = self._task(ray_tasks.split_unit, num_returns=count + 1)
        join_task = self._task(ray_tasks.join_pieces)
        splitting, joining = self._ray.put(split), self._ray.put(join)
        pieces: list[list[Any]] = []

        def submit_split(unit: tuple[int, Sequence[RunLog]]) -> Any:
            sent = send_runs(unit[1])
            first, *own = split_task.remote(machine, splitting, count, unit[0], sent)
            pieces.append(own)
            return first

        def submit_join(number: int) -> Any:
            return join_task.remote(joining, number, *(own.pop() for own in pieces))

        for _ in self._in_order(self._split_read(logs), submit_split, logs):
            pass
        # Ray frees a piece as soon as it is joined, because there is no other reference to it.
        yield from self._in_order(reversed(range(count)), submit_join, logs)

    def _split_read(self, logs: Sequence[RunLog]) -> list[tuple[int, Sequence[RunLog]]]:
        """Return units of consecutive runs that have been read."""
        return self._split(logs, [log.size for log in logs])

    def _split(
        self, runs: Sequence[Item], sizes: Sequence[int]
    ) -> list[tuple[int, Sequence[Item]]]:
        """Return units of consecutive runs, each with the number of its first run."""
        costs = [_RUN_BYTES + size for size in sizes]
        most = sum(costs) // (_TASKS_PER_CORE * self._cores)
        most = max(_SMALLEST_UNIT, min(_UNIT, most))
        starts, cost = [0], 0
        for number, own in enumerate(costs):
            if cost and cost + own > most:
                starts.append(number)
                cost = 0
            cost += own
        ends = [*starts[1:], len(runs)]
        return [(start, runs[start:end]) for start, end in zip(starts, ends, strict=True) if runs]

    def _in_order(
        self,
        units: Iterable[Item],
        submit: Callable[[Item], Any],
        logs: Sequence[RunLog] = (),
    ) -> Iterator[tuple[Item, Any]]:
        """Yield units with their results in order; a few tasks are submitted ahead."""
        rest = iter(units)
        ahead = _AHEAD * self._cores
        waiting: deque[tuple[Item, Any]] = deque()
        with self._ending() as pending:
            while True:
                for unit in islice(rest, ahead - len(waiting)):
                    waiting.append((unit, submit(unit)))
                pending[:] = [ref for _, ref in waiting]
                if not waiting:
                    return
                unit, ref = waiting.popleft()
                result = self._get(ref, logs)
                yield unit, result
                # Otherwise, it is in memory until the next result arrives.
                del result

    @contextmanager
    def _ending(self) -> Iterator[list[Any]]:
        """End the tasks in the list if the block is left early, for example by Ctrl-C.

        Ray 2.60 ends this process if a task is canceled while its result arrives. Most tasks are
        short, so they are left to end by themselves. Then the others are canceled, the last ones
        first, so that none of them starts in the meantime.
        """
        pending: list[Any] = []
        try:
            yield pending
        except BaseException:
            with suppress(Exception):
                if pending:
                    _, late = self._ray.wait(pending, num_returns=len(pending), timeout=_GRACE)
                    for ref in reversed(late):
                        self._ray.cancel(ref)
            raise

    def _get(self, ref: Any, logs: Sequence[RunLog]) -> Any:
        """Return a result. Raises the error of the task, or ClusterFailed."""
        try:
            result = self._ray.get(ref)
        except self._ray.exceptions.RayError as error:
            raise ClusterFailed(_explain(error)) from None
        if isinstance(result, Failure):
            raise _restore_error(result, logs)
        return result

    def _check_absent(self, result: ray_tasks.ReadRuns, logs: Sequence[RunLog]) -> None:
        for path, log in zip(result.absent, logs, strict=True):
            if path and os.access(path, os.R_OK):
                raise ClusterFailed(_explain_absence(path, result.node, log.name))


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _hold(batch: list[Part], columns: Sequence[tuple[Any, ...]]) -> Held:
    """Return the points of a batch by file and tag, as parts of the arrays from Ray."""
    held: dict[LazyPoints, dict[int, Points]] = {}
    requests = (request for part in batch for own in list_requests(*part) for request in own)
    for (points, tags), arrays in zip(requests, columns, strict=True):
        found = held.setdefault(points, {})
        start = 0
        for tag in tags:
            end = start + points.count(tag)
            steps, wall_times, values = (array[start:end] for array in arrays)
            found[tag] = steps, wall_times, values
            start = end
    return held


def _restore_error(failure: Failure, logs: Sequence[RunLog]) -> Exception:
    """Return the error of a task, as it would have been raised here."""
    error = failure.error
    if isinstance(error, FileChanged):
        for file in (file for log in logs for file in log.all_files if file.path == error.file):
            if file.opener is None and failure.absent and os.access(file.path, os.R_OK):
                return ClusterFailed(_explain_absence(file.path, failure.node, failure.run))
            file.distrust()
    if isinstance(error, RunfoldError) and not isinstance(error, ClusterFailed):
        return error
    reason = str(error) if isinstance(error, ClusterFailed) else _describe(error)
    where = f"Run '{escape(failure.run)}'" if failure.run else "Some of the work"
    return ClusterFailed(f"{where} failed on node {failure.node} of the Ray cluster: {reason}")


def _describe(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return "the process ran out of memory."
    return escape(f"{type(error).__name__}: {error}")


def _explain_absence(path: str, node: str, run: str) -> str:
    of_run = f" of run '{escape(run)}'" if run else ""
    return (
        f"Node {node} of the Ray cluster cannot read {escape(path)}{of_run}, which this machine can"
        " read. Every node must see the logdir at the same path, for example on a shared disk."
    )


def _explain(error: Exception) -> str:
    """Return a message for an error of Ray itself."""
    name = type(error).__name__
    if name in ("ObjectStoreFullError", "OutOfDiskError"):
        return (
            "The object store of the Ray cluster is full, and so is the disk to which it spills."
            " Free disk space on the nodes, or start them with a larger --object-store-memory."
        )
    if name == "OutOfMemoryError":
        return (
            "A node of the Ray cluster ran out of memory, and Ray ended the work there. Start fewer"
            " workers per node (--num-cpus), or use nodes with more memory."
        )
    if name == "TaskCancelledError":
        return "The work on the Ray cluster was canceled."
    reason = str(error).strip().splitlines()[-1] if str(error).strip() else name
    if "ModuleNotFoundError" in str(error) or "ImportError" in str(error):
        return (
            "A node of the Ray cluster cannot import what the work needs. Install the same packages"
            f" on every node. {escape(reason)}"
        )
    times = human_count(_RETRIES + 1, "attempt")
    return (
        f"The Ray cluster lost the node or process that did the work, in {times}. Check the nodes"
        f" with `ray status`, and try again. Ray says: {name}: {escape(reason)}"
    )
