"""Histograms: the same buckets and statistics as torch's, in both readers."""

import numpy as np
import pytest
import tensorboardX
import torch
from helpers.kind_values import stored
from helpers.log_pairs import OURS, PEERS, assert_stored_alike, read_tensors, write_both
from helpers.log_runs import strict_writer
from helpers.tensorboard_readers import READERS
from tensorboard.compat.proto.summary_pb2 import Summary
from torch.utils.tensorboard import SummaryWriter

from runfold.errors import CannotLog

VALUES = np.random.default_rng(4).normal(0, 2, 1000)
RULES = ["tensorflow", "auto", "fd", "doane", "scott", "stone", "rice", "sturges", "sqrt"]
LIMITS = [10, [-1, 0, 1], np.linspace(-9, 9, 31), [-np.inf, 0.5, np.inf]]


@pytest.mark.parametrize("bins", RULES + LIMITS, ids=str)
@pytest.mark.parametrize("peer", [SummaryWriter, tensorboardX.SummaryWriter])
def test_buckets_are_the_same_as_in_the_peers(tmp_path, bins, peer):
    def write(writer):
        for most in (None, 1, 7, 64, 100, 2000):
            writer.add_histogram(f"at_most_{most}", VALUES, 3, bins, 5.5, most)

    write_both(tmp_path, write, peer)
    assert_stored_alike(tmp_path)


@pytest.mark.parametrize(
    "values",
    [
        VALUES < 0,
        (VALUES * 10).astype(int),
        (VALUES * 10).astype(np.uint8),
        VALUES.astype(np.float16),
        VALUES.reshape(10, 100).T,
        np.array(3.0),
        2,
        np.zeros(5),
        np.array([1e150, 0.0, -1e150]),
        torch.from_numpy(VALUES).requires_grad_(),
        torch.tensor([0.5, -2.0], dtype=torch.bfloat16),
    ],
    ids=repr,
)
def test_arrays_of_every_type_and_shape_are_counted_as_in_torch(tmp_path, values):
    write_both(tmp_path, lambda writer: writer.add_histogram("h", values, 3))
    assert_stored_alike(tmp_path)


def test_squares_that_overflow_are_infinite(tmp_path):
    with strict_writer(tmp_path) as writer:
        writer.add_histogram("h", [1e300, -1e300, 0.5])
    ((value,),) = stored(tmp_path).values()
    histo = Summary.Value.FromString(value).histo
    assert (histo.min, histo.max, histo.sum_squares) == (-1e300, 1e300, np.inf)


def test_raw_histograms_are_stored_as_in_torch(tmp_path):
    def write(writer):
        writer.add_histogram_raw("h", -1, 2, 9, 1.5, 4.25, [0.0, 1.0, 2.5], [3, 0, 6], 4, 5.5)
        limits, counts = torch.tensor([1.0, 2.0]), torch.tensor([3, 4])
        writer.add_histogram_raw("t", np.float32(0), 2.0, 7, 3, np.inf, limits, counts)

    write_both(tmp_path, write)
    assert_stored_alike(tmp_path)


@pytest.mark.parametrize("reader", READERS)
def test_tensorboard_reads_the_same_histograms(tmp_path, reader):
    def write(writer):
        for step in range(3):
            writer.add_histogram("weights", VALUES * step, step, walltime=step + 0.5)
            writer.add_histogram("auto", VALUES + step, step, "auto", step + 0.5)

    write_both(tmp_path, write)
    runs = read_tensors(reader, tmp_path, "histograms")
    assert [point[:2] for point in runs[OURS]["weights"]] == [(0, 0.5), (1, 1.5), (2, 2.5)]
    assert runs[OURS] == runs[PEERS]


def test_non_finite_numbers_are_left_out_with_one_warning(tmp_path):
    mixed = np.array([1.0, np.nan, 2.0, np.inf, -np.inf])
    with strict_writer(tmp_path) as writer:
        with pytest.warns(UserWarning, match="'grads': 3 of the values are NaN or infinite"):
            writer.add_histogram("grads", mixed, 0)
        writer.add_histogram("grads", mixed, 1)
        writer.add_histogram("grads", [1.0, 2.0], 2)
    first, second, plain = stored(tmp_path)["grads"]
    assert first == second == plain


BAD = {
    "values": lambda w: w.add_histogram("t", []),
    "values ": lambda w: w.add_histogram("t", [np.nan, np.inf]),
    "values   ": lambda w: w.add_histogram("t", "text"),
    "bins": lambda w: w.add_histogram("t", VALUES, bins="many"),
    "bins ": lambda w: w.add_histogram("t", VALUES, bins=[3, 2, 1]),
    "bins  ": lambda w: w.add_histogram("t", VALUES, bins=0),
    "bins   ": lambda w: w.add_histogram("t", VALUES, bins=[0, np.nan]),
    "bins    ": lambda w: w.add_histogram("t", VALUES, bins=None),
    "max_bins": lambda w: w.add_histogram("t", VALUES, max_bins=0),
    "num": lambda w: w.add_histogram_raw("t", 0, 1, "many", 0, 0, [1.0], [1]),
    "bucket_limits": lambda w: w.add_histogram_raw("t", 0, 1, 1, 0, 0, np.ones((2, 2)), [1]),
    "bucket_counts": lambda w: w.add_histogram_raw("t", 0, 1, 1, 0, 0, [1.0], [1, 2]),
    "global_step": lambda w: w.add_histogram("t", VALUES, 2**63),
}


@pytest.mark.parametrize("argument", BAD)
def test_invalid_input_raises_with_tag_and_argument_and_logs_nothing(tmp_path, argument):
    with strict_writer(tmp_path) as writer:
        writer.add_histogram("before", VALUES)
        with pytest.raises(CannotLog, match=f"^Tag 't': {argument.strip()} cannot be "):
            BAD[argument](writer)
        writer.add_histogram("after", VALUES)
    assert list(stored(tmp_path)) == ["before", "after"]


@pytest.mark.parametrize("bins", ["tensorflow", [1.0, 2.0], [1.0, 2.0, 3.0]])
def test_numbers_outside_all_bins_leave_one_empty_bucket_with_a_warning(tmp_path, bins):
    with (
        strict_writer(tmp_path) as writer,
        pytest.warns(UserWarning, match="Tag 't': values are all outside the bins"),
    ):
        writer.add_histogram("t", [1e25, 3e25], bins=bins)
    ((message,),) = stored(tmp_path).values()
    histogram = Summary.Value.FromString(message).histo
    assert (histogram.min, histogram.max, histogram.num) == (1e25, 3e25, 2)
    assert (len(histogram.bucket_limit), list(histogram.bucket)) == (1, [0])


def test_complex_numbers_are_counted_by_real_part_with_a_warning(tmp_path):
    with strict_writer(tmp_path) as writer:
        with pytest.warns(UserWarning, match="Tag 't': values is complex; only its real part"):
            writer.add_histogram("t", VALUES + 1j)
        writer.add_histogram("u", VALUES)
    ((complex_one,), (real_one,)) = stored(tmp_path).values()
    assert Summary.Value.FromString(complex_one).histo == Summary.Value.FromString(real_one).histo


def test_a_silent_writer_accepts_histograms_and_writes_nothing(tmp_path):
    with strict_writer(tmp_path / "run", write_to_disk=False) as writer:
        writer.add_histogram("h", VALUES)
    assert not (tmp_path / "run").exists()
