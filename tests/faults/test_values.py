"""Inconsistent values, unusual numbers, and kinds that are known only from metadata."""

import math
from pathlib import Path

import numpy as np
import pytest
from helpers.eventfiles import (
    NAME,
    field,
    loss,
    points,
    read_within,
    record,
    scalar,
    scalars,
    simple,
)

from runfold._events import value_encoding as values

DT_FLOAT, DT_STRING, DT_INT64, DT_UINT64 = 1, 7, 9, 23
SIZE = len(scalars(1))


def shape(*sizes: int) -> bytes:
    return field(2, b"".join(field(2, field(1, size)) for size in sizes))


def tensor(tag: str, dtype: int, dims: bytes, content: bytes, metadata: bytes = b"") -> bytes:
    """Return a value with a tensor, whether or not its shape matches its content."""
    return field(1, tag.encode()) + field(8, field(1, dtype) + dims + content) + metadata


def without_metadata(value: bytes) -> bytes:
    """Return the value as stored by a writer that puts metadata only in the first event."""
    from tensorboard.compat.proto.summary_pb2 import Summary

    parsed = Summary.Value.FromString(value)
    parsed.ClearField("metadata")
    return parsed.SerializeToString()


@pytest.mark.fault(26)
@pytest.mark.parametrize("in_other_file", [False, True])
def test_metadata_of_the_first_event_applies_to_the_whole_run(faulty_log, in_other_file):
    first = [
        values.histogram_tensor("h", [[0, 1, 2]]),
        values.text("t", "one"),
        values.image_tensor("i", 1, 1, [b"not looked at"]),
        values.tensor("foreign", np.array(5.0, np.float32), "someone's plugin"),
        tensor("s", DT_FLOAT, shape(), field(4, b"\0\0\x80\x3f"))
        + values.metadata_only("s", "scalars", b"")[3:],
    ]
    rest = [without_metadata(value) for value in first]
    log = faulty_log(record(*first, step=1), b"" if in_other_file else record(*rest, step=2))
    if in_other_file:
        log.add_file(NAME + ".1", record(*rest, step=2))
        log.runs.refresh()
    log.check({"s": [(1, 1.0), (2, 1.0)]})
    run = log.runs["bad"]
    assert run.histograms()["step"].tolist() == [1, 2]
    assert run.text()["text"].tolist() == ["one", "one"]
    assert run.images()["step"].tolist() == [1, 2]
    assert run.tensors()["tag"].tolist() == ["foreign", "foreign"]
    assert log.notes() == []


@pytest.mark.fault(26)
def test_metadata_without_a_value_only_describes_the_tag(faulty_log):
    metadata = values.metadata_only("acc", "scalars", b"", description="how good")
    bare = tensor("acc", DT_FLOAT, shape(), field(4, b"\0\0\x80\x3f"))
    log = faulty_log(record(metadata), record(bare, step=1))
    log.check({"acc": [(1, 1.0)]})
    assert log.runs["bad"].tags == {"scalar": ["acc"]}
    assert log.runs["bad"].points == 1


@pytest.mark.fault(27)
@pytest.mark.parametrize(
    ("dims", "content"),
    [
        (shape(3), field(4, bytes(8))),  # two numbers instead of three
        (shape(), field(4, bytes(8))),  # two instead of one
        (shape(2, 2), field(4, bytes(15))),  # not a whole number of values
        (shape(-1), field(4, bytes(4))),
        (shape(2), field(5, bytes(12))),  # three in the list
        (field(2, field(3, 1)), field(4, bytes(4))),  # unknown rank
    ],
)
def test_tensor_whose_shape_disagrees_with_its_content_is_skipped(faulty_log, dims, content):
    bad = tensor("x", DT_FLOAT, dims, content)
    log = faulty_log(scalars(1), record(bad, simple("loss", 2), step=2), scalars(3))
    log.check(loss(1, 2, 3), [("bad-tensor", SIZE)])
    assert "(tag 'x')" in log.runs.problems()["message"].item()
    assert log.runs.tensors().empty


@pytest.mark.fault(28)
def test_no_memory_is_allocated_for_a_claimed_shape(tmp_path: Path):
    """The cases: content, a repeated list, strings, an overflowing product, no values at all."""
    content, one_listed = field(4, bytes(4)), field(5, bytes(4))
    bad = {
        "content": tensor("x", DT_FLOAT, shape(1 << 40), content),
        "list": tensor("x", DT_FLOAT, shape(1 << 20, 1 << 20), one_listed),
        "strings": tensor("x", DT_STRING, shape(1 << 40), field(8, b"a")),
        "overflow": tensor("x", DT_FLOAT, shape(1 << 32, 1 << 32), content),
        "nothing": tensor("x", DT_FLOAT, shape(1 << 62), b""),
    }
    for run, value in bad.items():
        path = tmp_path / run / NAME
        path.parent.mkdir()
        path.write_bytes(scalars(1) + record(value, step=2) + scalars(3))
    found, notes = read_within(64 << 20, tmp_path)
    assert found == {run: {"loss": [1, 3]} for run in bad}
    assert sorted(notes) == sorted([run, "bad-tensor", SIZE] for run in bad)


