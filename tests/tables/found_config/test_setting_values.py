"""Nested data as settings with dotted names, within limits."""

import pytest

from runfold._log.masking.secret_names import known
from runfold._tables.found_config.setting_values import (
    LONGEST_TEXT,
    MOST_IN_GROUP,
    MOST_SETTINGS,
    flatten_settings,
)

LONG = "x " * 500


def test_names_are_joined_by_dots_and_values_keep_their_types():
    nested = {
        "optim": {"lr": 0.1, "betas": [0.9, 0.99], "groups": [{"decay": 1}, {"decay": None}]},
        "bias": True,
        "layers": 4,
        "notes": None,
        "empty": {},
        "huge": 10**30,
    }
    settings = flatten_settings(nested)
    assert repr(settings) == repr(
        {
            "optim.lr": 0.1,
            "optim.betas": "[0.9, 0.99]",
            "optim.groups.0.decay": 1,
            "bias": True,
            "layers": 4,
            "huge": str(10**30),
        }
    )


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("api_key", "abc", "***"),
        ("wandb_api_key", "abc", "***"),
        ("hub_token", "hf_0123456789abcdef", "***"),
        ("password", 12345, "***"),
        ("use_auth_token", True, True),
        ("pad_token", "<pad>", "<pad>"),
        ("max_tokens", 512, 512),
        ("monkey", "x", "x"),
        ("sort_key", "loss", "loss"),
    ],
)
def test_secrets_are_masked_by_their_names(name, value, shown):
    assert flatten_settings({name: value}) == {name: shown}
    assert flatten_settings({"hub": {name: value}}) == {f"hub.{name}": shown}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("postgres://ada:hunter2@host/db", "postgres://***@host/db"),
        ("use password=hunter2 here", "use password=*** here"),
        ("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "***"),
        ("AKIAIOSFODNN7EXAMPLE", "***"),
        (["Authorization: Bearer abcdef123456"], '["Authorization: Bearer ***"]'),
        (["--password", "hunter2", "--lr", "0.1"], '["--password", "***", "--lr", "0.1"]'),
        ([[{"password": "hunter2"}], 1], '[[{"password": "***"}], 1]'),
        (["adam", "sgd"], '["adam", "sgd"]'),
        (LONG + "password=hunter2", LONG + "password=***"),
    ],
)
def test_secrets_are_masked_by_their_values(value, shown):
    assert flatten_settings({"notes": value}) == {"notes": shown}


def test_a_secret_in_a_name_is_masked():
    settings = flatten_settings({"postgres://ada:hunter2@host/db": 1})
    assert settings == {"postgres://***@host/db": 1}


def test_a_secret_that_becomes_known_is_masked():
    assert flatten_settings({"notes": "see qw3rty-uiop"}) == {"notes": "see qw3rty-uiop"}
    before = known.values
    try:
        known.learn({"password": "qw3rty-uiop"})
        assert flatten_settings({"notes": "see qw3rty-uiop"}) == {"notes": "see ***"}
    finally:
        known.values = before


def test_everything_below_a_secret_name_is_masked():
    nested = {"credentials": {"user": "anne", "codes": ["a", "b"]}}
    assert flatten_settings(nested) == {"credentials.user": "***", "credentials.codes": "***"}


def test_data_is_left_out():
    nested = {
        "labels": {str(number): number for number in range(MOST_IN_GROUP + 1)},
        "rows": [{"x": number} for number in range(MOST_IN_GROUP + 1)],
        "text": "x" * (LONGEST_TEXT + 1),
        "vocabulary": list(range(LONGEST_TEXT)),
        "n" * 301: 1,
        "lr": 0.1,
    }
    assert flatten_settings(nested) == {"lr": 0.1}
    many = {str(number): number for number in range(MOST_SETTINGS + 5)}
    assert len(flatten_settings(many)) == MOST_SETTINGS


def test_deep_nesting_ends():
    nested: dict = {"lr": 1}
    for _ in range(500):
        nested = {"a": nested}
    assert flatten_settings(nested) == {}


def test_invalid_text_is_escaped():
    assert flatten_settings({"a\udce9": "b\udce9"}) == {"a\\udce9": "b\\udce9"}
