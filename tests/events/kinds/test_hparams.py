"""Hyperparameters as stored by torch, tensorboardX and the Keras callback."""

from contextlib import suppress

import pytest
import tensorboardX
from google.protobuf.struct_pb2 import Value as ProtoValue
from helpers.kind_values import tensor_value, written
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.hparams import summary_v2 as hp
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
from torch.utils import tensorboard as torch_tensorboard

from runfold._events.kinds import hparams
from runfold._events.kinds.hparams import Experiment, HParam, Interval, Metric, SessionEnd

WRITERS = [torch_tensorboard.SummaryWriter, tensorboardX.SummaryWriter]


def only(summary: Summary) -> bytes:
    (value,) = summary.value
    return value.SerializeToString()


@pytest.mark.parametrize("writer", WRITERS)
def test_a_writers_three_values_are_experiment_start_and_end(writer, tmp_path):
    settings = {"lr": 0.1, "layers": 3, "name": "adam"}
    values = written(writer, tmp_path, lambda w: w.add_hparams(settings, {"val/loss": 0.5}))
    experiment, start, end = (
        hparams.decode(values[f"_hparams_/{part}"][0])
        for part in ("experiment", "session_start_info", "session_end_info")
    )
    assert start.hparams == settings
    assert isinstance(start.hparams["layers"], float)
    assert {hparam.name: hparam.type for hparam in experiment.hparams} == {
        "lr": "float64",
        "layers": "float64",
        "name": "string",
    }
    assert [(metric.group, metric.tag) for metric in experiment.metrics] == [("", "val/loss")]
    assert end == SessionEnd("success", end.end_time)


def test_domains_and_metrics_of_an_experiment_are_kept():
    plan = hp.hparams_config_pb(
        hparams=[
            hp.HParam("opt", hp.Discrete(["adam", "sgd"]), "optimizer", "which one"),
            hp.HParam("lr", hp.RealInterval(0.001, 0.1)),
            hp.HParam("bias", hp.Discrete([False, True])),
        ],
        metrics=[
            hp.Metric("acc", "validation", "accuracy", "higher is better", hp.Metric.VALIDATION)
        ],
        time_created_secs=17.5,
    )
    assert hparams.decode(only(plan)) == Experiment(
        name="",
        description="",
        user="",
        time_created=17.5,
        hparams=(
            HParam("opt", "optimizer", "which one", "string", ("adam", "sgd")),
            HParam("lr", "", "", "float64", Interval(0.001, 0.1)),
            HParam("bias", "", "", "bool", (False, True)),
        ),
        metrics=(Metric("validation", "acc", "accuracy", "higher is better", "validation"),),
    )


def test_a_session_distinguishes_bool_float_and_str():
    settings = {"flag": True, "n": 1, "s": "1"}
    start = hparams.decode(only(hp.hparams_pb(settings, "trial-7", start_time_secs=3.25)))
    assert start.group_name == "trial-7"
    assert start.start_time == 3.25
    assert {name: type(value) for name, value in start.hparams.items()} == {
        "flag": bool,
        "n": float,
        "s": str,
    }


def test_lists_and_structures_become_python_values():
    data = HParamsPluginData()
    entry = data.session_start_info.hparams["nested"]
    entry.struct_value.update({"sizes": [1, 2], "none": None, "on": True})
    data.session_start_info.hparams["unset"].CopyFrom(ProtoValue())
    value = tensor_value([], "hparams", data.SerializeToString())
    assert hparams.decode(value).hparams == {
        "nested": {"none": None, "on": True, "sizes": [1.0, 2.0]},
        "unset": None,
    }


def test_an_unknown_status_is_unknown():
    data = HParamsPluginData()
    data.session_end_info.status = 99
    value = tensor_value([], "hparams", data.SerializeToString())
    assert hparams.decode(value) == SessionEnd("unknown", 0.0)


def test_other_content_is_a_value_error():
    with pytest.raises(ValueError, match="not an HParamsPluginData message"):
        hparams.decode(tensor_value([], "hparams", b"\x12\xff"))
    with pytest.raises(ValueError, match="contains no hyperparameters"):
        hparams.decode(tensor_value([], "hparams"))


@given(st.binary())
def test_arbitrary_content_gives_hparams_or_value_error(content):
    with suppress(ValueError):
        hparams.decode(tensor_value([], "hparams", content))
