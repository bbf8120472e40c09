"""Logdirs for tests of packs, and everything that can be read from a logdir or a pack."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import runfold as rf
from helpers.decoding import every_kind
from helpers.eventfiles import corrupt, event, field, simple
from helpers.faultfiles import points, restart, version
from runfold._core.encoder import FLOAT64_FIELD, EventBuffer, frame
from runfold._events import value_encoding as values
from runfold._pack.pack import pack_logdir

FRAMES = [
    *("scalars", "histograms", "images", "boxes", "audio", "text", "tensors", "pr_curves"),
    *("meshes", "graphs", "run_metadata", "layouts"),
    *("hparams", "sessions", "hparam_domains", "metrics"),
]
OLD = 1_600_000_000


def pack(folder: Path, name: str = "logs.parquet", **options: Any) -> Path:
    """Write a pack of a folder next to the folder."""
    path = folder.parent / name
    pack_logdir([folder], path, **options)
    return path


def write(path: Path, *records: bytes) -> None:
    """Write a file so old that its writer no longer counts as active."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(records))
    os.utime(path, (OLD, OLD))


def write_odd_runs(logdir: Path) -> None:
    """Write unusual runs: restarts, mixed events, broken and empty files."""
    name = "events.out.tfevents"
    write(logdir / "restarted" / f"{name}.1", version(), points(*range(10)), restart(4))
    write(logdir / "restarted" / f"{name}.2", points(*range(4, 8), tag="loss"), points(1, tag="b"))
    write(logdir / "went-back" / f"{name}.1", points(0, 1, 2, 3, 1, 2), points(5, 5, tag="same"))
    write(logdir / "kinds" / f"{name}.1", *every_kind())
    mixed = EventBuffer()
    for step in range(3):
        number = values.scalar("loss", step / 3)
        shape = values.histogram("weights", 0, 1, 2, 3, 4, [1, 2], [1, 1])
        mixed.summary([number, shape, values.scalar("lr", 0.1)], step, 5.0 + step)
    write(logdir / "mixed" / f"{name}.1", version(), mixed.getvalue())
    odd = [
        frame(event(simple("padded", 1.0), extra=field(15, b"unknown"))),
        frame(b"\x10\x85\x00" + event(simple("padded", 2.0))),  # a step with an extra byte
        frame(event(simple(b"\xff\xfe", 1.0), step=1)),
        frame(event(simple("time", 3.0), wall_time=float("inf"))),
        frame(event(b"\x0a\x04snan\x15\x01\x00\xa0\x7f")),
        frame(event(values.tensor("count", np.int64(2**60 + 1), "scalars"), step=2)),
        frame(event(values.tensor("count", np.int64(7), "scalars"), step=3)),
        frame(event(values.tensor("half", np.float16(0.5), "scalars"), step=3)),
        frame(event(simple("precise", 0.1) + field(FLOAT64_FIELD, 0.1), step=1)),
        frame(event(simple("apart", 0.1) + field(9, b"") + field(FLOAT64_FIELD, 0.1), step=1)),
        frame(event(simple("changed", 0.5) + field(FLOAT64_FIELD, 0.1), step=1)),
        frame(b"\x07 no event"),
    ]
    write(logdir / "odd" / f"{name}.1", *odd)
    body = points(*range(5))
    write(logdir / "broken" / "payload" / f"{name}.1", corrupt(body, 60), points(9))
    write(logdir / "broken" / "length" / f"{name}.1", points(1), corrupt(points(2), 2), points(3))
    write(logdir / "broken" / "torn" / f"{name}.1", points(1, 2)[:-7])
    write(logdir / "broken" / "zeros" / f"{name}.1", points(1), bytes(500))
    write(logdir / "broken" / "text" / f"{name}.1", b"no event file at all, but text")
    write(logdir / "empty" / f"{name}.1")
    write(logdir / "tags [1]" / f"{name}.1", points(1, tag="step"), points(2, tag="a\n'\"\x1b[1m"))


def answers(runs: rf.Runs, root: Path) -> dict[str, Any]:
    """Return the results of all reads, with `<root>` in place of the runs' folder."""
    results: dict[str, Any] = {name: _table(getattr(runs, name)()) for name in FRAMES}
    results["wide"] = _table(runs.scalars(wide=True))
    results["tags"], results["hidden"], results["repr"] = runs.tags, runs.hidden, repr(runs)
    for name, run in runs.items():
        results[name] = {
            "series": {tag: [_plain(getattr(run[tag], of)) for of in _SERIES] for tag in run},
            "said": [run.tags, run.points, run.hidden, run.config, run.command, run.host],
            "status": repr(run.status),
            "code": repr(run.code),
            "output": run.output,
            "system": _table(run.system()),
            "repr": repr(run),
            "path": run.path,
        }
    results["embeddings"] = _table(runs.embeddings()[["run", "tag"]])
    results["problems"] = _table(runs.problems())
    return _rooted(results, str(root))


_SERIES = ("steps", "wall_times", "values", "hidden")


def _table(frame: pd.DataFrame) -> Any:
    types = {name: str(dtype) for name, dtype in frame.dtypes.items()}
    cells = {name: [_plain(cell) for cell in frame[name]] for name in frame}
    return types, cells, repr(list(frame.index))


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        content = repr(value) if value.dtype == object else value.tobytes()
        return str(value.dtype), value.shape, content
    return value.data if hasattr(value, "data") else repr(value)


def _rooted(results: Any, root: str) -> Any:
    if isinstance(results, dict):
        return {key: _rooted(value, root) for key, value in results.items()}
    if isinstance(results, list | tuple):
        return [_rooted(value, root) for value in results]
    return results.replace(root, "<root>") if isinstance(results, str) else results
