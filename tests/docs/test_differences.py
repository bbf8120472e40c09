"""Where Runfold reads a log differently from TensorBoard's EventAccumulator, and why.

docs/explanation/differences.md lists each difference with its test.
"""

import re

import numpy as np
import pytest
from google.protobuf.message import DecodeError
from helpers.checkout import ROOT
from helpers.logs import values, write
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.util.tensor_util import make_ndarray

import runfold as rf
from runfold._core.encoder import EventBuffer, frame
from runfold._events.value_encoding import tensor

EVERYTHING = dict.fromkeys(("scalars", "histograms", "images", "audio", "tensors"), 0)
DOCUMENT = ROOT / "docs" / "explanation" / "differences.md"


def event(tag, step, value=0.5, **fields):
    """Return a record with a simple value."""
    message = Event(step=step, wall_time=10.0, **fields)
    message.summary.value.add(tag=tag, simple_value=value)
    return frame(message.SerializeToString())


def put(folder, *records):
    path = folder / "events.out.tfevents.1"
    path.write_bytes(b"".join(records))
    return path


def theirs(folder):
    """Return the steps of each tag, as read by EventAccumulator."""
    oracle = EventAccumulator(str(folder), EVERYTHING).Reload()
    return {tag: [e.step for e in oracle.Scalars(tag)] for tag in oracle.Tags()["scalars"]}


def ours(folder, **options):
    run = rf.open(folder, **options)["."]
    return {tag: run[tag].steps.tolist() for tag in run}


def test_bad_payload_checksum_costs_one_record_not_the_rest(tmp_path):
    broken = bytearray(event("loss", 1))
    broken[-1] ^= 1
    put(tmp_path, event("loss", 0), bytes(broken), event("loss", 2))
    assert theirs(tmp_path) == {"loss": [0]}
    assert ours(tmp_path) == {"loss": [0, 2]}
    assert rf.open(tmp_path).problems()["code"].tolist() == ["bad-payload-checksum"]


def test_record_that_is_not_an_event_is_a_problem_not_an_error(tmp_path):
    put(tmp_path, event("loss", 0), frame(b"\xff\xff"), event("loss", 2))
    with pytest.raises(DecodeError):
        theirs(tmp_path)
    assert ours(tmp_path) == {"loss": [0, 2]}
    assert rf.open(tmp_path).problems()["code"].tolist() == ["malformed-event"]


def test_tag_that_is_not_utf8_is_shown_escaped(tmp_path):
    record = event("lossX", 0)[12:-4].replace(b"lossX", b"loss\xff")
    put(tmp_path, frame(record))
    with pytest.raises(DecodeError):
        theirs(tmp_path)
    assert ours(tmp_path) == {"loss\\xff": [0]}


def test_restart_marker_hides_values_of_both_forms_and_reports_how_many(tmp_path):
    def add(buffer: EventBuffer) -> None:
        for step in (1, 2, 3):
            buffer.scalar("old", 0.5, step, 10.0)
            buffer.scalar_tensor("new", 0.5, step, 10.0)
        buffer.session_start(2, 20.0)
        buffer.scalar("old", 0.5, 2, 21.0)
        buffer.scalar_tensor("new", 0.5, 2, 21.0)

    write(tmp_path, add)
    oracle = EventAccumulator(str(tmp_path), EVERYTHING).Reload()
    assert theirs(tmp_path) == {"old": [1, 2]}
    assert [event.step for event in oracle.Tensors("new")] == [1, 2, 3, 2]
    assert ours(tmp_path) == {"old": [1, 2], "new": [1, 2]}
    run = rf.open(tmp_path)["."]
    assert (run["new"].hidden, run.hidden) == (2, 4)
    assert ours(tmp_path, restarts="keep") == {"old": [1, 2, 3, 2], "new": [1, 2, 3, 2]}


@pytest.mark.parametrize("version", ["", "brain.Event:1"])
def test_step_that_goes_back_hides_nothing_whatever_the_file_version(version, tmp_path):
    head = [frame(Event(file_version=version).SerializeToString())] if version else []
    put(tmp_path, *head, *(event("loss", step) for step in (1, 2, 3, 2)))
    assert theirs(tmp_path) == {"loss": [1, 2]}
    assert ours(tmp_path) == {"loss": [1, 2, 3, 2]}
    assert ours(tmp_path, restarts="step") == {"loss": [1, 2]}


def test_lagging_tag_loses_nothing_in_a_file_without_version(tmp_path):
    put(tmp_path, event("a", 5), event("b", 5), event("a", 6), event("b", 5), event("b", 3))
    assert theirs(tmp_path) == {"a": [5, 6], "b": [3]}
    assert ours(tmp_path) == {"a": [5, 6], "b": [5, 5, 3]}
    assert ours(tmp_path, restarts="step") == {"a": [5, 6], "b": [3]}


def test_equal_steps_are_all_kept_by_both(tmp_path):
    put(tmp_path, *(event("loss", 4, value) for value in (0.5, 0.25)))
    assert theirs(tmp_path) == ours(tmp_path) == {"loss": [4, 4]}
    assert ours(tmp_path, restarts="step") == {"loss": [4, 4]}


