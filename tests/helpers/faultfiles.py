"""Event files for the tests of faults: their bytes, and what was read of them."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from runfold._core.encoder import EventBuffer
from runfold._events import value_encoding as values
from runfold._runs import Runs

EVENTS = "events.out.tfevents.1700000000.host.1.0"
START_TIME = 1_700_000_000.0


def version(wall_time: float = START_TIME) -> bytes:
    """The record that every event file starts with."""
    buffer = EventBuffer()
    buffer.file_version(wall_time)
    return buffer.getvalue()


def points(*steps: int, tag: str = "loss", value: float | None = None, time: float = 0) -> bytes:
    """One record a step; its value is the step unless told."""
    buffer = EventBuffer()
    for step in steps:
        buffer.scalar(tag, step if value is None else value, step, START_TIME + time + step)
    return buffer.getvalue()


def restart(step: int) -> bytes:
    """The marker that a writer with `purge_step` leaves."""
    buffer = EventBuffer()
    buffer.session_start(step, START_TIME)
    return buffer.getvalue()


def image(step: int, content: bytes, tag: str = "picture") -> bytes:
    """An image; nothing looks at its content before it is shown."""
    buffer = EventBuffer()
    buffer.value(values.image(tag, 4, 4, 3, content), step, START_TIME + step)
    return buffer.getvalue()


def settings_of(**settings: float) -> bytes:
    """The hparams of a run."""
    buffer = EventBuffer()
    buffer.value(values.hparams_start(settings), 0, START_TIME)
    return buffer.getvalue()


def write(path: Path, *records: bytes) -> Path:
    """A file of these records, in a folder that is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(records))
    return path


def append(path: Path, *records: bytes) -> None:
    """Let a file grow as its writer would."""
    with path.open("ab") as file:
        file.write(b"".join(records))


def replace(path: Path, *records: bytes) -> None:
    """Put another file in a file's place, as rsync does."""
    os.replace(write(path.with_name("copy"), *records), path)


def steps(runs: Runs, run: str = ".", tag: str = "loss") -> list[int]:
    """The steps that a run shows of a tag."""
    return runs[run][tag].steps.tolist()


def codes(runs: Runs) -> list[tuple[str, str]]:
    """Every problem's code and the name of its file."""
    table = runs.problems()
    return [
        (code, os.path.basename(file))
        for code, file in zip(table["code"], table["file"], strict=True)
    ]


@contextmanager
def powerless() -> Iterator[None]:
    """Be a user whom permissions bind, since root may read any file.

    Another user may not see the files of the interpreter either: what is
    imported late, inside, must have been imported before.
    """
    import pandas  # noqa: F401

    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


_open_hooks: list[Callable[[str], None]] = []


def _audit(event: str, args: tuple[object, ...]) -> None:
    if event == "open" and _open_hooks:
        for hook in _open_hooks:
            hook(os.fsdecode(args[0]) if isinstance(args[0], str | bytes) else "")


@cache
def _start_auditing() -> None:
    sys.addaudithook(_audit)  # for good: Python has no way to take it back


@contextmanager
def before_open(path: Path, act: Callable[[], None]) -> Iterator[None]:
    """Do something real, or raise, in the moment before a file is opened."""
    _start_auditing()

    def hook(opened: str) -> None:
        if opened == str(path):
            _open_hooks.remove(hook)
            try:
                act()
            finally:
                _open_hooks.append(hook)

    _open_hooks.append(hook)
    try:
        yield
    finally:
        _open_hooks.remove(hook)
