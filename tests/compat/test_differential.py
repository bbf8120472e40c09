"""Runfold and TensorBoard's EventAccumulator agree on the same logs.

tests/docs/test_differences.py tests where they disagree, and docs/explanation/differences.md
explains why.
"""

from typing import Any

import numpy as np
import pytest
from helpers import writers
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.data_compat import migrate_value
from tensorboard.util.tensor_util import make_ndarray

import runfold as rf

EVERYTHING = dict.fromkeys(("scalars", "histograms", "images", "audio", "tensors"), 0)


@pytest.fixture(scope="module", params=list(writers.WRITERS))
def folder(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    writers.WRITERS[request.param](folder)
    return folder


@pytest.fixture(scope="module")
def run(folder):
    return rf.open(folder)["."]


@pytest.fixture(scope="module")
def oracle(folder):
    return EventAccumulator(str(folder), EVERYTHING).Reload()


def tensors_of(oracle, plugin):
    """Return the tensor events of each of a plugin's tags; '' means tags without a plugin."""
    return {
        tag: oracle.Tensors(tag)
        for tag in oracle.Tags()["tensors"]
        if plugin_of(oracle, tag) == plugin
    }


def plugin_of(oracle, tag):
    try:
        return oracle.SummaryMetadata(tag).plugin_data.plugin_name
    except KeyError:
        return ""


def places(events):
    return [(event.step, event.wall_time) for event in events]


def places_by_tag(table):
    """Return the distinct steps and wall times of each tag, in order."""
    return {
        tag: list(dict.fromkeys(zip(rows["step"], rows["wall_time"], strict=True)))
        for tag, rows in table.groupby("tag", observed=True)
    }


def arrays(events):
    return [make_ndarray(event.tensor_proto) for event in events]


def test_scalars_agree(run, oracle):
    old = {tag: oracle.Scalars(tag) for tag in oracle.Tags()["scalars"]}
    new = tensors_of(oracle, "scalars")
    assert set(run) == {*old, *new}
    for tag in run:
        events = old.get(tag) or new[tag]
        assert run[tag].steps.tolist() == [event.step for event in events]
        assert run[tag].wall_times.tolist() == [event.wall_time for event in events]
        values = [event.value for event in events] if tag in old else arrays(events)
        np.testing.assert_array_equal(run[tag].values, np.array(values, np.float64))


def test_histograms_agree(run, oracle):
    table = run.histograms()
    expected = {tag: oracle.Histograms(tag) for tag in oracle.Tags()["histograms"]}
    new = tensors_of(oracle, "histograms")
    assert places_by_tag(table) == {tag: places(events) for tag, events in (expected | new).items()}
    for row in table.itertuples():
        found = [event for event in expected.get(row.tag, []) if event.step == row.step]
        for event in found:
            buckets = event.histogram_value
            assert (row.min, row.max, row.num) == (buckets.min, buckets.max, buckets.num)
            assert (row.sum, row.sum_squares) == (buckets.sum, buckets.sum_squares)
            np.testing.assert_array_equal(row.counts, buckets.bucket)
            np.testing.assert_array_equal(row.right, buckets.bucket_limit)
        for event in [event for event in new.get(row.tag, []) if event.step == row.step]:
            rows = make_ndarray(event.tensor_proto)
            np.testing.assert_array_equal(np.stack([row.left, row.right, row.counts], 1), rows)


def test_images_agree_byte_for_byte(run, oracle):
    table = run.images()
    old = {tag: oracle.Images(tag) for tag in oracle.Tags()["images"]}
    new = tensors_of(oracle, "images")
    assert places_by_tag(table) == {tag: places(events) for tag, events in (old | new).items()}
    expected = [
        (event.width, event.height, event.encoded_image_string)
        for events in old.values()
        for event in events
    ]
    for width, height, *images in (array for events in new.values() for array in arrays(events)):
        expected += [(int(width), int(height), image) for image in images]
    assert [(row.width, row.height, row.image.data) for row in table.itertuples()] == expected


def test_audio_agrees_byte_for_byte(run, oracle):
    table = run.audio()
    old = {tag: oracle.Audio(tag) for tag in oracle.Tags()["audio"]}
    new = tensors_of(oracle, "audio")
    assert places_by_tag(table) == {tag: places(events) for tag, events in (old | new).items()}
    expected = [
        (event.sample_rate, event.length_frames, event.encoded_audio_string)
        for events in old.values()
        for event in events
    ]
    got = [(row.sample_rate, row.length_frames, row.audio.data) for row in table.itertuples()]
    if new:
        assert [clip for _, _, clip in got] == [a[0, 0] for e in new.values() for a in arrays(e)]
    else:
        assert got == expected


def test_text_agrees(run, oracle):
    table = run.text()
    expected = tensors_of(oracle, "text")
    assert places_by_tag(table) == {tag: places(events) for tag, events in expected.items()}
    texts = [array.item() for events in expected.values() for array in arrays(events)]
    assert [text.encode() for text in table["text"]] == texts


@pytest.mark.parametrize("plugins", [("", "tensor"), ("pr_curves",)])
def test_tensors_agree(run, oracle, plugins):
    table = run.pr_curves() if plugins == ("pr_curves",) else run.tensors()
    expected: dict[str, Any] = {}
    for plugin in plugins:
        expected |= tensors_of(oracle, plugin)
    assert places_by_tag(table) == {tag: places(events) for tag, events in expected.items()}
    found = [array for events in expected.values() for array in arrays(events)]
    if plugins == ("pr_curves",):
        found = [array[4] for array in found]
    column = table["precision"] if plugins == ("pr_curves",) else table["value"]
    for array, other in zip(column, found, strict=True):
        np.testing.assert_array_equal(array, other)


def test_graph_and_run_metadata_agree(run, oracle):
    (graph,) = run.graphs()["graph"]
    assert graph.proto() == GraphDef.FromString(oracle.Graph().SerializeToString())
    tags = oracle.Tags()["run_metadata"]
    assert run.run_metadata()["tag"].tolist() == tags
    for tag, metadata in zip(tags, run.run_metadata()["metadata"], strict=True):
        assert metadata.proto() == oracle.RunMetadata(tag)


@pytest.mark.parametrize("spread", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("writer", ["torch", "tensorboardx"])
def test_histograms_are_rebinned_as_in_tensorboard(writer, spread, tmp_path):
    import tensorboardX
    from torch.utils import tensorboard

    module = {"torch": tensorboard, "tensorboardx": tensorboardX}[writer]
    numbers = np.random.default_rng(1).normal(0, spread, 500)
    with module.SummaryWriter(str(tmp_path)) as log:
        log.add_histogram("weights", numbers, 3)
    (event,) = EventAccumulator(str(tmp_path), EVERYTHING).Reload().Histograms("weights")
    value = Summary.Value(tag="weights")
    old = event.histogram_value
    for name in ("min", "max", "num", "sum", "sum_squares"):
        setattr(value.histo, name, getattr(old, name))
    value.histo.bucket_limit.extend(old.bucket_limit)
    value.histo.bucket.extend(old.bucket)
    expected = make_ndarray(migrate_value(value).tensor)
    (row,) = rf.open(tmp_path).histograms().itertuples()
    buckets = np.stack([row.left, row.right, row.counts], 1)
    # TensorBoard's migration rounds to float32.
    np.testing.assert_array_equal(buckets.astype(np.float32), expected)
