"""Small event files for tests that read them, written by Runfold's own encoder."""

from collections.abc import Callable
from pathlib import Path

from runfold._core.encoder import EventBuffer
from runfold._events.value_encoding import hparams_start


def write(folder: Path, *adds: Callable[[EventBuffer], None], number: int = 1) -> Path:
    """Write an event file in `folder` with the content that the functions add; return its path."""
    buffer = EventBuffer()
    buffer.file_version(1.0)
    for add in adds:
        add(buffer)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"events.out.tfevents.{number}"
    path.write_bytes(buffer.getvalue())
    return path


def scalars(tag: str, *points: tuple[int, float]) -> Callable[[EventBuffer], None]:
    """Add a series of (step, value), one second apart."""

    def add(buffer: EventBuffer) -> None:
        for number, (step, value) in enumerate(points):
            buffer.scalar_double(tag, value, step, 10.0 + number)

    return add


def values(*messages: bytes, step: int = 0) -> Callable[[EventBuffer], None]:
    """Add serialized Summary.Value messages (see runfold._events.value_encoding), one per event."""

    def add(buffer: EventBuffer) -> None:
        for message in messages:
            buffer.value(message, step, 10.0)

    return add


def hparams(**settings: object) -> Callable[[EventBuffer], None]:
    """Add the hparams of a run."""
    return values(hparams_start(settings))
