"""Everything Runfold raises on purpose.

    RunfoldError
    ├── LogdirNotFound   (also a FileNotFoundError) a path that leads nowhere
    ├── UnknownRun       (also a KeyError)          no run of that name
    ├── UnknownTag       (also a KeyError)          no tag of that name
    ├── AmbiguousTag     (also a LookupError)       the tag holds two kinds of data
    ├── BadLog           the first problem, in strict mode
    └── FileChanged      a payload asked for is no longer where it was indexed

`str()` of each is one plain message that may be shown to a user as it is.
"""

from typing import Protocol

from runfold.text import escape

__all__ = [
    "AmbiguousTag",
    "BadLog",
    "FileChanged",
    "LogdirNotFound",
    "RunfoldError",
    "UnknownRun",
    "UnknownTag",
]


class Noted(Protocol):
    """What `BadLog` carries: a `runfold.events.problems.Problem`."""

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


class UnknownTag(RunfoldError, KeyError):
    """No tag has that name, or none matches that glob."""


class AmbiguousTag(RunfoldError, LookupError):
    """One tag holds two kinds of data, and the caller did not say which."""


class BadLog(RunfoldError):
    """The first problem in a log, raised in strict mode; `problem` says all about it."""

    def __init__(self, problem: Noted) -> None:
        super().__init__(problem)
        self.problem = problem


class FileChanged(RunfoldError):
    """A payload asked for later is no longer what was indexed in `file`."""

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.file = file

    def __str__(self) -> str:
        return (
            f"{escape(self.file)}: the file has changed since it was indexed. "
            "Call runs.refresh() and ask again."
        )
