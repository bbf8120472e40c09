"""Intended differences from tbparse 0.0.9, listed in docs/guides/switch.md."""

import io
import re
import wave
from pathlib import Path

import numpy as np
import pytest
import tbparse
from google.protobuf.message import DecodeError
from helpers import parsers, writers
from helpers.accumulators import answer
from helpers.checkout import ROOT
from helpers.eventfiles import corrupt, scalar, simple
from helpers.faultfiles import version
from helpers.faultfiles import write as write_file
from helpers.logs import scalars, values, write
from helpers.parsers import in_order, pair

from runfold._events.value_encoding import audio, hparams_start, image, tensor, tensor_fields, text
from runfold.compat.tbparse import SummaryReader

pytestmark = pytest.mark.filterwarnings(*parsers.OLD_WAYS)

NAME = "events.out.tfevents.1"


def test_images_and_audio_do_not_need_tensorflow(tmp_path):
    writers.torch(tmp_path)
    theirs, ours = pair(tmp_path)
    for event_type in ("images", "audio"):
        with pytest.raises(ModuleNotFoundError):
            theirs.get_events(event_type)
        assert len(ours.get_events(event_type)) == len(writers.STEPS)
        assert theirs.tags[event_type] == []
        assert len(ours.tags[event_type]) == 1


@pytest.mark.parametrize(("width", "dtype"), [(1, np.uint8), (2, "<i2"), (3, None), (4, "<i4")])
def test_clips_of_any_width_are_scaled_to_one(width, dtype, tmp_path):
    low, high = -(2 ** (8 * width - 1)), 2 ** (8 * width - 1) - 1
    numbers = [low, 0, high]
    raw = b"".join(number.to_bytes(width, "little", signed=True) for number in numbers)
    if dtype is np.uint8:
        raw = bytes(number + 128 for number in numbers)
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setparams((1, width, 8000, 0, "NONE", ""))
        file.writeframes(raw)
    write(tmp_path, values(audio("s", 8000, 1, 3, out.getvalue())))
    (row,) = SummaryReader(tmp_path).audio.itertuples()
    assert row.value.tolist() == [[-1.0], [0.0], [np.float32(high / -low)]]


def test_flag_stays_a_flag_despite_numbers_in_other_files(tmp_path):
    write(tmp_path / "a", values(tensor("flag", np.array(True))))
    write(tmp_path / "b", values(tensor("number", np.array(3))))
    ours = SummaryReader(tmp_path).tensors
    assert ours["value"].map(type).tolist() == [bool, int]
    assert ours["value"].tolist() == [True, 3]


def test_values_of_many_runs_at_a_step_are_in_run_order(tmp_path):
    for run in range(30):
        points = [(step, run + step / 8) for step in range(4)]
        events = [values(simple("loss", value), step=step) for step, value in points]
        write(tmp_path / f"{run:02}", *events)
    theirs, ours = (reader.scalars for reader in pair(tmp_path, pivot=True))
    for step, cell in enumerate(ours["loss"]):
        assert cell == [run + step / 8 for run in range(30)]
    assert theirs.map(in_order).equals(ours.map(in_order))


@pytest.mark.parametrize("tag", ["step", "wall_time", "dir_name", "file_name"])
def test_tag_named_like_a_column_has_a_separate_column(tag, tmp_path):
    events = [values(simple(name, 0.5), step=7) for name in (tag, "loss")]
    write(tmp_path, *events)
    reader = SummaryReader(tmp_path, pivot=True, extra_columns={"wall_time", "dir_name"})
    (row,) = reader.scalars.to_dict("records")
    assert row == {
        **{"step": 7, "loss": 0.5, f"{tag}/value": 0.5},
        **{"wall_time": [10.0, 10.0], "dir_name": ""},
    }


def test_tag_that_ends_like_an_extra_column_has_a_separate_column(tmp_path):
    png = writers.png(writers.PIXELS)
    write(tmp_path, values(*(image(tag, 4, 6, 3, png) for tag in ("p", "p/width"))))
    (row,) = SummaryReader(tmp_path, pivot=True, extra_columns={"width"}).images.to_dict("records")
    assert list(row) == ["step", "p", "p/width", "p/width/value", "p/width/width"]
    assert [row["p/width/value"], row["p/width/width"]] == [6, 6]
    np.testing.assert_array_equal(row["p/width"], writers.PIXELS)


