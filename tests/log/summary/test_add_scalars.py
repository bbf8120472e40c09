"""Several scalars per call, in one run and one file instead of torch's and tensorboardX's many."""

import json
import math
from contextlib import suppress

import numpy as np
import pytest
import tensorboardX
import torch
from helpers.kind_values import events, stored
from helpers.log_pairs import OURS, PEERS, write_both
from helpers.log_runs import strict_writer
from helpers.tensorboard_readers import READERS, provider, read_scalars
from torch.utils.tensorboard import SummaryWriter

from runfold.errors import CannotLog

LOSSES = {"train": 0.5, "val": torch.tensor(0.25), "test": np.float32(2)}
# The peers put the keys of a main tag in separate runs.
PLACES = {SummaryWriter: "loss_{}", tensorboardX.SummaryWriter: "loss/{}"}


def scalars(folder):
    """Return every scalar below a folder as (tag, step, wall_time, value), in order."""
    return [
        (value.tag, event.step, event.wall_time, value.simple_value)
        for event in events(folder)
        for value in event.summary.value
        if value.HasField("simple_value")
    ]


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("peer", PLACES)
def test_scalars_have_the_same_points_as_the_peers_but_in_one_run(tmp_path, reader, peer):
    def write(writer):
        writer.add_scalars("loss", LOSSES, 3, 5.5)
        writer.add_scalars("loss", {"train": 0.125}, 4, 6.5)

    write_both(tmp_path, write, peer)
    with provider(reader, tmp_path) as source:
        for key in LOSSES:
            ours = read_scalars(source, OURS, f"loss/{key}")
            assert ours[0][:2] == (3, 5.5)
            assert ours == read_scalars(source, f"{PEERS}/{PLACES[peer].format(key)}", "loss")
    assert len(list((tmp_path / OURS).rglob("*"))) == 1


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("is_double", [False, True])
def test_a_series_has_the_same_points_as_single_calls(tmp_path, reader, is_double):
    steps, values = np.arange(0, 50, 5), np.geomspace(1, 1e-9, 10)
    with strict_writer(tmp_path / "series") as writer:
        writer.add_scalar_series("a", steps, values, steps + 0.5, double_precision=is_double)
    with strict_writer(tmp_path / "calls") as writer:
        for step, value in zip(steps.tolist(), values.tolist(), strict=True):
            writer.add_scalar("a", value, step, step + 0.5, double_precision=is_double)
    assert stored(tmp_path / "series") == stored(tmp_path / "calls")
    with provider(reader, tmp_path) as source:
        points = read_scalars(source, "series", "a")
        assert points == read_scalars(source, "calls", "a")
        assert [point[2] for point in points] == values.astype(np.float32).tolist()


def test_a_series_accepts_lists_and_tensors_and_uses_the_current_time(tmp_path):
    with strict_writer(tmp_path) as writer, writer.use_metadata(walltime=7.0):
        writer.add_scalar_series("a", [1.0, 2**62], torch.tensor([True, False]))
        writer.add_scalar_series("a", [], [])
    assert scalars(tmp_path) == [("a", 1, 7.0, 1.0), ("a", 2**62, 7.0, 0.0)]


def test_a_dict_is_logged_with_or_without_a_tag_prefix(tmp_path):
    with strict_writer(tmp_path) as writer:
        writer.add_scalar_dict({"a": 1.0, "b": 2}, 3, tag="main", walltime=5.0)
        writer.add_scalar_dict({"a": np.nextafter(np.float32(1), 2)}, global_step=4, walltime=6.0)
        writer.add_scalar_dict({}, 5)
    expected = [("main/a", 3, 5.0, 1.0), ("main/b", 3, 5.0, 2.0), ("a", 4, 6.0, 1 + 2**-23)]
    assert scalars(tmp_path) == expected


def test_a_nan_causes_a_warning_with_its_tag(tmp_path):
    with (
        strict_writer(tmp_path) as writer,
        pytest.warns(UserWarning, match="Tag 'loss/val' is NaN"),
    ):
        writer.add_scalars("loss", {"train": 1.0, "val": math.nan}, 3)
    assert [(tag, step) for tag, step, _, _ in scalars(tmp_path)] == [
        ("loss/train", 3),
        ("loss/val", 3),
    ]


