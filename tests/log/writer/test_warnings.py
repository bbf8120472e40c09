"""Warnings name the line of the program that they are about, not one of ours."""

import math
import warnings

import numpy as np
import pytest

import runfold as rf

NAN = math.nan
CALLS = {
    "add_scalar": lambda writer: writer.add_scalar("a", NAN, 1),
    "log": lambda writer: writer.log({"a": NAN}, 1),
    "add_scalars": lambda writer: writer.add_scalars("a", {"b": NAN}, 1),
    "add_histogram": lambda writer: writer.add_histogram("a", [NAN, 1.0]),
    "add_pr_curve": lambda writer: writer.add_pr_curve("a", [0, 1], [0.5, 1.5]),
    "add_image": lambda writer: writer.add_image("a", np.full((2, 2), NAN), dataformats="HW"),
    "add_audio": lambda writer: writer.add_audio("a", [NAN, 1.0]),
    "add_hparams": lambda writer: (writer.add_hparams({"a": 1}), writer.add_hparams({"b": 2})),
    "add_embedding": lambda writer: writer.add_embedding(
        np.ones((1, 2)), label_img=np.zeros((1, 3, 1, 8193), np.uint8)
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_warning_of_a_call_names_its_line(tmp_path, name):
    with rf.SummaryWriter(tmp_path) as writer, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        CALLS[name](writer)
    assert [one.filename for one in told] == [__file__]


def test_so_does_one_of_a_tracker_and_of_a_new_writer(tmp_path):
    (tmp_path / "file").touch()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with rf.track(tmp_path / "run", system=False, code=False) as run:
            run.add_scalar("a", NAN, 1)
        rf.SummaryWriter(tmp_path / "other", comet_config={"project_name": "p"}).close()
        rf.SummaryWriter(tmp_path / "file", on_error="warn").close()
    assert [one.filename for one in told] == [__file__] * 3


def test_so_does_one_that_the_folder_is_taken(tmp_path):
    rf.SummaryWriter(tmp_path / "run").close()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with rf.track(tmp_path / "run", system=False, code=False):
            pass
        rf.track(tmp_path / "run", system=False, code=False).log({"a": 1.0}, 1)
    assert [one.filename for one in told] == [__file__] * 2
