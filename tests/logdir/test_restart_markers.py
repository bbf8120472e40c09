"""Restart markers across tags, files and refreshes, compared with a plain loop."""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import runfold as rf
from runfold._core.encoder import EventBuffer
from runfold._events import value_encoding as values

# The content of a file, in order: points, text values, markers, and the position up to which
# it is read first.
scalars = st.tuples(st.just("scalar"), st.sampled_from("ab"), st.integers(0, 9))
texts = st.tuples(st.just("text"), st.sampled_from("cd"), st.integers(0, 9))
markers = st.tuples(st.just("restart"), st.just(""), st.integers(0, 9))
files = st.lists(st.lists(scalars | texts | markers, max_size=12), min_size=1, max_size=3)
Rows = list[tuple[str, str, int]]


def encode(rows: Rows) -> bytes:
    buffer = EventBuffer()
    for kind, tag, step in rows:
        if kind == "scalar":
            buffer.scalar(tag, step, step, 1.0)
        elif kind == "text":
            buffer.value(values.text(tag, ["one", "two"]), step, 1.0)
        else:
            buffer.session_start(step, 1.0)
    return buffer.getvalue()


def shown(rows: Rows) -> Rows:
    """Read in order; at a marker, drop every point so far with its step or a later one."""
    kept: Rows = []
    for kind, tag, step in rows:
        if kind == "restart":
            kept = [row for row in kept if row[2] < step]
        else:
            kept.append((kind, tag, step))
    return kept


@settings(max_examples=60)
@given(files, st.data())
def test_markers_hide_the_same_points_however_the_run_is_read(
    contents: list[Rows], data: st.DataObject
) -> None:
    cuts = [data.draw(st.integers(0, len(rows))) for rows in contents]
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"events.out.tfevents.{i}") for i in range(len(contents))]
        for path, rows, cut in zip(paths, contents, cuts, strict=True):
            path.write_bytes(encode(rows[:cut]))
        runs = rf.open(folder)
        runs.scalars()
        for path, rows, cut in zip(paths, contents, cuts, strict=True):
            with path.open("ab") as file:
                file.write(encode(rows[cut:]))
        runs.refresh()
        expected = shown([row for rows in contents for row in rows])
        for frame_kind, frame in (("scalar", runs.scalars()), ("text", runs.text())):
            for tag in "abcd":
                steps = frame.loc[frame["tag"] == tag, "step"] if len(frame) else np.empty(0)
                expected_steps = [
                    step for kind, name, step in expected if (kind, name) == (frame_kind, tag)
                ]
                assert steps.tolist() == expected_steps