def test_text_of_several_strings_is_an_array(tmp_path):
    write(tmp_path, values(text("t", [["a", "b"]])))
    with pytest.raises(ValueError, match="size 1"):
        tbparse.SummaryReader(str(tmp_path))
    (row,) = SummaryReader(tmp_path).text.itertuples()
    assert row.value.tolist() == [["a", "b"]]


def test_text_that_is_not_utf8_is_shown_escaped(tmp_path):
    write(tmp_path, values(text("t", np.array(b"caf\xe9", object))))
    with pytest.raises(UnicodeDecodeError):
        tbparse.SummaryReader(str(tmp_path))
    assert SummaryReader(tmp_path).text["value"].tolist() == ["caf\\xe9"]


def test_integers_that_are_not_raw_bytes_are_read(tmp_path):
    write(tmp_path, values(tensor_fields("t", np.array([1, -2]))))
    with pytest.raises(AttributeError, match="int4"):
        tbparse.SummaryReader(str(tmp_path))
    assert SummaryReader(tmp_path).tensors["value"][0].tolist() == [1, -2]


def test_hparam_without_a_value_is_none(tmp_path):
    write(tmp_path, values(hparams_start({"lr": 0.1, "seed": None, "name": "x"})))
    theirs, ours = (reader.hparams["value"].tolist() for reader in pair(tmp_path))
    assert (theirs, ours) == ([0.1, "x", 0], [0.1, "x", None])


def test_hparams_are_sorted_by_name(tmp_path):
    names = [f"h{number}" for number in range(9)]
    write(tmp_path, values(hparams_start(dict.fromkeys(reversed(names), 1.0))))
    assert SummaryReader(tmp_path).tags["hparams"] == names


def test_only_the_damaged_record_is_lost(tmp_path):
    write_file(
        tmp_path / NAME, version(), scalar(step=0), corrupt(scalar(step=1), -1), scalar(step=2)
    )
    theirs, ours = (reader.scalars["step"].tolist() for reader in pair(tmp_path))
    assert (theirs, ours) == ([0], [0, 2])


def test_tag_that_is_not_utf8_is_shown_escaped(tmp_path):
    write(tmp_path, values(simple(b"caf\xe9", 1.0)))
    with pytest.raises(DecodeError):
        tbparse.SummaryReader(str(tmp_path))
    assert SummaryReader(tmp_path).tags["scalars"] == ["caf\\xe9"]


def test_broken_link_is_not_a_child(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="not found"):
        tbparse.SummaryReader(str(tmp_path))
    assert SummaryReader(tmp_path).children == {}


def test_path_of_a_file_can_be_a_pathlib_path(tmp_path):
    path: Path = write(tmp_path, scalars("loss", (0, 1.0)))
    assert SummaryReader(path).log_path == str(path)
    assert SummaryReader(path).scalars["value"].tolist() == [1.0]


def test_bins_count_values_on_their_left_edge():
    given = [0, 1, 5], [0.0, 1.0, 1.0], 0.0, 2.0, 2
    readers = (tbparse.SummaryReader, SummaryReader)
    theirs, ours = (reader.histogram_to_bins(*given) for reader in readers)
    assert (theirs, ours) == (([0.5, 1.5], [1.0, 0.0]), ([0.5, 1.5], [1.0, 5.0]))


def test_bins_around_a_negative_bound_increase():
    centers, bins = SummaryReader.histogram_to_bins([0, 4], [-12.0, -10.0], -11.0, -11.0, 2)
    assert centers == pytest.approx([-11.075, -11.025])
    assert sum(bins) == pytest.approx(4)


def test_wrong_histograms_raise_clear_errors():
    to_cdf = SummaryReader.histogram_to_cdf
    assert answer(to_cdf, [0, 1], [0, 1], [2, 1]) == (ValueError, "x must be increasing")
    unequal = answer(to_cdf, [1], [0, 1], [1, 2])
    assert unequal[1] == "expected as many counts as limits, got 1 and 2"
    error = answer(SummaryReader.histogram_to_bins, [1, 1], [0, 1])
    assert error == (ValueError, "expected 0 as the first count, got 1")


def test_every_difference_is_documented():
    document = (ROOT / "docs/guides/switch.md").read_text()
    own = set(re.findall(r"^def (test_\w+)", Path(__file__).read_text(), re.MULTILINE))
    missing = {name for name in own if f"| `{name}` |" not in document}
    assert missing == {"test_every_difference_is_documented"}
