"""Writers in separate processes, and the logs they write."""

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import runfold as rf


def strict_writer(folder: str | Path, **options: Any) -> rf.SummaryWriter:
    """Return a SummaryWriter that raises every error."""
    return rf.SummaryWriter(folder, on_error="raise", **options)


def logged(folder: Path, tag: str = "loss") -> dict[int, float]:
    series = rf.open(folder)["."][tag]
    return dict(zip(series.steps.tolist(), series.values.tolist(), strict=True))


def problems(folder: Path) -> list[str]:
    return rf.open(folder).problems()["code"].tolist()


def run(code: str, folder: Path, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """Run code in a separate process, with a `writer` for the folder."""
    head = f"""
        import os, signal, sys, threading
        from runfold._log.writer.event_writer import EventWriter
        writer = EventWriter({str(folder)!r}, flush_secs=600)
    """
    program = textwrap.dedent(head) + textwrap.dedent(code)
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, timeout=120, check=False, **options
    )
