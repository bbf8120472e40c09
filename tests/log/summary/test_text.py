"""Text, stored as in torch."""

import pytest
from helpers.media import both

import runfold as rf
from runfold.errors import CannotLog


def test_text_is_stored_as_in_torch(tmp_path):
    write = lambda w: w.add_text("note", "# Größe\n`x`", 2, 3.0)  # noqa: E731
    ours, theirs = (log.Tensors("note/text_summary") for log in both(tmp_path, write))
    assert ours == theirs
    tags = [rf.open(tmp_path / name).text()["text"].tolist() for name in ("runfold", "torch")]
    assert tags == [["# Größe\n`x`"]] * 2


def test_other_types_raise_and_lone_surrogates_are_escaped(tmp_path):
    with rf.SummaryWriter(tmp_path, on_error="raise") as writer:
        for value in (b"bytes", None, 3, ["a"]):
            with pytest.raises(CannotLog, match=r"Tag 't': text_string cannot be.*a str"):
                writer.add_text("t", value)
        writer.add_text("t", "a\udcff")
    assert rf.open(tmp_path).text()["text"].tolist() == ["a\\udcff"]