def test_metadata_applies_to_calls_without_step_or_time_as_in_tensorboardx(tmp_path):
    def write(writer):
        with writer.use_metadata(global_step=3, walltime=5.5):
            writer.add_scalar("a", 1.0)
            writer.add_scalar("a", 1.0, 4)
            writer.add_scalar("a", 1.0, 5, 6.5)
            writer.add_histogram("h", np.ones(3))
        with writer.use_metadata(global_step=9):
            writer.add_scalar("a", 1.0, walltime=7.5)
        writer.add_scalar("a", 2.0, walltime=8.5)

    write_both(tmp_path, write, tensorboardX.SummaryWriter)
    ours, peers = (
        [(e.step, e.wall_time, e.summary) for e in events(tmp_path / run) if e.summary.value]
        for run in (OURS, PEERS)
    )
    assert ours == peers
    assert [point[:2] for point in ours] == [
        (3, 5.5),
        (4, 5.5),
        (5, 6.5),
        (3, 5.5),
        (9, 7.5),
        (0, 8.5),
    ]


def test_metadata_ends_with_its_block_and_after_an_exception(tmp_path):
    with strict_writer(tmp_path) as writer:
        with writer.use_metadata(global_step=1, walltime=2.0):
            with suppress(KeyError), writer.use_metadata(global_step=3):
                writer.log({"a": 1.0})
                raise KeyError
            writer.flush()  # the background thread must not end the metadata either
            writer.log({"a": 2.0})
            writer.add_scalar("a", 3.0, 5)
        writer.add_scalar("a", 4.0, 7)
    found = scalars(tmp_path)
    assert [point[1:3] for point in found[:3]] == [(3, 2.0), (1, 2.0), (5, 2.0)]
    assert found[3][1] == 7
    assert found[3][2] > 1e9


def test_the_json_export_is_the_same_as_tensorboardxs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = []
    for name, writer_class in (("ours", strict_writer), ("peers", tensorboardX.SummaryWriter)):
        with writer_class("run") as writer:
            for step in range(3):
                writer.add_scalars("loss", {"train": step / 2, "val": step / 4}, step, step + 0.5)
            writer.export_scalars_to_json(name)
            writer.add_scalar("later", 1.0)
        texts.append(json.loads((tmp_path / name).read_text()))
    assert texts[0] == texts[1]
    assert texts[0]["run/loss/val"] == [[0.5, 0, 0.0], [1.5, 1, 0.25], [2.5, 2, 0.5]]


def test_the_json_export_of_a_closed_writer_has_every_scalar(tmp_path):
    with strict_writer(tmp_path / "run") as writer:
        writer.add_scalar("a/b", 0.1, 7, 5.0, double_precision=True)
    with strict_writer(tmp_path / "run") as other:
        other.add_scalar("another writer's", 1.0)
    writer.export_scalars_to_json(tmp_path / "out")
    found = json.loads((tmp_path / "out").read_text())
    assert found == {f"{tmp_path}/run/a/b": [[5.0, 7, 0.1]]}


BAD = {
    "main_tag": lambda w: w.add_scalars(3, {"a": 1.0}),
    "tag_scalar_dict": lambda w: w.add_scalars("t", [1.0]),
    "tag_scalar_dict ": lambda w: w.add_scalars("t", {"a": 1.0, 2: 2.0}),
    "'t/b': tag_scalar_dict": lambda w: w.add_scalars("t", {"a": 1.0, "b": "text"}),
    "'t': global_step": lambda w: w.add_scalars("t", {"a": 1.0}, "one"),
    "walltime": lambda w: w.add_scalars("t", {"a": 1.0}, 1, "now"),
    "'t': steps": lambda w: w.add_scalar_series("t", [0.5], [1]),
    "'t': steps ": lambda w: w.add_scalar_series("t", np.array([2**63], np.uint64), [1]),
    "'t': steps  ": lambda w: w.add_scalar_series("t", [2.0**63], [1]),
    "'t': steps   ": lambda w: w.add_scalar_series("t", 3, 1),
    "'t': values": lambda w: w.add_scalar_series("t", [1, 2], [1]),
    "'t': values ": lambda w: w.add_scalar_series("t", [1], ["one"]),
    "'t': wall_times": lambda w: w.add_scalar_series("t", [1], [1], [1, 2]),
}


@pytest.mark.parametrize("place", BAD)
def test_an_invalid_value_raises_with_tag_and_argument_and_logs_nothing(tmp_path, place):
    with strict_writer(tmp_path) as writer:
        writer.add_scalar("before", 1.0)
        with pytest.raises(CannotLog, match=f"{place.strip()} cannot be "):
            BAD[place](writer)
        writer.add_scalar("after", 1.0)
    assert list(stored(tmp_path)) == ["before", "after"]
