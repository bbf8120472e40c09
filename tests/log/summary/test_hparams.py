"""add_hparams, as shown by TensorBoard's page with either reader, and by Runfold's tables."""

import math
import pathlib
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
import torch
from helpers.hparams_page import read, settings, shown
from helpers.tensorboard_readers import READERS, provider, read_scalars
from torch.utils.tensorboard import SummaryWriter as TorchWriter

import runfold as rf
from runfold import SummaryWriter
from runfold.errors import CannotLog

SETTINGS = {"lr": 0.1, "layers": 3, "bias": True, "optimizer": "adam"}
TYPES = {"lr": 3, "layers": 3, "bias": 2, "optimizer": 1}


@pytest.mark.parametrize("reader", READERS)
def test_the_page_lists_types_domains_metrics_and_final_values(reader, tmp_path):
    for run, rate in {"a": 0.1, "b": 0.2}.items():
        with SummaryWriter(tmp_path / run) as writer:
            for step in range(5):
                writer.add_scalar("val/loss", rate / (step + 1), step)
            writer.add_hparams(
                SETTINGS | {"lr": rate},
                {"val/loss": None, "hparam/accuracy": 0.75},
                {"lr": [0.1, 0.2], "optimizer": ["adam", "sgd"]},
                global_step=4,
            )
    with provider(reader, tmp_path) as source:
        plan, sessions = shown(source)
    assert {info.name: info.type for info in plan.hparam_infos} == TYPES
    domains = {
        info.name: list(info.domain_discrete)
        for info in plan.hparam_infos
        if info.WhichOneof("domain") is not None
    }
    assert domains == {"lr": [0.1, 0.2], "optimizer": ["adam", "sgd"]}
    assert [info.name.tag for info in plan.metric_infos] == ["val/loss", "hparam/accuracy"]
    assert sorted(sessions) == ["a", "b"]
    for run, rate in {"a": 0.1, "b": 0.2}.items():
        assert settings(sessions[run]) == SETTINGS | {"lr": rate, "layers": 3.0}
        final = {
            metric.name.tag: (metric.training_step, metric.value)
            for metric in sessions[run].metric_values
        }
        loss = float(np.float32(rate / 5))
        assert final == {"val/loss": (4, loss), "hparam/accuracy": (4, 0.75)}


@pytest.mark.parametrize("reader", READERS)
def test_without_metrics_every_series_of_every_run_is_a_metric(reader, tmp_path):
    for run, given in {"a": {"lr": 0.1}, "b": {"depth": 2, "act": "relu"}}.items():
        with SummaryWriter(tmp_path / run, hparams=given) as writer:
            writer.add_scalar(f"loss/{run}", 0.5, 1)
    with provider(reader, tmp_path) as source:
        plan, sessions = shown(source)
    assert {info.name: info.type for info in plan.hparam_infos} == {"lr": 3, "depth": 3, "act": 1}
    assert {info.name.tag for info in plan.metric_infos} == {"loss/a", "loss/b"}
    assert {run: len(session.metric_values) for run, session in sessions.items()} == {
        "a": 1,
        "b": 1,
    }


@pytest.mark.parametrize("reader", READERS)
def test_the_page_shows_the_same_as_for_torch_without_the_extra_run(reader, tmp_path):
    given = {"lr": 0.1, "layers": 3, "optimizer": "adam"}
    arguments = (given, {"acc": 0.5}, {"layers": [3, 4]})
    with TorchWriter(str(tmp_path / "torch")) as theirs, SummaryWriter(tmp_path / "ours") as ours:
        theirs.add_hparams(*arguments)
        ours.add_hparams(*arguments)
    with provider(reader, tmp_path / "torch") as source:
        their_plan, their_sessions = shown(source)
    with provider(reader, tmp_path / "ours") as source:
        plan, sessions = shown(source)
    assert plan == their_plan
    ours, (other,) = sessions["."], their_sessions.values()
    assert (ours.hparams, ours.metric_values[0].value) == (other.hparams, 0.5)
    assert list(rf.open(tmp_path / "ours")) == ["."]
    assert len(list((tmp_path / "ours").iterdir())) == 1


