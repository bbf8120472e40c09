"""SummaryWriter methods for arrays: tensors, histograms and PR curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runfold._events import value_encoding
from runfold._humanize import escape
from runfold._log.summary import histogram_buckets, precision_recall
from runfold._log.writer.convert import as_array, as_number, as_row, as_tag, refuse
from runfold._log.writer.guard import guarded
from runfold.errors import CannotLog

if TYPE_CHECKING:
    from runfold._log.writer.sink import Sink, Writer

# Protobuf cannot parse messages of 2 GiB or more.
_MOST_BYTES = (1 << 31) - (1 << 20)


@guarded
def add_tensor(
    self: Writer,
    tag: str,
    tensor: Any,
    global_step: Any = None,
    walltime: float | None = None,
) -> None:
    """Log an array of any shape, with its type.

    Args:
        tag: name of the series.
        tensor: an array or tensor of numbers.
        global_step: the step. Default: 0.
        walltime: seconds since 1970. Default: now.
    """
    if self._event_writer.accepts():
        name, array = as_tag(tag), as_array(tensor, tag, "tensor")
        if array.nbytes >= _MOST_BYTES:
            reason = f"it has {array.nbytes:,} bytes; an event can contain at most 2 GiB"
            raise CannotLog(refuse(name, "tensor", tensor, reason))
        try:
            message = value_encoding.tensor_fields(name, array, "tensor")
        except TypeError:
            reason = f"TensorBoard does not support the type {array.dtype}"
            raise CannotLog(refuse(name, "tensor", tensor, reason)) from None
        self.add_value(name, message, global_step, walltime)


@guarded
def add_histogram(
    self: Writer,
    tag: str,
    values: Any,
    global_step: Any = None,
    bins: Any = histogram_buckets.TENSORFLOW,
    walltime: float | None = None,
    max_bins: int | None = None,
) -> None:
    """Log a histogram of the values in an array.

    NaN and infinite values are left out, with one warning per tag.

    Args:
        tag: name of the series.
        values: an array of any shape.
        global_step: the step. Default: 0.
        bins: "tensorflow", or any `bins` argument of `numpy.histogram`: the name of a rule, the
            number of bins, or their edges.
        walltime: seconds since 1970. Default: now.
        max_bins: merge bins if there are more than this. Default: no limit.

    Examples:
        >>> writer.add_histogram("weights/layer1", model.layer1.weight, step)
        >>> writer.add_histogram("activations", activations, step, bins="auto")
    """
    sink = self._event_writer
    if sink.accepts():
        name = sink.checks.tag(tag)
        numbers, left_out = histogram_buckets.finite_numbers(values, name)
        is_default = isinstance(bins, str) and bins == histogram_buckets.TENSORFLOW
        limits = bins if self._default_bins is None or not is_default else self._default_bins
        counted = histogram_buckets.count(numbers, name, limits, max_bins)
        self.add_value(name, histogram_buckets.encode(name, counted), global_step, walltime)
        if left_out:
            _warn_left_out(sink, name, f"{left_out:,} of the values are NaN or infinite")


@guarded
def add_histogram_raw(
    self: Writer,
    tag: str,
    min: Any,
    max: Any,
    num: Any,
    sum: Any,
    sum_squares: Any,
    bucket_limits: Any,
    bucket_counts: Any,
    global_step: Any = None,
    walltime: float | None = None,
) -> None:
    """Log a histogram from existing counts.

    `bucket_counts[i]` is the number of values above the previous limit, up to `bucket_limits[i]`.
    The other statistics describe all values; None is stored as 0.

    Args:
        tag: name of the series.
        min: smallest value.
        max: largest value.
        num: number of values.
        sum: sum of the values.
        sum_squares: sum of the squared values.
        bucket_limits: right edge of each bucket.
        bucket_counts: number of values in each bucket.
        global_step: the step. Default: 0.
        walltime: seconds since 1970. Default: now.

    Examples:
        >>> writer.add_histogram_raw(
        ...     "loss", min=0.1, max=2.5, num=3, sum=3.8, sum_squares=7.7,
        ...     bucket_limits=[1, 2, 3], bucket_counts=[1, 1, 1],
        ... )
    """
    if not self._event_writer.accepts():
        return
    name = as_tag(tag)
    limits = as_row(bucket_limits, name, "bucket_limits")
    counts = as_row(bucket_counts, name, "bucket_counts")
    if len(limits) != len(counts):
        reason = f"it has {len(counts)} counts for {len(limits)} limits"
        raise CannotLog(refuse(name, "bucket_counts", bucket_counts, reason))

    def read(value: Any, argument: str) -> float:
        return 0.0 if value is None else as_number(value, name, argument)

    counted = histogram_buckets.Histogram(
        read(min, "min"),
        read(max, "max"),
        read(num, "num"),
        read(sum, "sum"),
        read(sum_squares, "sum_squares"),
        limits,
        counts,
    )
    self.add_value(name, histogram_buckets.encode(name, counted), global_step, walltime)


@guarded
def add_pr_curve(
    self: Writer,
    tag: str,
    labels: Any,
    predictions: Any,
    global_step: Any = None,
    num_thresholds: int = 127,
    weights: Any = None,
    walltime: float | None = None,
) -> None:
    """Log the precision-recall curve of a binary classifier.

    Predictions outside the range 0 to 1, or with a NaN label or weight, are left out, with one
    warning per tag.

    Args:
        tag: name of the series.
        labels: the true label of each prediction: 0 or 1, or a bool.
        predictions: the predicted probability of label 1.
        global_step: the step. Default: 0.
        num_thresholds: number of thresholds, at most 127, as in torch.
        weights: weight of each prediction. Default: 1.
        walltime: seconds since 1970. Default: now.

    Examples:
        >>> writer.add_pr_curve("val/pr", labels=[0, 1, 1], predictions=[0.2, 0.7, 0.9])
    """
    if self._event_writer.accepts():
        name = as_tag(tag)
        thresholds = precision_recall.limit_thresholds(num_thresholds, name)
        rows, left_out = precision_recall.count_curve(
            name, labels, predictions, thresholds, weights
        )
        self.add_value(name, value_encoding.pr_curve(name, rows, thresholds), global_step, walltime)
        if left_out:
            _warn_left_out(
                self._event_writer,
                name,
                f"{left_out:,} of the predictions are outside 0 to 1, "
                "or have a NaN label or weight",
            )


@guarded
def add_pr_curve_raw(
    self: Writer,
    tag: str,
    true_positive_counts: Any,
    false_positive_counts: Any,
    true_negative_counts: Any,
    false_negative_counts: Any,
    precision: Any,
    recall: Any,
    global_step: Any = None,
    num_thresholds: int = 127,
    weights: Any = None,
    walltime: float | None = None,
) -> None:
    """Log a precision-recall curve from existing counts.

    Every array has one number per threshold.

    Args:
        tag: name of the series.
        true_positive_counts: number of true positives.
        false_positive_counts: number of false positives.
        true_negative_counts: number of true negatives.
        false_negative_counts: number of false negatives.
        precision: precision at each threshold.
        recall: recall at each threshold.
        global_step: the step. Default: 0.
        num_thresholds: number of thresholds, at most 127, as in torch.
        weights: ignored, as in torch.
        walltime: seconds since 1970. Default: now.
    """
    if self._event_writer.accepts():
        name = as_tag(tag)
        thresholds = precision_recall.limit_thresholds(num_thresholds, name, least=0)
        positive = true_positive_counts, false_positive_counts
        negative = true_negative_counts, false_negative_counts
        rows = precision_recall.stack_rows(name, (*positive, *negative, precision, recall))
        self.add_value(name, value_encoding.pr_curve(name, rows, thresholds), global_step, walltime)


def _warn_left_out(sink: Sink, tag: str, fact: str) -> None:
    """Warn once per tag about values that were left out."""
    sink.checks.warn_once(
        tag,
        f"Tag '{escape(tag)}': {fact}. They were left out; further ones for this tag are "
        "not reported.",
    )
