"""Event files for tests of faults: their bytes, and the data read from them."""

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
    """Return the first record of every event file."""
    buffer = EventBuffer()
    buffer.file_version(wall_time)
    return buffer.getvalue()


def points(*steps: int, tag: str = "loss", value: float | None = None, time: float = 0) -> bytes:
    """Return one record per step; its value is the step by default."""
    buffer = EventBuffer()
    for step in steps:
        buffer.scalar(tag, step if value is None else value, step, START_TIME + time + step)
    return buffer.getvalue()


def restart(step: int) -> bytes:
    """Return the marker that a writer with `purge_step` writes."""
    buffer = EventBuffer()
    buffer.session_start(step, START_TIME)
    return buffer.getvalue()


def image(step: int, content: bytes, tag: str = "picture") -> bytes:
    """Return a record with an image; the image is not decoded until it is shown."""
    buffer = EventBuffer()
    buffer.value(values.image(tag, 4, 4, 3, content), step, START_TIME + step)
    return buffer.getvalue()


def settings_of(**settings: float) -> bytes:
    """Return the hparams of a run."""
    buffer = EventBuffer()
    buffer.value(values.hparams_start(settings), 0, START_TIME)
    return buffer.getvalue()


def write(path: Path, *records: bytes) -> Path:
    """Write a file of these records, and create its folder if necessary."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(records))
    return path


def append(path: Path, *records: bytes) -> None:
    """Append to a file as its writer would."""
    with path.open("ab") as file:
        file.write(b"".join(records))


def replace(path: Path, *records: bytes) -> None:
    """Replace a file with another, like rsync."""
    os.replace(write(path.with_name("copy"), *records), path)


def steps(runs: Runs, run: str = ".", tag: str = "loss") -> list[int]:
    """Return the visible steps of a tag in a run."""
    return runs[run][tag].steps.tolist()


def codes(runs: Runs) -> list[tuple[str, str]]:
    """Return the code and file name of every problem."""
    table = runs.problems()
    return [
        (code, os.path.basename(file))
        for code, file in zip(table["code"], table["file"], strict=True)
    ]


@contextmanager
def powerless() -> Iterator[None]:
    """Become a user who is subject to permissions, because root can read any file.

    Another user may not be able to read the interpreter's files either, so modules that are
    otherwise imported later are imported first.
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
    sys.addaudithook(_audit)  # permanent: Python cannot remove audit hooks


@contextmanager
def before_open(path: Path, act: Callable[[], None]) -> Iterator[None]:
    """Call a function, which can raise, just before a file is opened."""
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


@contextmanager
def noting_opened() -> Iterator[list[str]]:
    """Collect the paths of the event files that are opened."""
    _start_auditing()
    paths: list[str] = []

    def hook(opened: str) -> None:
        if "tfevents" in os.path.basename(opened):
            paths.append(opened)

    _open_hooks.append(hook)
    try:
        yield paths
    finally:
        _open_hooks.remove(hook)
