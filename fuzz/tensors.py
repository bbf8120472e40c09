"""Decodes arbitrary bytes as a TensorProto and as histograms, or rejects them with a reason."""

from engine import instrumented, run

with instrumented():
    import numpy as np

    from runfold._core.histogram_proto import decode_histograms, is_valid_histogram
    from runfold._core.tensor_proto import MalformedTensor, decode_number, decode_tensor, fits_shape


def check_tensor(data: bytes) -> None:
    """Check that all functions that read a tensor agree."""
    array = None
    try:
        array = decode_tensor(data)
        assert fits_shape(data)
    except MalformedTensor as error:
        assert str(error)
    try:
        number = decode_number(data)
    except MalformedTensor:
        assert array is None
        return
    if array is not None and number is not None:
        np.testing.assert_array_equal(float(array.item()), number[0])


def check_histograms(messages: list[bytes]) -> None:
    """Check that invalid histograms have no buckets and do not affect the others."""
    columns = decode_histograms(messages)
    assert columns.valid.tolist() == [is_valid_histogram(message) for message in messages]
    assert columns.offsets[-1] == columns.right_edges.size == columns.counts.size
    assert not np.diff(columns.offsets)[~columns.valid].any()


def test_one_input(data: bytes) -> None:
    """The first byte says where to split the remaining bytes into two histograms."""
    at = data[0] if data else 0
    check_tensor(data[1:])
    check_histograms([data[1:], data[1 : 1 + at], data[1 + at :]])


if __name__ == "__main__":
    run(test_one_input)
