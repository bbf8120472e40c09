"""Tensors and PR curves: stored as in torch, and read by TensorBoard."""

import warnings

import numpy as np
import pytest
import torch
from helpers.log_pairs import OURS, PEERS, assert_stored_alike, read_tensors, write_both
from helpers.log_runs import strict_writer
from helpers.tensorboard_readers import READERS
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.util.tensor_util import make_ndarray

from runfold.errors import CannotLog

RNG = np.random.default_rng(5)
LABELS, SCORES = RNG.integers(0, 2, 300), RNG.random(300)
TYPES = ["bool", "int8", "int16", "int32", "int64", "float32", "float64", "complex64", "complex128"]


def read(folder):
    """Return the tensors of a run by tag, as TensorBoard reads them."""
    reader = EventAccumulator(str(folder)).Reload()
    return {
        tag: [
            (event.step, event.wall_time, make_ndarray(event.tensor_proto))
            for event in reader.Tensors(tag)
        ]
        for tag in reader.Tags()["tensors"]
    }


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 4)])
def test_tensors_are_stored_as_in_torch(tmp_path, dtype, shape):
    tensor = torch.from_numpy(np.asarray(RNG.normal(0, 30, shape)).astype(dtype))
    write_both(tmp_path, lambda writer: writer.add_tensor("x", tensor, 3, 5.5))
    assert_stored_alike(tmp_path)
    ((step, wall_time, array),) = read(tmp_path / OURS)["x"]
    assert (step, wall_time, array.dtype) == (3, 5.5, dtype)
    np.testing.assert_array_equal(array, tensor.numpy())


def test_integers_of_every_size_are_stored_as_in_torch(tmp_path):
    ends = [[2**n - 1, 2**n, -(2**n)] for n in range(63)]
    tensor = torch.tensor([2**63 - 1, -(2**63), *np.ravel(ends).tolist()])
    write_both(tmp_path, lambda writer: writer.add_tensor("x", tensor))
    assert_stored_alike(tmp_path)


@pytest.mark.parametrize("dtype", ["float16", "uint8", "uint16", "uint32", "uint64"])
def test_tensors_that_torch_stores_unreadably_can_be_read(tmp_path, dtype):
    array = np.array([[0, 1, 200]], dtype)
    with strict_writer(tmp_path) as writer:
        writer.add_tensor("x", array)
    ((_, _, found),) = read(tmp_path)["x"]
    assert found.dtype == dtype
    assert found.tolist() == array.tolist()


def test_bfloat16_is_stored_as_float32(tmp_path):
    with strict_writer(tmp_path) as writer:
        writer.add_tensor("x", torch.tensor([1.5, 1e30], dtype=torch.bfloat16, requires_grad=True))
    ((_, _, found),) = read(tmp_path)["x"]
    assert found.dtype == np.float32
    assert found.tolist() == torch.tensor([1.5, 1e30]).bfloat16().float().tolist()


def add_curves(writer):
    for count in (1, 2, 10, 127, 500):
        writer.add_pr_curve(f"thresholds {count}", LABELS, SCORES, 7, count, walltime=5.5)
    writer.add_pr_curve("float32", torch.from_numpy(LABELS), torch.tensor(SCORES).float(), 8)
    writer.add_pr_curve("bool", LABELS > 0, SCORES, 7, 10)
    writer.add_pr_curve("weights", LABELS, SCORES, 7, 30, np.linspace(0, 2, 300))
    writer.add_pr_curve("weight", LABELS, SCORES, 7, 30, 2.5)
    writer.add_pr_curve("ends", np.array([0, 1, 1, 0]), np.array([0.0, 1.0, 0.5, 1.0]))
    writer.add_pr_curve("integers", np.array([0, 1]), np.array([0, 1]))
    rows = [[4, 3, 1], [4, 1, 0], [0, 3, 4], [0, 1, 3], [0.5, np.nan, 1], [1, 0.75, 0.25]]
    writer.add_pr_curve_raw("raw", *map(np.array, rows), 7, 3, walltime=5.5)
    writer.add_pr_curve_raw("wide", *np.ones((6, 300)), 7, 300)


def test_curves_are_stored_as_in_torch(tmp_path):
    write_both(tmp_path, add_curves)
    assert_stored_alike(tmp_path)


