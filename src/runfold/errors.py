"""Everything Runfold raises on purpose.

    RunfoldError
    ├── LogdirNotFound   (also a FileNotFoundError) a path that leads nowhere
    ├── UnknownRun       (also a KeyError)          no run of that name
    ├── UnknownTag       (also a KeyError)          no tag of that name
    ├── UnknownExperiment (also a KeyError)         no experiment of that id or name
    ├── UnknownTrial     (also a KeyError)          no trial of that id or name
    ├── AmbiguousTag     (also a LookupError)       the tag holds two kinds of data
    ├── UnknownStatistic (also a ValueError)        no operation or statistic of that name
    ├── UnknownColumn    (also a KeyError)          no column of that name
    ├── BadExpression    (also a ValueError)        a condition that says nothing
    ├── UnknownFormat    (also a ValueError)        a file name whose suffix says nothing
    ├── CannotFold       (also a ValueError)        runs that do not fit together as asked
    ├── BadQuery         (also a ValueError)        SQL that cannot be answered, and where
    ├── QueryStopped     (also a TimeoutError)      a query that came to a limit
    ├── CannotEdit       (also a ValueError)        a change that would spoil a log
    ├── OutputExists     (also a FileExistsError)   what is there already, and stays
    ├── CannotLog        (also a ValueError)        a value that no event can hold
    │   ├── BadTag       (also a TypeError)         a tag that is missing or not a str
    │   └── WriterClosed                            a run that has ended and takes no more
    ├── CannotStore      (also an OSError)          a store that is unknown or out of reach
    ├── CannotStop       (also a ValueError)        a run that cannot be asked to stop, or ended
    ├── BadPack          (also a ValueError)        a Parquet file that is no pack, or a broken one
    ├── BadLog           the first problem, in strict mode
    └── FileChanged      a payload asked for is no longer where it was indexed

`str()` of each is one plain message that may be shown to a user as it is.
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
    "FileChanged",
    "LogdirNotFound",
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
    """What `BadLog` carries: a `runfold._events.problems.Problem`."""

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
    """Base of all errors that Runfold raises on purpose."""

    def __str__(self) -> str:
        # KeyError would show the repr of the message, in quotes.
        return str(self.args[0]) if self.args else ""


class LogdirNotFound(RunfoldError, FileNotFoundError):
    """A path or glob that leads to no file or directory."""


class UnknownRun(RunfoldError, KeyError):
    """No run has that name, or none matches that glob."""


class UnknownExperiment(RunfoldError, KeyError):
    """No experiment has that id or name, or several begin with it."""


class UnknownTrial(RunfoldError, KeyError):
    """No trial has that id or name, or several begin with it."""


class UnknownTag(RunfoldError, KeyError):
    """No tag has that name, or none matches that glob."""


class AmbiguousTag(RunfoldError, LookupError):
    """One tag holds two kinds of data, and the caller did not say which."""


class UnknownStatistic(RunfoldError, ValueError):
    """No operation has that name, or it was not asked for."""


class UnknownColumn(RunfoldError, KeyError):
    """No column of a table has that name, or none matches that glob."""


class BadExpression(RunfoldError, ValueError):
    """A condition that cannot be read, or names what no run has; the message shows the place.

    `at` is the place as the number of a character, or None where it is no single one.
    """

    def __init__(self, message: str, at: int | None = None) -> None:
        super().__init__(message)
        self.at = at


class UnknownFormat(RunfoldError, ValueError):
    """The suffix of an output file names no format or compression."""


class CannotFold(RunfoldError, ValueError):
    """Runs that do not fit together as asked; the message names the option that allows it."""


class BadQuery(RunfoldError, ValueError):
    """A query that cannot be answered; the message shows the line and underlines the place."""


class QueryStopped(RunfoldError, TimeoutError):
    """A query that took longer, or more memory, than it was allowed."""


class CannotEdit(RunfoldError, ValueError):
    """A change to a log that has no meaning or would spoil it; nothing was changed."""


class CannotLog(RunfoldError, ValueError):
    """A value that cannot be logged; nothing logged before is lost."""


class BadTag(CannotLog, TypeError):
    """A tag that is missing or not a str. It always raises: the call itself is wrong."""


class WriterClosed(CannotLog):
    """A call on a run that has ended. What was logged before is on the disk."""


class CannotStore(RunfoldError, OSError):
    """A URL that no driver knows, or a store that cannot be reached; local files are whole."""


class CannotStop(RunfoldError, ValueError):
    """A run that cannot be asked to stop, or whose process cannot be ended from here."""


class OutputExists(RunfoldError, FileExistsError):
    """Something is there that may not be replaced, or only when told to."""


class BadLog(RunfoldError):
    """The first problem in a log, raised in strict mode; `problem` says all about it."""

    def __init__(self, problem: Noted) -> None:
        super().__init__(problem)
        self.problem = problem


class BadPack(RunfoldError, ValueError):
    """A Parquet file that `runfold pack` did not write, that is newer, or damaged."""

    def __init__(self, path: str, fact: str, step: str = "") -> None:
        super().__init__(f"{escape(path)}: {escape(fact)}. {step}".rstrip())
        self.path = path


class FileChanged(RunfoldError):
    """A payload asked for later is no longer what was indexed in `file`."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.file = file

    def __str__(self) -> str:
        return (
            f"{escape(self.file)}: the file has changed since it was indexed. "
            "Read the log again (runs.refresh(), or Reload()) and ask again."
        )
