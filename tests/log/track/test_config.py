"""Conversion of all kinds of configurations to plain and flat values."""

import enum
import functools
import json
import math
from argparse import Namespace
from collections import OrderedDict, namedtuple
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import numpy as np
import pydantic
import pydantic.v1
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from runfold._log.track.config import as_plain, flatten


class Kind(enum.Enum):
    ADAM = "adam"
    SGD = 2


@dataclass
class Optimizer:
    lr: float = 0.1
    kind: Kind = Kind.ADAM
    betas: tuple[float, float] = (0.9, 0.99)


@dataclass
class Training:
    optimizer: Optimizer = field(default_factory=Optimizer)
    steps: int = 10


class Model(pydantic.BaseModel):
    optimizer: Optimizer = Optimizer()
    steps: int = 10


class OldModel(pydantic.v1.BaseModel):
    optimizer: Optimizer = Optimizer()
    steps: int = 10


@attrs.define
class Slotted:
    optimizer: Optimizer = attrs.field(factory=Optimizer)
    steps: int = 10


class Plain:
    steps = 5
    optimizer = Optimizer()

    def __init__(self):
        self.steps = 10

    @property
    def twice(self):
        return 2 * self.steps

    def train(self): ...


Row = namedtuple("Row", "optimizer steps")
NESTED: dict[str, Any] = {
    "optimizer": {"lr": 0.1, "kind": "adam", "betas": [0.9, 0.99]},
    "steps": 10,
}
FLAT = {
    "optimizer.lr": 0.1,
    "optimizer.kind": "adam",
    "optimizer.betas": "[0.9, 0.99]",
    "steps": 10,
}


@pytest.mark.parametrize(
    "config",
    [
        NESTED,
        OrderedDict(NESTED),
        Training(),
        Model(),
        OldModel(),
        Slotted(),
        OmegaConf.create(NESTED),
        OmegaConf.structured(Training),
        {"optimizer": OmegaConf.create(NESTED["optimizer"]), "steps": 10},
        Namespace(optimizer=Optimizer(), steps=10),
        SimpleNamespace(optimizer=SimpleNamespace(**NESTED["optimizer"]), steps=np.int64(10)),
        Row(Optimizer(), torch.tensor(10)),
    ],
    ids=lambda config: type(config).__name__,
)
def test_every_kind_of_configuration_has_the_same_result(config):
    assert as_plain(config) == NESTED
    assert flatten(config) == FLAT


def test_objects_and_classes_of_the_script_are_read():
    assert flatten(Plain()) == FLAT
    assert flatten(Plain) == FLAT | {"steps": 5}


def test_values_keep_their_types_or_become_text():
    plain = {
        "on": np.bool_(True),
        "half": np.float32(0.5),
        "tensor": torch.tensor([1, 2]),
        "large": np.zeros((100, 100), np.float32),
        "nan": math.nan,
        "none": None,
        "path": Path("/data"),
        "kind": Kind.SGD,
        "device": torch.device("cpu"),
        "dtype": torch.float32,
        "numpy": np.dtype("f4"),
        "class": torch.optim.SGD,
        "function": flatten,
        "partial": functools.partial(print, 1),
        "object": object(),
        "set": {3, 1, 2},
        "complex": 1j,
        "bytes": b"ab",
        "empty": {},
        "range": range(3),
        1: {2.5: "x", None: "y"},
        "layers": [{"width": 1}, {"width": 2}],
    }
    flat = flatten(plain)
    assert math.isnan(flat.pop("nan"))
    assert flat == {
        "on": True,
        "half": 0.5,
        "tensor": "[1, 2]",
        "large": "<numpy.ndarray float32 (100, 100)>",
        "none": None,
        "path": "/data",
        "kind": "SGD",
        "device": "cpu",
        "dtype": "torch.float32",
        "numpy": "float32",
        "class": "torch.optim.sgd.SGD",
        "function": "runfold._log.track.config.flatten",
        "partial": "functools.partial(<built-in function print>, 1)",
        "object": "<builtins.object>",
        "set": "[1, 2, 3]",
        "complex": "1j",
        "bytes": "ab",
        "empty": "{}",
        "range": "[0, 1, 2]",
        "1.2.5": "x",
        "1.null": "y",
        "layers.0.width": 1,
        "layers.1.width": 2,
    }
    assert type(flat["on"]) is bool


def test_secrets_are_masked():
    config = {"wandb": {"api_key": "abc", "project": "x"}, "url": "https://me:pw@host"}
    masked = {"wandb": {"api_key": "***", "project": "x"}, "url": "https://***@host"}
    assert as_plain(config) == masked
    assert as_plain(Namespace(**config)) == masked
    assert flatten(config)["wandb.api_key"] == "***"
    assert as_plain("ghp_" + "a1" * 18) == "***"


def test_interpolations_are_resolved_except_secrets(monkeypatch):
    monkeypatch.setenv("SERVICE_API_KEY", "hunter2")
    monkeypatch.setenv("DATA", "/data")
    config = {
        "lr": 0.1,
        "twice": ["${lr}", "${oc.env:DATA}"],
        "login": "${oc.env:SERVICE_API_KEY}",
        "through": "${login}",
    }
    plain = as_plain(OmegaConf.create(config))
    assert plain == config | {"twice": [0.1, "/data"], "through": "${login}"}
    assert as_plain(OmegaConf.create({"a": "${b}", "c": "???"})) == {"a": "${b}", "c": "???"}


def test_cycles_and_deep_nesting_are_cut_off():
    cycle: dict[str, Any] = {"a": 1}
    cycle["self"] = cycle
    assert as_plain(cycle) == {"a": 1, "self": "..."}
    deep: Any = 1
    for _ in range(5000):
        deep = {"x": deep}
    assert list(flatten(deep).values()) == ["..."]
    assert len(json.dumps(as_plain({"many": [[0] * 1000] * 1000}))) < 100_000


def test_a_name_with_a_dot_and_a_nested_name_are_both_kept():
    assert flatten({"a.b": 1, "a": {"b": 2}, 1: 3, "1": 4}) == {
        **{"a.b": 1, "a.b#2": 2, "1": 3, "1#2": 4}
    }


def test_a_field_that_raises_does_not_affect_others():
    @dataclass
    class Broken:
        a: int = 1
        b: Any = None

        def __getattribute__(self, name):
            if name == "b":
                raise RuntimeError
            return super().__getattribute__(name)

    class Angry:
        def __str__(self):
            raise RuntimeError

    assert as_plain({"x": Broken(), "y": Angry()}) == {
        "x": {"a": 1, "b": "<RuntimeError>"},
        "y": "<Angry>",
    }


def test_a_config_that_is_not_a_mapping_is_kept():
    assert flatten([1, 2]) == {"config": "[1, 2]"}
    assert flatten(None) == {"config": None}
    assert flatten({}) == {}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text("abcé\n"),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abc.é"), inner),
)


@given(json_values)
def test_plain_values_are_unchanged(value):
    assert as_plain(value) == value
    for item in flatten(value).values():
        assert item is None or type(item) in (bool, int, float, str)
