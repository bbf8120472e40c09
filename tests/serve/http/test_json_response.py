"""JSON for browsers preserves every integer and every name."""

import json

import pytest

from runfold._serve.http.json_response import encode_json

MOST = 2**53 - 1


@pytest.mark.parametrize("number", [2**53, 2**53 + 1, -(2**53), -(2**53) - 1, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("wrap", [lambda n: [n], lambda n: {"step": n, "run": "a"}])
def test_integers_that_a_browser_would_round_are_sent_as_digits(number, wrap):
    assert json.loads(encode_json(wrap(number))) == wrap(str(number))


@pytest.mark.parametrize(
    "content",
    [
        {"step": MOST, "first": -MOST, "value": 12345678901234567.0, "is": True, "none": None},
        {"text": f"[{2**60}]", "list": [0.1234567890123456789, 1e300, "9" * 20]},
        [f'"step":{2**60},', MOST],
    ],
)
def test_other_content_is_unchanged(content):
    assert json.loads(encode_json(content)) == content


def test_special_numbers_and_names_can_be_combined():
    decoded = json.loads(encode_json({"a": float("nan"), "b": (2**60,), "c": "\udc80"}))
    assert decoded == {"a": "NaN", "b": [str(2**60)], "c": "\\udc80"}
