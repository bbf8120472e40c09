"""JSON has every whole number and every name, in a form that a browser reads as it is."""

import json

import pytest

from runfold._serve.http.json_response import encode_json

MOST = 2**53 - 1


@pytest.mark.parametrize("number", [2**53, 2**53 + 1, -(2**53), -(2**53) - 1, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("place", [lambda one: [one], lambda one: {"step": one, "run": "a"}])
def test_what_a_browser_would_round_is_sent_in_digits(number, place):
    assert json.loads(encode_json(place(number))) == place(str(number))


@pytest.mark.parametrize(
    "content",
    [
        {"step": MOST, "first": -MOST, "value": 12345678901234567.0, "is": True, "none": None},
        {"text": f"[{2**60}]", "list": [0.1234567890123456789, 1e300, "9" * 20]},
        [f'"step":{2**60},', MOST],
    ],
)
def test_all_else_is_as_it_was(content):
    assert json.loads(encode_json(content)) == content


def test_words_and_digits_stand_beside_each_other():
    found = json.loads(encode_json({"a": float("nan"), "b": (2**60,), "c": "\udc80"}))
    assert found == {"a": "NaN", "b": [str(2**60)], "c": "\\udc80"}
