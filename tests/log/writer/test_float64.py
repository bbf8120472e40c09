"""add_scalar in each precision and style: torch's bytes, and the same values in every reader."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest
import tensorboardX
from helpers.kind_values import events, stored
from helpers.log_pairs import OURS, PEERS, assert_stored_alike, write_both
from helpers.packs import pack
from helpers.tensorboard_readers import READERS, provider, read_scalars
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboardX.proto.event_pb2 import Event as XEvent
from torch.utils.tensorboard import summary as torch_summary

import runfold as rf
from runfold._edit import edit
from runfold._events import value_encoding as values
from runfold._pack.pack import unpack_logdir
from runfold.compat import tbparse
from runfold.compat import tensorboard as compat
from runfold.compat.tensorboard_reducer import load_tb_events

DIGITS = [0.1, 1 / 3, -(2.0**-140), 1e300, 0.0, -0.0, 5e-324, 2.0**53]
with np.errstate(over="ignore"):
    SINGLES = [float(np.float32(number)) for number in DIGITS]
DOUBLE = {"double_precision": True}


def write_digits(folder: Path) -> None:
    with rf.SummaryWriter(folder) as writer:
        for step, number in enumerate(DIGITS):
            writer.add_scalar("loss", number, step, 5.0 + step, **DOUBLE)


def read(folder: Path) -> list[float]:
    return rf.open(folder)["."]["loss"].values.tolist()


@pytest.mark.parametrize("options", [{}, DOUBLE], ids=["float32", "float64"])
def test_new_style_scalars_are_stored_as_in_torch(tmp_path, options):
    def write(writer):
        for step, number in enumerate([*DIGITS, np.inf]):
            writer.add_scalar("a/b", number, step, 5.0 + step, new_style=True, **options)

    write_both(tmp_path, write)
    assert len(assert_stored_alike(tmp_path)["a/b"]) == len(DIGITS) + 1


def test_new_style_scalars_are_read_through_float_val_and_double_val(tmp_path):
    with rf.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("single", 0.1, 1, new_style=True)
        writer.add_scalar("double", 0.1, 1, new_style=True, double_precision=True)
    log = EventAccumulator(str(tmp_path)).Reload()
    assert log.Tensors("single")[0].tensor_proto.float_val[0] == np.float32(0.1)
    assert log.Tensors("double")[0].tensor_proto.double_val[0] == 0.1
    run = rf.open(tmp_path)["."]
    assert (run["single"].values[0], run["double"].values[0]) == (np.float32(0.1), 0.1)


@pytest.mark.parametrize("new_style", [False, True])
@pytest.mark.parametrize("reader", READERS)
def test_both_tensorboard_readers_show_the_same_as_for_torch(tmp_path, reader, new_style):
    def write(writer):
        for step, number in enumerate(DIGITS):
            writer.add_scalar("loss", number, step, 5.0 + step, new_style, True)

    write_both(tmp_path, write)
    with provider(reader, tmp_path) as source:
        ours, peers = (read_scalars(source, run, "loss") for run in (OURS, PEERS))
    assert ours == peers
    # The Rust data server does not show float64 tensors from any writer.
    expected = SINGLES if not new_style else DIGITS if reader == "python" else []
    assert [value for _, _, value in ours] == expected


def test_double_precision_scalars_keep_every_digit(tmp_path):
    write_digits(tmp_path)
    log = EventAccumulator(str(tmp_path)).Reload()
    assert log.Tags()["scalars"] == ["loss"]
    assert [event.value for event in log.Scalars("loss")] == SINGLES
    np.testing.assert_array_equal(read(tmp_path), DIGITS)
    assert np.signbit(read(tmp_path)).tolist() == np.signbit(DIGITS).tolist()


def test_tensorboardx_reads_the_float32_and_keeps_unknown_fields(tmp_path):
    write_digits(tmp_path)
    for event in events(tmp_path)[1:]:
        payload = event.SerializeToString()
        (value,) = XEvent.FromString(payload).summary.value
        assert value.simple_value == SINGLES[event.step]
        assert XEvent.FromString(payload).SerializeToString() == payload


@pytest.mark.parametrize("new_style", [False, True])
@pytest.mark.parametrize("is_double", [False, True])
def test_a_scalar_with_a_name_is_the_same_value_with_metadata(tmp_path, new_style, is_double):
    with rf.SummaryWriter(tmp_path) as writer:
        for step, number in enumerate(DIGITS):
            writer.add_scalar("plain", number, step, 5.0, new_style, is_double)
            writer.add_scalar("named", number, step, 5.0, new_style, is_double, "Loss")
    found = stored(tmp_path)
    for plain, named in zip(found["plain"], found["named"], strict=True):
        expected = Summary.Value.FromString(plain)
        expected.tag = "named"
        expected.metadata.display_name = "Loss"
        assert Summary.Value.FromString(named) == expected
    run = rf.open(tmp_path)["."]
    assert run["named"].values.tolist() == (DIGITS if is_double else SINGLES)


def test_a_simple_scalar_with_a_name_is_stored_as_in_tensorboardx(tmp_path):
    def write(writer):
        for step, number in enumerate(DIGITS):
            writer.add_scalar("a", number, step, 5.0, display_name="A", summary_description="B")

    write_both(tmp_path, write, tensorboardX.SummaryWriter)
    assert_stored_alike(tmp_path)


def test_a_named_scalar_has_torchs_tensor_and_the_name(tmp_path):
    (expected,) = torch_summary.scalar("a", 0.1, new_style=True).value
    expected.metadata.MergeFrom(SummaryMetadata(display_name="A"))
    assert values.scalar("a", 0.1, "tensor", display_name="A") == expected.SerializeToString()


def test_a_series_keeps_every_digit_too(tmp_path):
    with rf.SummaryWriter(tmp_path / "calls") as writer:
        for step, number in enumerate(DIGITS):
            writer.add_scalar("loss", number, step, 5.0, **DOUBLE)
    with rf.SummaryWriter(tmp_path / "series") as writer:
        writer.add_scalar_series(
            "loss", np.arange(len(DIGITS)), DIGITS, np.full(len(DIGITS), 5.0), **DOUBLE
        )
    assert stored(tmp_path / "series") == stored(tmp_path / "calls")
    np.testing.assert_array_equal(read(tmp_path / "series"), DIGITS)


def test_a_renamed_and_shifted_series_keeps_its_digits(tmp_path):
    write_digits(tmp_path / "log")
    edit(tmp_path / "log", tmp_path / "new", rename_tags=["loss=val/loss"], shift_steps=10)
    run = rf.open(tmp_path / "new")["."]
    np.testing.assert_array_equal(run["val/loss"].values, DIGITS)
    log = EventAccumulator(str(tmp_path / "new")).Reload()
    assert [event.value for event in log.Scalars("val/loss")] == SINGLES


def test_a_pack_contains_the_digits_and_restores_the_same_files(tmp_path):
    write_digits(tmp_path / "log" / "run")
    packed = pack(tmp_path / "log")
    np.testing.assert_array_equal(rf.open(packed)["run"]["loss"].values, DIGITS)
    kinds = parquet.read_table(packed)["kind"].to_pylist()
    assert sorted(kinds) == ["event", *["scalar"] * len(DIGITS)]  # the event is the file version
    unpack_logdir(packed, tmp_path / "new")
    (old,), (new,) = (list((tmp_path / name / "run").glob("*tfevents*")) for name in ("log", "new"))
    assert new.read_bytes() == old.read_bytes()


def test_the_original_readers_and_their_replacements_return_float32(tmp_path):
    write_digits(tmp_path / "run")
    log = compat.EventAccumulator(str(tmp_path / "run")).Reload()
    assert log.Scalars("loss") == EventAccumulator(str(tmp_path / "run")).Reload().Scalars("loss")
    assert tbparse.SummaryReader(str(tmp_path / "run")).scalars["value"].tolist() == SINGLES


def test_the_replacement_of_tensorboard_reducer_returns_float64(tmp_path):
    write_digits(tmp_path / "run")
    (table,) = load_tb_events([str(tmp_path / "run")]).values()
    np.testing.assert_array_equal(table.iloc[:, 0], DIGITS)