@pytest.mark.fault(29)
@pytest.mark.parametrize(
    "content",
    [
        field(6, bytes(16)) + field(7, bytes(24)),  # two limits, three counts
        field(6, bytes(16)),
        field(7, bytes(8)),
        field(6, bytes(15)) + field(7, bytes(15)),
    ],
)
def test_histogram_with_arrays_of_unequal_length_is_skipped(faulty_log, content):
    bad = field(1, b"h") + field(5, content)
    sound = values.histogram("h", 0, 1, 2, 1, 1, [0.5, 1.0], [1, 1])
    log = faulty_log(scalars(1), record(bad, step=2), record(sound, step=3), scalars(4))
    log.check(loss(1, 4), [("bad-histogram", SIZE)])
    assert log.runs.histograms()["step"].tolist() == [3]


@pytest.mark.fault(29)
def test_histogram_tensor_of_a_wrong_shape_is_reported_once_it_is_requested(faulty_log):
    bad = values.tensor("h", np.zeros((4, 2)), "histograms")
    log = faulty_log(scalars(1), record(bad, bad.replace(b"h", b"g", 1), step=2))
    assert log.runs.histograms().empty
    assert log.runs.histograms().empty
    assert log.notes() == [("bad-value", SIZE)] * 2
    assert points(log.runs, "bad") == loss(1)


@pytest.mark.fault(30)
def test_nan_and_infinite_values_are_kept(faulty_log):
    odd = [math.nan, math.inf, -math.inf, -0.0, 1e-45]
    log = faulty_log(*(scalar(step=step, value=value) for step, value in enumerate(odd)))
    found = log.runs["bad"]["loss"].values
    assert found.tobytes() == np.array(odd, np.float32).astype(np.float64).tobytes()
    table = log.runs.scalars(runs="bad")["value"].to_numpy()
    assert table.tobytes() == found.tobytes()
    assert log.notes() == []
    assert "bad" in repr(log.runs)
    log.check_strict()


@pytest.mark.fault(31)
@pytest.mark.parametrize("wall_time", [math.nan, math.inf, -math.inf])
def test_value_with_an_unknown_wall_time_is_kept(faulty_log, wall_time):
    odd = record(simple("loss", 2), step=2, wall_time=wall_time)
    log = faulty_log(scalars(1), odd, scalars(3))
    log.check(loss(1, 2, 3), [("unknown-wall-time", SIZE)])
    assert np.isnan(log.runs["bad"]["loss"].wall_times).tolist() == [False, True, False]
    assert "unknown" not in log.runs._repr_html_()  # the duration comes from the other events


@pytest.mark.fault(32)
def test_negative_and_large_steps_are_kept_exactly(faulty_log):
    steps = [-(2**63), -1, 2**53 + 1, 2**53 + 3, 2**63 - 1]
    log = faulty_log(*(scalar(step=step, value=1) for step in steps))
    log.check({"loss": [(step, 1.0) for step in steps]})
    assert log.runs.scalars(runs="bad")["step"].tolist() == steps
    assert log.runs.scalars(runs="bad", wide=True).index.get_level_values("step").tolist() == steps
    assert f"{-(2**63)}..{2**63 - 1}" in log.runs["bad"]._repr_html_()


@pytest.mark.fault(32)
def test_large_steps_of_other_kinds_are_kept_exactly(faulty_log):
    log = faulty_log(
        record(values.text("t", "x"), step=2**53 + 1), record(values.text("t", "y"), step=-7)
    )
    assert log.runs.text()["step"].tolist() == [2**53 + 1, -7]


@pytest.mark.fault(30)
@pytest.mark.parametrize(("dtype", "number"), [(DT_INT64, 2**53 + 1), (DT_UINT64, 2**64 - 1)])
def test_integer_that_float64_cannot_represent_is_rounded_and_reported(faulty_log, dtype, number):
    large = tensor("n", dtype, shape(), field(4, number.to_bytes(8, "little")))
    exact = tensor("n", dtype, shape(), field(4, (2**53).to_bytes(8, "little")))
    log = faulty_log(record(exact, step=1), record(large, step=2))
    first = len(record(exact, step=1))
    log.check({"n": [(1, 2.0**53), (2, float(number))]}, [("rounded-integer", first)])
