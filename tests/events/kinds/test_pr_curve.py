"""Precision-recall curves: the logged numbers, in named rows."""

from contextlib import suppress

import numpy as np
import pytest
import tensorboardX
from helpers.kind_values import tensor_value, written
from hypothesis import given
from hypothesis import strategies as st
from torch.utils import tensorboard as torch_tensorboard

from runfold._events.kinds import pr_curve

WRITERS = [torch_tensorboard.SummaryWriter, tensorboardX.SummaryWriter]
LABELS = np.array([0, 1, 1, 0, 1, 0, 0, 1])
PREDICTIONS = np.array([0.1, 0.9, 0.4, 0.35, 0.8, 0.05, 0.7, 0.6])


@pytest.mark.parametrize("writer", WRITERS)
def test_counts_at_each_threshold_match_the_data(writer, tmp_path):
    values = written(
        writer, tmp_path, lambda w: w.add_pr_curve("pr", LABELS, PREDICTIONS, 0, num_thresholds=11)
    )
    curve = pr_curve.decode(values["pr"][0])
    above = PREDICTIONS[None] >= curve.thresholds[:, None] - 1e-9
    assert curve.num_thresholds == 11
    assert curve.thresholds.tolist() == np.linspace(0, 1, 11).tolist()
    assert curve.true_positives.tolist() == (above & (LABELS == 1)).sum(axis=1).tolist()
    assert curve.false_positives.tolist() == (above & (LABELS == 0)).sum(axis=1).tolist()
    assert curve.true_negatives.tolist() == (~above & (LABELS == 0)).sum(axis=1).tolist()
    assert curve.false_negatives.tolist() == (~above & (LABELS == 1)).sum(axis=1).tolist()
    np.testing.assert_allclose(curve.recall, curve.true_positives / 4)
    assert curve.precision.dtype == np.float64


def test_other_shapes_are_rejected():
    for shape in ((5, 3), (6,), ()):
        with pytest.raises(ValueError, match="expected 6 rows of numbers, got"):
            pr_curve.decode(tensor_value(np.zeros(shape), "pr_curves"))


def test_a_curve_without_thresholds_is_empty():
    assert pr_curve.decode(tensor_value(np.zeros((6, 0)), "pr_curves")).thresholds.size == 0


@given(st.binary())
def test_arbitrary_bytes_give_a_curve_or_value_error(raw):
    with suppress(ValueError):
        pr_curve.decode(raw)
