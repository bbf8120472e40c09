"""Logs for tests of commands, and functions that run commands in a process or a terminal."""

import io
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
from PIL import Image

from runfold._core.encoder import EventBuffer
from runfold._events import value_encoding as values

START = 1_700_000_000.0
RUNFOLD = [sys.executable, "-m", "runfold"]


def write(folder: Path, events: EventBuffer, name: str = "events.out.tfevents.1") -> Path:
    """Write an event file, old enough that a torn tail is reported."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(events.getvalue())
    os.utime(path, (START, START))
    return path


def losses(*numbers: float, tag: str = "train/loss") -> EventBuffer:
    """Return scalars with these values at steps 0, 1, ..., one second apart."""
    events = EventBuffer()
    events.file_version(START)
    for step, value in enumerate(numbers):
        events.scalar(tag, value, step, START + step)
    return events


def png(width: int = 4, height: int = 2) -> bytes:
    """Return an encoded image."""
    out = io.BytesIO()
    Image.new("RGB", (width, height), (255, 0, 0)).save(out, "PNG")
    return out.getvalue()


def write_kinds(folder: Path) -> Path:
    """Write a run with values of several kinds."""
    events = losses(0.5, 0.25, 0.125)
    events.value(values.text("note", "two\nlines"), 0, START)
    events.value(values.image("picture", 2, 4, 3, png()), 1, START + 1)
    events.value(values.image("picture", 2, 4, 3, png()), 2, START + 2)
    events.value(values.histogram("weights", -1, 1, 4, 0, 2, [0.0, 1.0], [1, 3]), 2, START + 2)
    events.value(values.tensor("matrix", np.eye(2)), 0, START)
    events.value(values.audio("beep", 8000, 1, 4, b"RIFF....WAVE"), 0, START + 2)
    return write(folder, events)


def run_apart(*args: str, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a separate process, with its output in pipes."""
    return subprocess.run(
        [*RUNFOLD, *args],
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def run_in_terminal(columns: int, *args: str, **env: str) -> tuple[int, str]:
    """Run the command in a terminal of this width; return its exit status and output."""
    # Imported here because other tests use this module on Windows, which lacks these modules.
    import fcntl
    import pty
    import termios

    child, screen = pty.fork()
    if child == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        environment = {
            key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")
        }
        os.execve(RUNFOLD[0], [*RUNFOLD, *args], {**environment, "TERM": "xterm-256color", **env})
    shown = b""
    while True:
        try:
            data = os.read(screen, 65536)
        except OSError:  # Linux raises this when the other side is closed
            break
        if not data:
            break
        shown += data
    os.close(screen)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), shown.decode().replace("\r\n", "\n")
