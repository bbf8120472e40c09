"""Text that contains a configuration: JSON, YAML and Markdown tables."""

import math
from unittest.mock import ANY

import pytest

from runfold._conventions import MOST_CONFIG_BYTES
from runfold._tables.found_config.config_text import parse_config


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        (
            '{\n  "learning_rate": 5e-05,\n  "fp16": false\n}',
            {"learning_rate": 5e-05, "fp16": False},
        ),
        ('```json\n{"lr": 0.1}\n```', {"lr": 0.1}),
        ("~~~\nlr: 0.1\n~~~", {"lr": 0.1}),
        ("````  yaml \nlr: 0.1\n  ````", {"lr": 0.1}),
        ("```\nlr: 0.1```", {"lr": 0.1}),
        ("<pre><code>lr: 0.1\nname: a</code></pre>", {"lr": 0.1, "name": "a"}),
        ("lr: 1e-3\noptim:\n  name: adam", {"lr": 0.001, "optim": {"name": "adam"}}),
        ("{'lr': 0.1, 'name': 'a'}", {"lr": 0.1, "name": "a"}),
        (
            str({"betas": (0.9, 0.999), "one": (1,), "none": None, "on": "on", "flag": True}),
            {"betas": [0.9, 0.999], "one": [1], "none": None, "on": "on", "flag": True},
        ),
        (
            str({"say": 'it\'s "\\x"\n\x07', "top": math.inf, "steps": [1, {"a": {}}], "e": ()}),
            {"say": 'it\'s "\\x"\n\x07', "top": math.inf, "steps": [1, {"a": {}}], "e": []},
        ),
        (
            "{'device': device(type='cpu'), 'dtype': torch.float32, 'act': <class 'nn.ReLU'>}",
            {"device": "device(type='cpu')", "dtype": "torch.float32", "act": "<class 'nn.ReLU'>"},
        ),
        ("prompt: |\n  a b\nlr: 0.1", {"prompt": "a b\n", "lr": 0.1}),
        ("prompt: >-\n  |a|b|\n  |-|-|\n  |lr|1|\nlr: 0.1", {"prompt": ANY, "lr": 0.1}),
        ("# Settings\n\n## All\n|a|b|\n|-|-|\n|lr|0.1|", {"lr": 0.1}),
        (
            "|param|value|\n|-|-|\n|seed|1|\n|track|False|\n|entity|None|\n|env|CartPole-v1|",
            {"seed": 1, "track": False, "entity": None, "env": "CartPole-v1"},
        ),
        ("| a | b |\n| :-- | --: |\n| **`lr`** | 1e-4 |", {"lr": 0.0001}),
        (
            "|a|b|\n|-|-|\n|on|on|\n|limit|inf|\n|x|a\\|b|\n|name|2024_01_31|",
            {"on": "on", "limit": math.inf, "x": "a|b", "name": "2024_01_31"},
        ),
    ],
)
def test_settings_are_read(text, settings):
    assert parse_config(text) == settings


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a sentence",
        "[1, 2]",
        "1",
        "|a|b|",
        "|a|b|\n|c|d|",
        '{"lr": ',
        "{" * 100_000,
        "a: [",
        "lr: 1\n" * 200_000,
        "# Title\n\nSome *notes* | more",
        "```\nlr: 0.1\n~~~",
        "``` two words\nlr: 0.1\n```",
        "{'optim': Adam(betas=(0.9, 0.999)), 'lr': 0.1}",
        "{'lr: (0.1,)}",
    ],
    ids=range(15),
)
def test_other_text_has_no_settings(text):
    assert parse_config(text) == {}


@pytest.mark.parametrize(
    "text",
    [
        "```\n{}x",
        "```\n{}x```",
        "```{}x\nlr: 1",
        "~~~ word{}\x1f\n~~~",
        "<pre>{}x",
        "<pre>{}</code></pre>x",
        "|{}x\n|-|-|",
        "a: {}x: 1",
        "{{{}x",
        "{{'a': '{}'",
        "{{'a': f({}",
    ],
    ids=range(11),
)
@pytest.mark.parametrize(
    "filling", [" ", "\t", "\n", "\n ", "`", "`\n", "|", "\\|", "-", "<", "9", "a(", "\\'"]
)
def test_a_large_text_takes_linear_time(text, filling):
    """Quadratic time would take an hour for one of these."""
    free = MOST_CONFIG_BYTES - len(text)
    settings = parse_config(text.format(filling * (free // len(filling))))
    assert len(settings) <= 2
