"""Stored boxes are decoded in full, or rejected with a reason."""

import json

import numpy as np
import pytest
from helpers.kind_values import tensor_value
from helpers.logs import values, write
from helpers.pictures import encode
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from tensorboard.compat.proto.summary_pb2 import Summary

import runfold as rf
from runfold._events.kinds import boxes
from runfold._events.kinds.boxes import Boxes, Mask
from runfold._events.value_encoding import boxes as boxes_value

GOOD = {"width": 3, "height": 2, "boxes": [[0, 1, 2, 3]], "colors": ["#ff0000"]}
MASK = {"size": [2, 3], "counts": [1, 4, 1]}


def stored(entries, difference=b""):
    text = entries if isinstance(entries, bytes) else json.dumps(entries).encode()
    return tensor_value(np.array([text, difference], object), "runfold_boxes")


@given(arrays(bool, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=9)))
def test_masks_survive_run_length_encoding(inside):
    mask = Mask.of(inside)
    assert (mask.height, mask.width) == inside.shape
    assert mask.counts.sum() == inside.size
    np.testing.assert_array_equal(mask.numpy(), inside)


def test_run_lengths_are_by_column_as_in_coco():
    inside = np.array([[False, True, True], [False, True, False]])
    assert Mask.of(inside).counts.tolist() == [2, 3, 1]
    assert Mask.of(~inside).counts.tolist() == [0, 2, 3, 1]


def test_a_value_matches_protobuf():
    content = Boxes(3, 2, np.array([[0, 1, 2, 3.5]]), ("#ff0000",), ("é",), np.array([np.nan]))
    message = boxes_value("p", content, b"png")
    value = Summary.Value.FromString(message)
    assert value.tag == "runfold/boxes/p"
    assert value.metadata.plugin_data.plugin_name == "runfold_boxes"
    text, difference = value.tensor.string_val
    assert (json.loads(text)["scores"], difference) == ([None], b"png")
    decoded = boxes.decode(message)
    assert (decoded.width, decoded.height, decoded.labels, decoded.masks) == (3, 2, ("é",), None)
    assert decoded.boxes.tolist() == [[0, 1, 2, 3.5]]
    assert np.isnan(decoded.scores).all()


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        (b"\xff", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        ([], "not a JSON object"),
        ({}, "width or height"),
        (GOOD | {"width": -1}, "width or height"),
        (GOOD | {"boxes": None}, "no list of boxes"),
        (GOOD | {"boxes": [[1, 2, 3]]}, r"boxes must have shape \(1, 4\), got \(1, 3\)"),
        (GOOD | {"boxes": [["a", 2, 3, 4]]}, "not numbers"),
        (GOOD | {"boxes": [1]}, r"boxes must have shape \(1, 4\), got \(1,\)"),
        (GOOD | {"boxes": [[10**400, 2, 3, 4]]}, "not numbers"),
        (GOOD | {"boxes": {"a": 1}}, "no list"),
        (GOOD | {"labels": []}, "labels must have 1 entries"),
        (GOOD | {"labels": "a"}, "labels must have 1 entries"),
        (GOOD | {"scores": [[1, 2, 3, 4]]}, "scores must have shape"),
        (GOOD | {"masks": [None]}, "a mask does not have the image's size, 3 x 2"),
        (GOOD | {"masks": [MASK | {"counts": [1, 4, 2]}]}, "do not add up"),
        (GOOD | {"masks": [MASK | {"counts": [-1, 7]}]}, "not pixel counts"),
        (GOOD | {"masks": [MASK | {"counts": [0.5]}]}, "not pixel counts"),
        (
            GOOD
            | {"width": 2**20, "height": 2**20}
            | {"masks": [{"size": [2**20, 2**20], "counts": [2**40]}]},
            "claims to have 1048576 x 1048576",
        ),
    ],
)
def test_invalid_json_is_rejected(entries, words):
    with pytest.raises(ValueError, match=words):
        boxes.decode(stored(entries))


def test_a_tensor_that_is_not_two_strings_is_rejected():
    for data in (np.zeros(2), np.array([b"{}"], object)):
        with pytest.raises(ValueError, match="expected two strings as boxes"):
            boxes.decode(tensor_value(data, "runfold_boxes"))


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists))
def test_arbitrary_json_in_any_field_is_decoded_or_a_value_error(thing):
    for name in ("width", "boxes", "colors", "labels", "scores", "masks"):
        try:
            boxes.decode(stored(GOOD | {name: thing}))
        except ValueError as error:
            assert str(error)


def test_a_bad_value_is_reported_and_skipped_and_a_missing_image_is_none(tmp_path):
    lone = stored(GOOD).replace(b"\x0a\x03tag", b"\x0a\x03one")
    write(tmp_path, values(lone, stored({})))
    runs = rf.open(tmp_path)
    (row,) = runs.boxes().itertuples()
    assert (row.tag, row.image) == ("one", None)
    (problem,) = runs.problems()["message"]
    assert "tag 'tag': the width or height" in problem


def test_a_difference_that_does_not_match_the_image_is_a_value_error():
    small, large = encode(), encode(pixels=np.zeros((9, 9, 3), np.uint8))
    for difference, words in (
        (large, "the boxes were drawn on an image of shape"),
        (b"", "formats"),
    ):
        with pytest.raises(ValueError, match=words):
            boxes.restore(stored(GOOD, difference), small)
