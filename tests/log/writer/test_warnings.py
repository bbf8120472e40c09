"""Warnings point to a line in the program, not in Runfold."""

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
def test_a_warning_points_to_the_line_of_the_call(tmp_path, name):
    with rf.SummaryWriter(tmp_path) as writer, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CALLS[name](writer)
    assert [warning.filename for warning in caught] == [__file__]


def test_warnings_of_a_tracker_and_of_a_new_writer_point_to_the_program(tmp_path):
    (tmp_path / "file").touch()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with rf.track(tmp_path / "run", system=False, code=False) as run:
            run.add_scalar("a", NAN, 1)
        rf.SummaryWriter(tmp_path / "other", comet_config={"project_name": "p"}).close()
        rf.SummaryWriter(tmp_path / "file", on_error="warn").close()
    assert [warning.filename for warning in caught] == [__file__] * 3


def test_the_warning_about_an_existing_run_points_to_the_program(tmp_path):
    rf.SummaryWriter(tmp_path / "run").close()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with rf.track(tmp_path / "run", system=False, code=False):
            pass
        rf.track(tmp_path / "run", system=False, code=False).log({"a": 1.0}, 1)
    assert [warning.filename for warning in caught] == [__file__] * 2
