"""Data that Runfold's EventAccumulator reads and TensorBoard's loses; see docs/guides/switch.md."""

import logging
import os
import re
from pathlib import Path

import pytest
from google.protobuf.message import DecodeError
from helpers.accumulators import pair, read_answers
from helpers.checkout import ROOT
from helpers.eventfiles import corrupt, event, field, simple
from helpers.faultfiles import append, points, replace, restart, version, write

from runfold._core.encoder import frame
from runfold.compat.tensorboard import EventAccumulator
from runfold.errors import FileChanged

NAME = "events.out.tfevents.17"
TESTS = Path(__file__).parent
DOCUMENT = ROOT / "docs" / "guides" / "switch.md"


def steps(accumulator, tag="loss"):
    return [event.step for event in accumulator.Scalars(tag)]


def test_bad_checksum_costs_one_record_not_the_rest(tmp_path, caplog):
    write(tmp_path / NAME, version(), points(0), corrupt(points(1), -6), points(2))
    theirs, ours = pair(tmp_path)
    assert steps(theirs.Reload()) == [0]
    with caplog.at_level(logging.WARNING, "tensorboard"):
        assert steps(ours.Reload()) == [0, 2]
        ours.Reload()
    (note,) = [record.getMessage() for record in caplog.records]
    assert "checksum" in note
    assert NAME in note


def test_record_that_is_not_an_event_is_skipped(tmp_path, caplog):
    write(tmp_path / NAME, version(), points(0), frame(b"\xff\xff"), points(1))
    theirs, ours = pair(tmp_path)
    with pytest.raises(DecodeError):
        theirs.Reload()
    assert steps(ours.Reload()) == [0, 1]
    assert len(caplog.records) == 1


def test_tag_that_is_not_utf8_is_shown_escaped(tmp_path):
    tensor = field(8, field(1, 1) + field(4, b"\0\0\0\0"))
    values = [simple(b"loss\xff", 1.0), field(1, b"t\xff") + tensor]
    write(tmp_path / NAME, version(), *(frame(event(value, step=3)) for value in values))
    theirs, ours = pair(tmp_path)
    with pytest.raises(DecodeError):
        theirs.Reload()
    assert steps(ours.Reload(), "loss\\xff") == [3]
    (tensor_event,) = ours.Tensors("t\\xff")
    assert tensor_event.tensor_proto.SerializeToString() == field(1, 1) + field(4, b"\0\0\0\0")


def test_value_that_is_not_a_message_is_skipped(tmp_path, caplog):
    images = [field(1, b"image") + field(4, body) for body in (b"\xff\xff", field(4, b"png"))]
    metadata = field(1, b"m") + field(9, field(2, b"\xff"))
    records = [frame(event(value, step=step)) for step, value in enumerate([*images, metadata])]
    write(tmp_path / NAME, version(), *records)
    accumulator = EventAccumulator(str(tmp_path)).Reload()
    (image,) = accumulator.Images("image")
    assert (image.step, image.encoded_image_string) == (1, b"png")
    assert accumulator.summary_metadata == {}
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2


def test_file_that_grows_after_a_newer_file_exists_is_still_read(tmp_path):
    write(tmp_path / f"{NAME}.1", version(), points(0))
    write(tmp_path / f"{NAME}.2", version(), points(0, tag="other"))
    theirs, ours = pair(tmp_path)
    theirs.Reload(), ours.Reload()
    append(tmp_path / f"{NAME}.1", points(1))
    assert steps(theirs.Reload()) == [0]
    assert steps(ours.Reload()) == [0, 1]


def test_files_of_the_same_second_are_read_in_counter_order(tmp_path):
    write(tmp_path / f"{NAME}.9", version(), points(0, 1, 2))
    write(tmp_path / f"{NAME}.10", version(), restart(2), points(2, 3))
    theirs, ours = pair(tmp_path)
    assert steps(theirs.Reload()) == [2, 3, 0, 1, 2]
    assert steps(ours.Reload()) == [0, 1, 2, 3]


def test_replaced_file_is_read_again(tmp_path):
    file = write(tmp_path / NAME, version(), points(0, 1, 2))
    accumulator = EventAccumulator(str(tmp_path)).Reload()
    assert steps(accumulator) == [0, 1, 2]
    replace(file, version(9.0), points(7))
    assert steps(accumulator.Reload()) == [7]
    assert accumulator.FirstEventTimestamp() == 9.0


def test_folder_named_like_an_event_file_is_a_folder(tmp_path):
    write(tmp_path / "tfevents" / NAME, version(), points(0))
    assert steps(EventAccumulator(str(tmp_path / "tfevents")).Reload()) == [0]


def test_scalars_outlive_their_file_and_other_data_raises(tmp_path):
    image = field(1, b"image") + field(4, field(4, b"png"))
    file = write(tmp_path / NAME, version(), points(0), frame(event(image)))
    accumulator = EventAccumulator(str(file)).Reload()
    os.remove(file)
    assert steps(accumulator) == [0]
    with pytest.raises(FileChanged, match=rf"{NAME}.* Reload\(\)"):
        accumulator.Images("image")
    assert steps(accumulator.Reload()) == [0]


def test_path_can_be_a_pathlib_path(tmp_path):
    write(tmp_path / NAME, version(), points(0))
    expected = read_answers(pair(tmp_path)[0].Reload())
    assert read_answers(EventAccumulator(tmp_path).Reload()) == expected


def test_restart_logs_the_number_of_dropped_values_once(tmp_path, caplog):
    file = write(tmp_path / NAME, version(), points(0, 1, 2), restart(1), points(1))
    accumulator = EventAccumulator(str(tmp_path)).Reload()
    append(file, points(2))
    assert steps(accumulator.Reload()) == [0, 1, 2]
    (note,) = [record.getMessage() for record in caplog.records]
    assert "Dropped 2 older values; pass purge_orphaned_data=False to keep them" in note


def test_every_documented_difference_names_a_test():
    rows = re.findall(r"^\|.*\|.*\|.*\| `(test_\w+)` \|$", DOCUMENT.read_text(), re.MULTILINE)
    here = "".join(path.read_text() for path in TESTS.glob("test_*.py"))
    assert {name for name in rows if f"def {name}(" not in here} == set()
    own = re.findall(r"^def (test_\w+)", Path(__file__).read_text(), re.MULTILINE)
    assert set(own) - set(rows) == {"test_every_documented_difference_names_a_test"}
