"""Hparams sessions and layouts, compared with TensorBoard's protobuf messages."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.custom_scalar import metadata as layout_metadata
from tensorboard.plugins.hparams import api_pb2, summary_v2
from tensorboard.plugins.hparams import metadata as hparams_metadata
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

from runfold._events import contents
from runfold._events import value_encoding as values
from runfold._events.kinds import hparams as hparams_kind
from runfold._events.kinds import layout as layout_kind
from runfold._events.kinds.layout import Category, Chart, Layout, Margin

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
SETTINGS = st.dictionaries(TEXTS, st.booleans() | st.floats(allow_nan=False) | TEXTS)
MARGINS = st.builds(Margin, TEXTS, TEXTS, TEXTS)
LINES = st.builds(Chart, TEXTS, st.lists(TEXTS).map(tuple), st.just(()))
BANDS = st.builds(Chart, TEXTS, st.just(()), st.lists(MARGINS, min_size=1).map(tuple))
CATEGORIES = st.builds(Category, TEXTS, st.booleans(), st.lists(LINES | BANDS).map(tuple))
LAYOUTS = st.builds(Layout, st.lists(CATEGORIES).map(tuple))


def plugin_data(message: bytes) -> HParamsPluginData:
    plugin = Summary.Value.FromString(message).metadata.plugin_data
    assert plugin.plugin_name == hparams_metadata.PLUGIN_NAME
    return HParamsPluginData.FromString(plugin.content)


@given(settings=SETTINGS, start=st.floats(allow_nan=False), group=TEXTS)
def test_a_session_start_is_read_by_protobuf_and_by_runfold(settings, start, group):
    message = values.hparams_start(settings, start, group_name=group)
    info = plugin_data(message).session_start_info
    assert (info.start_time_secs, info.group_name) == (start, group)
    read = hparams_kind.decode(message)
    assert read.hparams == settings
    assert {name: type(value) for name, value in read.hparams.items()} == {
        name: type(value) for name, value in settings.items()
    }


@pytest.mark.parametrize("settings", [{}, {"lr": 0.1}, {"n": 0.0}, {"": ""}, {"flag": False}])
def test_a_session_start_has_the_same_bytes_as_tensorboards(settings):
    expected = plugin_data(
        summary_v2.hparams_pb(settings, "trial", 17.5).value[0].SerializeToString()
    )
    ours = values.hparams_start(settings, 17.5, group_name="trial")
    assert plugin_data(ours) == expected
    content = Summary.Value.FromString(ours).metadata.plugin_data.content
    assert content == expected.SerializeToString(deterministic=True)


def test_numbers_of_any_type_become_floats_and_booleans_stay_booleans():
    settings = {"a": 3, "b": np.int64(4), "c": np.float32(0.5), "d": np.True_}
    read = hparams_kind.decode(values.hparams_start(settings)).hparams
    assert read == {"a": 3.0, "b": 4.0, "c": 0.5, "d": True}
    assert read["d"] is True


def test_none_is_an_hparam_without_a_value():
    message = values.hparams_start({"schedule": None})
    stored = plugin_data(message).session_start_info.hparams["schedule"]
    assert stored.WhichOneof("kind") == "null_value"
    assert hparams_kind.decode(message).hparams == {"schedule": None}


def test_an_experiment_has_the_same_bytes_as_protobufs():
    data = HParamsPluginData()
    plan = data.experiment
    plan.name, plan.description, plan.user, plan.time_created_secs = "e", "d", "u", 2.5
    rate = plan.hparam_infos.add(name="lr", type=api_pb2.DATA_TYPE_FLOAT64, display_name="rate")
    rate.domain_interval.min_value, rate.domain_interval.max_value = 0.0, 1.0
    plan.hparam_infos.add(name="opt", type=1, description="?").domain_discrete.extend(["a", ""])
    plan.hparam_infos.add(name="any")
    plan.metric_infos.add(dataset_type=2, display_name="m").name.tag = "loss"
    plan.metric_infos.add(description="?").name.group = "eval"
    names = (
        hparams_kind.HParam("lr", "rate", "", "float64", hparams_kind.Interval(0.0, 1.0)),
        hparams_kind.HParam("opt", "", "?", "string", ("a", "")),
        hparams_kind.HParam("any", "", "", None, None),
    )
    metrics = (
        hparams_kind.Metric("", "loss", "m", "", "validation"),
        hparams_kind.Metric("eval", "", "", "?", None),
    )
    ours = hparams_kind.Experiment("e", "d", "u", 2.5, names, metrics)
    message = values.hparams_experiment(ours)
    value = Summary.Value.FromString(message)
    assert value.tag == hparams_metadata.EXPERIMENT_TAG
    assert value.metadata.plugin_data.content == data.SerializeToString(deterministic=True)
    assert hparams_kind.decode(message) == ours


def test_other_types_are_rejected():
    with pytest.raises(TypeError, match="not list"):
        values.hparams_start({"sizes": [1, 2]})


@pytest.mark.parametrize("status", contents.STATUSES)
def test_a_session_end_matches_tensorboards(status):
    data = HParamsPluginData()
    data.session_end_info.status = getattr(api_pb2, f"STATUS_{status.upper()}")
    data.session_end_info.end_time_secs = 3.5
    message = values.hparams_end(status, 3.5)
    assert Summary.Value.FromString(message).tag == hparams_metadata.SESSION_END_INFO_TAG
    assert plugin_data(message) == data
    assert hparams_kind.decode(message) == hparams_kind.SessionEnd(status, 3.5)


@given(LAYOUTS)
def test_any_layout_survives_a_round_trip(page):
    assert layout_kind.decode(values.layout(page)) == page


def test_a_layout_has_the_same_bytes_as_protobufs():
    page = layout_pb2.Layout()
    category = page.category.add(title="losses", closed=True)
    category.chart.add(title="all").multiline.tag.extend(["loss/.*", "", "lr"])
    category.chart.add(title="band").margin.series.add(value="m", lower="a", upper="")
    lines = Chart("all", ("loss/.*", "", "lr"), ())
    band = Chart("band", (), (Margin("m", "a", ""),))
    message = values.layout(Layout((Category("losses", True, (lines, band)),)))
    value = Summary.Value.FromString(message)
    assert value.tag == layout_metadata.CONFIG_SUMMARY_TAG
    assert value.metadata == layout_metadata.create_summary_metadata()
    assert value.tensor.string_val == [page.SerializeToString(deterministic=True)]
    assert len(value.tensor.tensor_shape.dim) == 0
