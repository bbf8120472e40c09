"""The exceptions that Runfold raises.

    RunfoldError
    ├── LogdirNotFound   (also a FileNotFoundError) a path that does not exist
    ├── UnknownRun       (also a KeyError)          no run with this name
    ├── UnknownTag       (also a KeyError)          no tag with this name
    ├── UnknownExperiment (also a KeyError)         no experiment with this id or name
    ├── UnknownTrial     (also a KeyError)          no trial with this id or name
    ├── AmbiguousTag     (also a LookupError)       a tag with two kinds of data
    ├── UnknownStatistic (also a ValueError)        no operation or statistic with this name
    ├── UnknownColumn    (also a KeyError)          no column with this name
    ├── BadExpression    (also a ValueError)        an invalid condition
    ├── UnknownFormat    (also a ValueError)        a file name with an unknown suffix
    ├── CannotFold       (also a ValueError)        runs that cannot be reduced as requested
    ├── BadQuery         (also a ValueError)        invalid SQL, and the position of the error
    ├── QueryStopped     (also a TimeoutError)      a query that exceeded a limit
    ├── CannotEdit       (also a ValueError)        a change that would damage a log
    ├── OutputExists     (also a FileExistsError)   an existing file that is not overwritten
    ├── CannotLog        (also a ValueError)        a value that cannot be logged
    │   ├── BadTag       (also a TypeError)         a tag that is missing or not a str
    │   └── WriterClosed                            a call on a run that has ended
    ├── CannotStore      (also an OSError)          an unknown or unreachable store
    ├── CannotStop       (also a ValueError)        a run that cannot be stopped
    ├── BadPack          (also a ValueError)        a Parquet file that is not a valid pack
    ├── NotEnoughMemory  (also a MemoryError)       data that does not fit into `limit_memory`
    ├── NoCluster        (also a ConnectionError)   a Ray cluster that cannot be used
    ├── ClusterFailed    (also a RuntimeError)      work that a Ray cluster did not finish
    ├── BadLog           the first problem, in strict mode
    └── FileChanged      a payload that is no longer where it was indexed

`str()` of each exception is a plain message for the user.
"""

from typing import Protocol

from runfold._humanize import escape

__all__ = [
    "AmbiguousTag",
    "BadExpression",
    "BadLog",
    "BadPack",
    "BadQuery",
    "BadTag",
    "CannotEdit",
    "CannotFold",
    "CannotLog",
    "CannotStop",
    "CannotStore",
    "ClusterFailed",
    "FileChanged",
    "LogdirNotFound",
    "NoCluster",
    "NotEnoughMemory",
    "OutputExists",
    "QueryStopped",
    "RunfoldError",
    "UnknownColumn",
    "UnknownExperiment",
    "UnknownFormat",
    "UnknownRun",
    "UnknownStatistic",
    "UnknownTag",
    "UnknownTrial",
    "WriterClosed",
]


class Noted(Protocol):
    """The interface of `runfold._events.problems.Problem`, which `BadLog` contains."""

    @property
    def code(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def file(self) -> str: ...
    @property
    def offset(self) -> int | None: ...
    @property
    def run(self) -> str: ...


class RunfoldError(Exception):
    """Base class of all exceptions that Runfold raises."""

    def __str__(self) -> str:
        # KeyError would show the repr of the message, in quotes.
        return str(self.args[0]) if self.args else ""


class LogdirNotFound(RunfoldError, FileNotFoundError):
    """A path that does not exist, or a glob that matches no file or folder."""


class UnknownRun(RunfoldError, KeyError):
    """No run has this name, or no run matches this glob."""


class UnknownExperiment(RunfoldError, KeyError):
    """No experiment has this id or name, or several names start with it."""


class UnknownTrial(RunfoldError, KeyError):
    """No trial has this id or name, or several names start with it."""


class UnknownTag(RunfoldError, KeyError):
    """No tag has this name, or no tag matches this glob."""


class AmbiguousTag(RunfoldError, LookupError):
    """A tag has two kinds of data, and the caller did not choose a kind."""


class UnknownStatistic(RunfoldError, ValueError):
    """No operation or statistic has this name, or the statistic was not computed."""


class UnknownColumn(RunfoldError, KeyError):
    """No column of a table has this name, or no column matches this glob."""


class BadExpression(RunfoldError, ValueError):
    """A condition that cannot be parsed, or that contains a name that no run has.

    The message shows the position of the error. `at` is its character index, or None if
    the error has no single position.
    """

    def __init__(self, message: str, at: int | None = None) -> None:
        super().__init__(message)
        self.at = at


class UnknownFormat(RunfoldError, ValueError):
    """The suffix of an output file does not match any known format or compression."""


class CannotFold(RunfoldError, ValueError):
    """Runs that cannot be reduced as requested; the message names the option to change."""


class BadQuery(RunfoldError, ValueError):
    """An invalid query; the message shows the line and underlines the error."""


class QueryStopped(RunfoldError, TimeoutError):
    """A query that exceeded its time or memory limit."""


class CannotEdit(RunfoldError, ValueError):
    """A change that is impossible or would damage a log; nothing was changed."""


class CannotLog(RunfoldError, ValueError):
    """A value that cannot be logged; earlier values are not lost."""


class BadTag(CannotLog, TypeError):
    """A tag that is missing or not a str.

    Raised even with on_error="warn", because the call itself is wrong.
    """


class WriterClosed(CannotLog):
    """A call on a run that has ended. Everything logged before the run ended is on disk."""


class CannotStore(RunfoldError, OSError):
    """An unsupported URL, or a store that cannot be reached; local files are complete."""


class CannotStop(RunfoldError, ValueError):
    """A run that cannot be stopped, or whose process cannot be ended from this machine."""


class OutputExists(RunfoldError, FileExistsError):
    """An existing file or folder that is never replaced, or is replaced only with `overwrite`."""


class BadLog(RunfoldError):
    """The first problem in a log, raised in strict mode; `problem` has the details."""

    def __init__(self, problem: Noted) -> None:
        super().__init__(problem)
        self.problem = problem


class BadPack(RunfoldError, ValueError):
    """A Parquet file that is not from `runfold pack`, is from a newer version, or is damaged."""

    def __init__(self, path: str, fact: str, step: str = "") -> None:
        super().__init__(f"{escape(path)}: {escape(fact)}. {step}".rstrip())
        self.path = path


class NotEnoughMemory(RunfoldError, MemoryError):
    """Something that must be in memory at once needs more than `limit_memory` allows."""


class NoCluster(RunfoldError, ConnectionError):
    """A Ray cluster that does not exist, cannot be joined, or has nodes that cannot do the work."""


class ClusterFailed(RunfoldError, RuntimeError):
    """Work that a Ray cluster did not finish, although it was tried again."""


class FileChanged(RunfoldError):
    """The payload in `file` is no longer the payload that was indexed."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.file = file

    def __str__(self) -> str:
        return (
            f"{escape(self.file)}: the file has changed since it was indexed. "
            "Read the log again (runs.refresh(), or Reload()) and retry."
        )