def test_scalars_of_tensorflow_2_are_scalars_not_tensors(tmp_path):
    write(tmp_path, values(tensor("loss", np.float32(0.5), "scalars")))
    oracle = EventAccumulator(str(tmp_path), EVERYTHING).Reload()
    assert (oracle.Tags()["scalars"], oracle.Tags()["tensors"]) == ([], ["loss"])
    assert rf.open(tmp_path)["."].tags == {"scalar": ["loss"]}


def test_tensor_of_one_number_without_a_plugin_is_a_scalar(tmp_path):
    write(tmp_path, values(tensor("loss", np.array(0.5))))
    oracle = EventAccumulator(str(tmp_path), EVERYTHING).Reload()
    assert (oracle.Tags()["scalars"], oracle.Tags()["tensors"]) == ([], ["loss"])
    assert rf.open(tmp_path)["."]["loss"].values.tolist() == [0.5]


def test_float64_of_a_scalar_is_read_where_tensorboard_reads_the_float32(tmp_path):
    write(tmp_path, lambda buffer: buffer.scalar_double("loss", 0.1, 0, 10.0))
    (point,) = EventAccumulator(str(tmp_path), EVERYTHING).Reload().Scalars("loss")
    assert point.value == np.float32(0.1)
    assert rf.open(tmp_path)["."]["loss"].values.tolist() == [0.1]


def test_wall_time_that_is_not_a_time_is_missing_and_a_problem(tmp_path):
    def add(buffer: EventBuffer) -> None:
        buffer.scalar("loss", 0.5, 0, float("inf"))

    write(tmp_path, add)
    (point,) = EventAccumulator(str(tmp_path), EVERYTHING).Reload().Scalars("loss")
    assert point.wall_time == float("inf")
    runs = rf.open(tmp_path)
    assert np.isnan(runs["."]["loss"].wall_times).tolist() == [True]
    assert runs.problems()["code"].tolist() == ["unknown-wall-time"]


def test_file_that_grows_after_a_newer_file_exists_is_still_read(tmp_path):
    first = write(tmp_path, number=1)
    write(tmp_path, number=2)
    oracle = EventAccumulator(str(tmp_path), EVERYTHING).Reload()
    runs = rf.open(tmp_path).load()
    with first.open("ab") as file:
        file.write(event("loss", 1))
    assert oracle.Reload().Tags()["scalars"] == []
    runs.refresh()
    assert runs["."]["loss"].steps.tolist() == [1]


def test_files_of_the_same_second_are_read_in_counter_order(tmp_path):
    for number in range(12):
        buffer = EventBuffer()
        buffer.file_version(10.0)
        buffer.session_start(number, 10.0)
        buffer.scalar("loss", 0.5, number, 10.0)
        name = f"events.out.tfevents.1700000000.host.77.{number}"
        (tmp_path / name).write_bytes(buffer.getvalue())
    assert len(theirs(tmp_path)["loss"]) < 12
    run = rf.open(tmp_path)["."]
    assert (run["loss"].steps.tolist(), run.hidden) == (list(range(12)), 0)


def test_every_graph_is_kept_not_only_the_last(tmp_path):
    def add(buffer: EventBuffer) -> None:
        for name in (b"x", b"y"):
            buffer.graph(b"\x0a\x03\x0a\x01" + name, 10.0)

    write(tmp_path, add)
    oracle = EventAccumulator(str(tmp_path), EVERYTHING).Reload()
    assert [node.name for node in oracle.Graph().node] == ["y"]
    assert [graph.names for graph in rf.open(tmp_path).graphs()["graph"]] == [["x"], ["y"]]


def test_integer_that_float64_cannot_represent_is_rounded_and_reported(tmp_path):
    write(tmp_path, values(tensor("count", np.array(2**53 + 1), "scalars")))
    (point,) = EventAccumulator(str(tmp_path), EVERYTHING).Reload().Tensors("count")
    assert point.tensor_proto.tensor_content == (2**53 + 1).to_bytes(8, "little")
    runs = rf.open(tmp_path)
    assert runs["."]["count"].values.tolist() == [2.0**53]
    assert runs.problems()["code"].tolist() == ["rounded-integer"]


def test_bfloat16_tensors_are_float32_arrays(tmp_path):
    message = Summary.Value(tag="x")
    message.tensor.dtype = 14
    message.tensor.tensor_shape.dim.add(size=2)
    message.tensor.tensor_content = b"\xc0\x3f\x20\x40"
    write(tmp_path, values(message.SerializeToString()))
    (point,) = EventAccumulator(str(tmp_path), EVERYTHING).Reload().Tensors("x")
    with pytest.raises(TypeError):
        make_ndarray(point.tensor_proto)
    (array,) = rf.open(tmp_path).tensors()["value"]
    assert (array.tolist(), array.dtype) == ([1.5, 2.5], np.float32)


def test_every_difference_is_documented_with_its_test():
    documented = set(re.findall(r"`(test_\w+)`", DOCUMENT.read_text(encoding="utf-8")))
    shown = {name for name in globals() if name.startswith("test_")}
    assert documented == shown - {"test_every_difference_is_documented_with_its_test"}