@pytest.mark.parametrize("reader", READERS)
def test_tensorboard_reads_the_same_curves(tmp_path, reader):
    def write(writer):
        writer.add_pr_curve("curve", LABELS, SCORES, 3, walltime=5.5)
        writer.add_pr_curve("curve", 1 - LABELS, SCORES, 4, walltime=6.5)

    write_both(tmp_path, write)
    runs = read_tensors(reader, tmp_path, "pr_curves")
    assert [point[:2] for point in runs[OURS]["curve"]] == [(3, 5.5), (4, 6.5)]
    assert runs[OURS] == runs[PEERS]


@pytest.mark.parametrize("kept", [100, 3, 1])
def test_predictions_outside_0_to_1_are_left_out_with_one_warning(tmp_path, kept):
    scores = np.concatenate([SCORES[:kept], [-0.5, 1.5, 3.0]])
    labels = LABELS[: len(scores)]

    def write(writer):
        writer.add_pr_curve("curve", labels, scores)
        writer.add_pr_curve("curve", labels, scores)

    with pytest.warns(UserWarning, match="'curve': 3 of the predictions are outside 0") as caught:
        write_both(tmp_path, write)
    assert len(caught) == 1
    assert_stored_alike(tmp_path)


NOTHING = np.array([])
ROW = np.ones(3)


@pytest.mark.parametrize("argument", ["labels", "weights"])
def test_predictions_whose_label_or_weight_is_nan_are_left_out(tmp_path, argument):
    is_known = np.arange(len(SCORES)) % 3 > 0
    truth, weights = LABELS.astype(float), np.ones(len(SCORES))
    (truth if argument == "labels" else weights)[~is_known] = np.nan
    with strict_writer(tmp_path) as writer:
        with pytest.warns(UserWarning, match="Tag 'some': 100 of the predictions"):
            writer.add_pr_curve("some", truth, SCORES, weights=weights)
        writer.add_pr_curve("known", LABELS[is_known], SCORES[is_known])
    (some,), (known,) = read(tmp_path).values()
    np.testing.assert_array_equal(some[2], known[2])


@pytest.mark.parametrize("scores", [NOTHING, [7.0, 8.0], [np.nan, -1.0]])
def test_a_curve_without_probabilities_is_all_zero(tmp_path, scores):
    with strict_writer(tmp_path) as writer, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        writer.add_pr_curve("t", np.ones(len(scores)), scores, num_thresholds=5)
    ((_, _, rows),) = read(tmp_path)["t"]
    np.testing.assert_array_equal(rows, np.zeros((6, 5)))


BAD = {
    "tensor": lambda w: w.add_tensor("t", "text"),
    "labels": lambda w: w.add_pr_curve("t", LABELS[1:], SCORES),
    "predictions": lambda w: w.add_pr_curve("t", LABELS, "scores"),
    "weights": lambda w: w.add_pr_curve("t", LABELS, SCORES, weights=[1.0, 2.0]),
    "num_thresholds": lambda w: w.add_pr_curve("t", LABELS, SCORES, num_thresholds=0),
    "recall": lambda w: w.add_pr_curve_raw("t", *[ROW] * 5, ROW[1:]),
    "true_positive_counts": lambda w: w.add_pr_curve_raw("t", *[np.ones((2, 2))] * 6),
    "global_step": lambda w: w.add_tensor("t", ROW, "one"),
}


@pytest.mark.parametrize("argument", BAD)
def test_an_invalid_value_raises_with_tag_and_argument_and_logs_nothing(tmp_path, argument):
    with strict_writer(tmp_path) as writer:
        writer.add_tensor("before", ROW)
        with pytest.raises(CannotLog, match=f"^Tag 't': {argument.strip()} cannot be "):
            BAD[argument](writer)
        writer.add_tensor("after", ROW)
    assert list(read(tmp_path)) == ["before", "after"]


@pytest.mark.parametrize("tag", [None, 3])
def test_a_tag_that_is_not_a_str_raises(tmp_path, tag):
    with strict_writer(tmp_path) as writer, pytest.raises(CannotLog, match="tag cannot be"):
        writer.add_tensor(tag, ROW)