def test_values_keep_their_types(tmp_path):
    class Odd:
        def __str__(self):
            return "odd \udcff"

    given = {
        "bool": False,
        "np bool": np.True_,
        "int": np.int16(3),
        "float": np.float32(0.5),
        "tensor": torch.tensor([2.5]),
        "flag": torch.tensor(True),
        "none": None,
        "nan": math.nan,
        "seed": 2**63 - 1,
        "huge": 10**400,
        "list": [1, "a"],
        "path": pathlib.PurePosixPath("a/b"),
        "class": torch.optim.SGD,
        "function": math.sqrt,
        "odd": Odd(),
        "array": np.arange(2),
        "empty": {},
        "adam": OrderedDict(lr=0.1, betas={"a": 0.9, 1: 0.99}),
        7: 8,
        "": "",
    }
    with SummaryWriter(tmp_path, hparams=given):
        pass
    found = read(tmp_path)
    assert math.isnan(found.pop("nan"))
    expected = {
        "bool": False,
        "np bool": True,
        "int": 3.0,
        "float": 0.5,
        "tensor": 2.5,
        "flag": True,
        "none": None,
        "seed": "9223372036854775807",
        "huge": hex(10**400),
        "list": "[1, 'a']",
        "path": "a/b",
        "class": "SGD",
        "function": "sqrt",
        "odd": "odd \\udcff",
        "array": "[0 1]",
        "empty": "{}",
        "adam.lr": 0.1,
        "adam.betas.a": 0.9,
        "adam.betas.1": 0.99,
        "7": 8.0,
        "": "",
    }
    assert found == expected
    assert {name: type(value) for name, value in found.items()} == {
        name: type(value) for name, value in expected.items()
    }


@pytest.mark.parametrize("reader", READERS)
def test_odd_values_do_not_break_the_page(reader, tmp_path):
    odd = {"none": None, "nan": math.nan, "inf": math.inf, "text": "x"}
    with SummaryWriter(tmp_path) as writer:
        domains = {"inf": [1.0, math.inf], "text": ["y"], "none": [1, 2]}
        writer.add_hparams(odd, {"loss": None}, domains)
    with provider(reader, tmp_path) as source:
        plan, sessions = shown(source)
    assert settings(sessions["."]) == {"none": 0, "text": "x"}  # protobuf encodes null as 0
    assert sessions["."].hparams["none"].WhichOneof("kind") == "null_value"
    infos = {info.name: (info.type, list(info.domain_discrete)) for info in plan.hparam_infos}
    # Otherwise, a run with a value outside the hparam's domain would be missing from the list.
    assert infos == {"none": (3, [1, 2]), "nan": (3, []), "inf": (3, [1]), "text": (1, ["y", "x"])}


def test_metrics_of_the_run_continue_its_own_series(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", 0.5, 1)
        writer.add_hparams(SETTINGS, {"loss": 0.25}, global_step=2)
        writer.add_scalar("loss", 0.125, 3)
    with provider("python", tmp_path) as source:
        points = [(step, value) for step, _, value in read_scalars(source, ".", "loss")]
    assert points == [(1, 0.5), (2, 0.25), (3, 0.125)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1],), "hparam_dict cannot be list .*mapping of names to values"),
        (({"a": 1}, [1]), "metric_dict cannot be list .*mapping of tags to numbers"),
        (({"a": 1}, {"m": "x"}), "'m': metric_dict cannot be str"),
        (({"a": 1}, {"m": [1, 2]}), "'m': metric_dict .*2 numbers"),
        (({"a": 1}, {3: 1.0}), "'3': metric_dict .*expected a str"),
        (
            ({"rate": 1}, {}, {"rte": [1]}),
            r"'rte': hparam_domain_discrete .*no such hparam \(did you mean rate\?\)",
        ),
        (({"lr": 1}, {}, {"lr": 3}), "'lr': hparam_domain_discrete .*a list"),
        (({"lr": 1}, {}, {"lr": "ab"}), "'lr': hparam_domain_discrete .*a list"),
        (({"lr": 1}, {}, {"lr": [1, "a"]}), "'lr': hparam_domain_discrete .*different types"),
        (({"lr": 1}, {"m": 1}, None, None, "x"), "global_step .*not a number"),
    ],
)
def test_invalid_input_raises_with_its_name_and_logs_nothing(arguments, message, tmp_path):
    with SummaryWriter(tmp_path, on_error="raise") as writer:
        writer.add_scalar("loss", 0.5, 1)
        with pytest.raises(CannotLog, match=message):
            writer.add_hparams(*arguments)
    assert rf.open(tmp_path).tags == {"scalar": ["loss"]}


def test_a_recursive_mapping_and_a_value_without_text_raise(tmp_path):
    class Mute:
        def __str__(self):
            raise KeyError("no")

    endless: dict[str, Any] = {}
    endless["again"] = endless
    with SummaryWriter(tmp_path, on_error="raise") as writer:
        with pytest.raises(CannotLog, match=r"again\.again.*too deeply"):
            writer.add_hparams(endless)
        with pytest.raises(
            CannotLog, match=r"'mute': hparam_dict .*its str\(\) failed \(KeyError\)"
        ):
            writer.add_hparams({"mute": Mute()})
