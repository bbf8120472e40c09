"""The work on runs that Ray does in its workers.

An error is a result, because Ray would wrap an exception in its own and add its traceback.
"""

from __future__ import annotations

import os
import pickle
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._engines.sent_run import SentRun, receive_run, this_machine
from runfold._events.problems import Code
from runfold._humanize import escape
from runfold._logdir.loader import read_runs
from runfold._logdir.point_cache import PointCache
from runfold._logdir.run_batches import hold, list_requests
from runfold._logdir.run_log import RunLog
from runfold._logdir.run_state import RunState, save_state
from runfold.errors import CannotStore, ClusterFailed, FileChanged, RunfoldError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runfold._events.event_file import EventFile
    from runfold._logdir.discover import FoundRun

# Bytes of points that a worker decodes at a time. Ray's default is one worker per core, and
# machines with little memory have about 2 GB per core.
_ROOM = 256 << 20

# Problems of a file that this machine cannot open.
_ABSENT = {Code.FILE_VANISHED, Code.PERMISSION_DENIED}


@dataclass(frozen=True)
class Failure:
    """An error on a node, in a run if it has a name."""

    error: Exception
    node: str
    run: str = ""
    # A file that could not be opened on the node.
    absent: str = ""


@dataclass(frozen=True)
class Called:
    """The result of a function on a node."""

    result: Any
    node: str
    # A file that could not be opened on the node, or "".
    absent: str


@dataclass(frozen=True)
class ReadRuns:
    """What was read from runs on a node: a state per run."""

    states: list[RunState]
    machine: str
    node: str
    # A file of each run that could not be opened on the node, or "".
    absent: list[str]


def read_unit(unit: Sequence[FoundRun], restarts: Sequence[str]) -> ReadRuns | Failure:
    """Read runs and count their points."""
    try:
        cache = _cache()
        logs = [
            RunLog(run, policy, cache=cache) for run, policy in zip(unit, restarts, strict=True)
        ]
        read_runs(iter(logs), lambda _: None)
        _check_stores(logs)
        absent = [next((file.path for file in log.files if _is_absent(file)), "") for log in logs]
        return ReadRuns([save_state(log) for log in logs], this_machine(), _node(), absent)
    except Exception as error:
        runs = [run.name for run in unit]
        return _find_run(
            _fail(error, runs),
            runs,
            lambda number: read_unit([unit[number]], [restarts[number]]),
        )


def call_unit(work: Callable[[Sequence[FoundRun]], Any], unit: Sequence[FoundRun]) -> Any:
    """Return the result of a function of runs that have not been read."""
    files = (file for run in unit for file in run.files)
    absent = next((file for file in files if not os.access(file, os.R_OK)), "")
    try:
        return Called(work(unit), _node(), absent)
    except Exception as error:
        runs = [run.name for run in unit]
        return _find_run(_fail(error, runs), runs, lambda number: call_unit(work, [unit[number]]))


def work_on_unit(
    machine: str, work: Callable[[Sequence[RunLog]], Any], unit: Sequence[SentRun]
) -> Any:
    """Return the result of a function of runs that were read on a machine."""
    try:
        return work(_receive(machine, unit))
    except Exception as error:
        runs = [sent.name for sent in unit]
        return _find_run(
            _fail(error, runs), runs, lambda number: work_on_unit(machine, work, [unit[number]])
        )


def split_unit(
    machine: str,
    split: Callable[[int, Sequence[RunLog]], Sequence[Any]],
    count: int,
    start: int,
    unit: Sequence[SentRun],
) -> Any:
    """Return the failure, if any, and the pieces of runs, from which Ray makes as many objects."""
    pieces = work_on_unit(machine, partial(split, start), unit)
    if isinstance(pieces, Failure):
        return pieces, *[None] * count
    return None, *pieces


def join_pieces(join: Callable[[int, list[Any]], Any], number: int, *pieces: Any) -> Any:
    """Return the result of joining pieces."""
    try:
        return join(number, list(pieces))
    except Exception as error:
        return _fail(error, [])


def decode_unit(machine: str, unit: Sequence[tuple[SentRun, list[str]]]) -> Any:
    """Return the points of some tags of each run, in the order of `list_requests`.

    The points of a file are three arrays. The points of its tags follow one another.
    """
    try:
        logs = _receive(machine, [sent for sent, _ in unit])
        parts = [(log, tags) for log, (_, tags) in zip(logs, unit, strict=True)]
        with hold(logs[0].cache, parts):
            return [
                tuple(map(np.concatenate, zip(*(points[tag] for tag in tags), strict=True)))
                for part in parts
                for folder in list_requests(*part)
                for points, tags in folder
            ]
    except Exception as error:
        runs = [sent.name for sent, _ in unit]
        return _find_run(
            _fail(error, runs), runs, lambda number: decode_unit(machine, [unit[number]])
        )


def _receive(machine: str, unit: Sequence[SentRun]) -> list[RunLog]:
    cache = _cache()
    return [receive_run(sent, cache, machine) for sent in unit]


def _cache() -> PointCache:
    return PointCache(room=_ROOM, max_threads=1)


def _check_stores(logs: Sequence[RunLog]) -> None:
    """Raise CannotStore if a store could not be reached."""
    for log in logs:
        if log.opener is not None and log.opener.trouble:
            raise CannotStore(
                f"{escape(log.opener.trouble, 500)}. Node {_node()} of the Ray cluster could not"
                f" read run '{escape(log.name)}'. Check the network and try again."
            )


def _is_absent(file: EventFile) -> bool:
    if file.opener is not None or file.trouble is None:
        return False
    return file.trouble.code in _ABSENT


def _fail(error: Exception, runs: Sequence[str]) -> Failure:
    absent = ""
    if isinstance(error, FileChanged) and not os.access(error.file, os.R_OK):
        absent = error.file
    return Failure(_portable(error), _node(), runs[0] if len(runs) == 1 else "", absent)


def _find_run(failure: Failure, runs: Sequence[str], work: Callable[[int], Any]) -> Failure:
    """Return the failure of one run, if the work on it fails alone as well."""
    # An error of this package says where it happened.
    if isinstance(failure.error, RunfoldError) or len(runs) < 2:
        return failure
    each = (work(number) for number in range(len(runs)))
    return next((result for result in each if isinstance(result, Failure)), failure)


def _portable(error: Exception) -> Exception:
    """Return an error that can be pickled, without its traceback."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return ClusterFailed(f"{type(error).__name__}: {error}")
    return error.with_traceback(None)


def _node() -> str:
    import ray

    find: Any = ray.util.get_node_ip_address
    return str(find())
