"""`run[tag]` without scalars: the message names the method that reads the tag."""

import numpy as np
import pytest
from helpers.logs import scalars, values, write

import runfold as rf
from runfold._events.value_encoding import histogram_tensor, text
from runfold.errors import UnknownTag


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        (
            "val/error",
            "Tag 'val/error' in run 'a' contains histogram data, not scalars."
            " Use run.histograms('val/error').",
        ),
        (
            "note",
            "No tag 'note' in run 'a'. Did you mean 'note/text_summary' (text; use"
            " run.text('note/text_summary')) or 'notes'?",
        ),
        ("lss", "No tag 'lss' in run 'a'. Did you mean 'loss'?"),
        ("zzz", "No tag 'zzz' in run 'a'."),
    ],
)
def test_message_names_the_method_of_another_kind(tmp_path, tag, message):
    write(
        tmp_path / "a",
        scalars("loss", (0, 1.0)),
        scalars("notes", (0, 1.0)),
        values(histogram_tensor("val/error", [[0, 1, 2]]), text("note/text_summary", "hi")),
    )
    with pytest.raises(UnknownTag) as caught:
        rf.open(tmp_path)["a"][tag]
    assert str(caught.value) == message


@pytest.mark.parametrize("tag", ["ball", "ball_VERTEX"])
def test_a_mesh_is_found_by_its_name_and_by_its_stored_tag(tmp_path, tag):
    with rf.SummaryWriter(str(tmp_path / "a")) as writer:
        writer.add_mesh("ball", np.zeros((1, 3, 3), np.float32), global_step=0)
    run = rf.open(tmp_path)["a"]
    with pytest.raises(
        UnknownTag, match=r"contains mesh data, not scalars\. Use run\.meshes\('ball'"
    ):
        run[tag]
    assert len(run.meshes("ball")) == 1


def test_hparams_are_read_without_a_tag(tmp_path):
    with rf.SummaryWriter(str(tmp_path / "a")) as writer:
        writer.add_hparams({"lr": 0.1}, {"loss": 1.0})
    run = rf.open(tmp_path)["a"]
    with pytest.raises(UnknownTag, match=r"Use run\.hparams\(\)\.$"):
        run["_hparams_/session_start_info"]
