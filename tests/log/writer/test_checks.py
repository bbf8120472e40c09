"""Checks of a single point: which numbers, tags, steps and times are accepted."""

import math
import time
import warnings
from decimal import Decimal
from enum import Enum
from fractions import Fraction

import numpy as np
import pytest
import torch
from helpers.log_runs import logged, problems

import runfold as rf
from runfold._log.writer.event_writer import EventWriter
from runfold.errors import BadTag, CannotLog


@pytest.mark.parametrize(
    "value",
    [
        Decimal("1.5"),
        Fraction(3, 2),
        "1.5",
        b" 1.5 ",
        np.array(["1.5"]),
        np.array(Decimal("1.5"), object),
        [torch.tensor([1.5], requires_grad=True)],
        iter([1.5]),
        torch.tensor(1.5, requires_grad=True),
        torch.tensor([1.5], dtype=torch.bfloat16, requires_grad=True),
        torch.tensor(1.5, dtype=torch.float8_e4m3fn),
    ],
)
def test_numbers_of_other_types_are_accepted(tmp_path, value):
    with EventWriter(tmp_path) as writer:
        writer.add_scalar("loss", value, torch.tensor(3))
    assert logged(tmp_path) == {3: 1.5}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "it is not a number"),
        ("half", "it is not a number"),
        (np.array(None), "it is not a number"),
        ([1.0, 2.0], "it contains 2 numbers; expected one"),
        (np.empty(0), "it contains 0 numbers; expected one"),
        (10**400, "it is too large for a float64"),
        (1j, "it is a complex number"),
        (np.timedelta64(5, "s"), "it is a time, not a number"),
        ({"a": 1.0}, "it does not contain numbers"),
        (object(), "it does not contain numbers"),
    ],
)
def test_an_invalid_number_raises_with_tag_and_argument(tmp_path, value, reason):
    with EventWriter(tmp_path) as writer:
        writer.add_scalar("loss", 1.0, 1)
        with pytest.raises(CannotLog) as caught:
            writer.add_scalar("loss", value, 2)
        assert str(caught.value).startswith("Tag 'loss': scalar_value cannot be ")
        assert reason in str(caught.value)
    assert logged(tmp_path) == {1: 1.0}


def test_nan_is_logged_with_one_warning_per_tag(tmp_path):
    with EventWriter(tmp_path) as writer:
        with pytest.warns(UserWarning, match="Tag 'loss' is NaN at step 3"):
            writer.add_scalar("loss", float("nan"), 3)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            writer.add_scalar("loss", float("nan"), 4)
            writer.add_scalar("loss", float("inf"), 5)
    assert list(logged(tmp_path)) == [3, 4, 5]


def test_a_lone_surrogate_in_a_tag_is_escaped(tmp_path):
    with EventWriter(tmp_path) as writer:
        writer.add_scalar("a\ud800", 1.0, 1)
        writer.log({"loss": 1.0, "b\udcff": 1.0}, 1)
    assert rf.open(tmp_path).tags == {"scalar": ["a\\ud800", "loss", "b\\udcff"]}


class Tag(str, Enum):  # noqa: UP042 - its str() is another text
    LOSS = "loss"


@pytest.mark.parametrize("tag", [b"loss", np.str_("loss"), Tag.LOSS])
def test_a_tag_can_be_bytes_or_a_str_subclass(tmp_path, tag):
    with rf.SummaryWriter(tmp_path) as writer:
        writer.add_scalar(tag, 1.0, 1)
        writer.add_text(tag, "text", 1)
    assert rf.open(tmp_path).tags == {"scalar": ["loss"], "text": ["loss/text_summary"]}


@pytest.mark.parametrize("tag", [None, 5, ["loss"], object()])
def test_a_tag_that_is_not_a_str_raises_a_type_error(tmp_path, tag):
    with rf.SummaryWriter(tmp_path) as writer:
        for call in (
            lambda: writer.add_scalar(tag, 1.0, 1),
            lambda: writer.add_scalars(tag, {"a": 1.0}, 1),
            lambda: writer.add_text(tag, "text", 1),
            lambda: writer.add_histogram(tag, [1.0], 1),
        ):
            with pytest.raises(BadTag, match="tag cannot be"):
                call()
    assert list(rf.open(tmp_path)["."]) == []


@pytest.mark.parametrize("step", [0, -1, 2**63 - 1, -(2**63), np.int64(7), 3.0, None])
def test_any_step_of_64_bits_is_kept(tmp_path, step):
    with EventWriter(tmp_path) as writer:
        writer.add_scalar("loss", 1.0, step)
    assert list(logged(tmp_path)) == [0 if step is None else int(step)]


@pytest.mark.parametrize(
    ("step", "stored"), [(3.7, 3), (-3.7, -3), (Decimal("3.7"), 3), (torch.tensor([3.7]), 3)]
)
def test_a_fractional_step_is_truncated_with_one_warning_per_writer(tmp_path, step, stored):
    for name in ("one", "two"):
        with rf.SummaryWriter(tmp_path / name) as writer:
            with pytest.warns(
                UserWarning, match=f"is not a whole number. It was logged as {stored}"
            ):
                writer.add_scalar("loss", 1.0, step)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                writer.add_scalar("other", 1.0, step)
                writer.add_text("text", "text", 4.5)
        assert list(logged(tmp_path / name)) == [stored]


@pytest.mark.parametrize("step", ["5", b"5", " 5 ", "5.0", np.array("5"), [5], torch.tensor([5])])
def test_a_step_of_another_type_is_accepted_without_a_warning(tmp_path, step):
    with EventWriter(tmp_path) as writer:
        writer.add_scalar("loss", 1.0, step)
    assert list(logged(tmp_path)) == [5]


def test_a_fractional_step_for_a_block_is_truncated(tmp_path):
    with rf.SummaryWriter(tmp_path) as writer, writer.use_metadata(global_step=3.7):
        writer.add_scalar("loss", 1.0)
    assert list(logged(tmp_path)) == [3]


@pytest.mark.parametrize("step", [2**63, -(2**63) - 1, 1e30, float("nan"), float("inf"), "one"])
def test_an_invalid_step_raises_with_tag_and_argument(tmp_path, step):
    with EventWriter(tmp_path) as writer:
        with pytest.raises(CannotLog) as caught:
            writer.add_scalar("loss", 1.0, step)
        assert "Tag 'loss': global_step cannot be" in str(caught.value)


@pytest.mark.parametrize("walltime", [float("nan"), -float("inf"), np.array(np.nan)])
def test_a_non_finite_time_becomes_the_current_time_with_a_warning(tmp_path, walltime):
    before = time.time()
    with (
        rf.SummaryWriter(tmp_path) as writer,
        pytest.warns(UserWarning, match="Tag 'loss': walltime is .* the current time was logged"),
    ):
        writer.add_scalar("loss", 1.0, 1, walltime)
    (found,) = rf.open(tmp_path)["."]["loss"].wall_times
    assert before <= found <= time.time()


@pytest.mark.parametrize("walltime", ["now", [1.0, 2.0], np.datetime64("2020-01-01")])
def test_an_invalid_time_raises_with_tag_and_argument(tmp_path, walltime):
    with rf.SummaryWriter(tmp_path, on_error="raise") as writer:
        for call in (
            lambda: writer.add_scalar("loss", 1.0, 1, walltime),
            lambda: writer.add_text("loss", "text", 1, walltime),
            lambda: writer.add_scalar_series("loss", [1, 2], [1.0, 2.0], [1.0, math.nan]),
        ):
            with pytest.raises(CannotLog, match=r"Tag 'loss': wall_?times? cannot be"):
                call()
        with pytest.raises(CannotLog), writer.use_metadata(walltime=walltime):
            pass
    assert list(rf.open(tmp_path)["."]) == []
    assert problems(tmp_path) == []


@pytest.mark.parametrize("step", [1.5, "one", 2**63, float("nan")])
def test_an_invalid_purge_step_raises_before_a_file_is_created(tmp_path, step):
    with pytest.raises(CannotLog, match=r"^purge_step cannot be"):
        rf.SummaryWriter(tmp_path / "run", purge_step=step)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("global_step", lambda writer: writer.use_metadata(global_step="one").__enter__()),
        ("walltime", lambda writer: writer.use_metadata(walltime="now").__enter__()),
        ("walltime", lambda writer: writer.log({}, 1, "now")),
        ("values", lambda writer: writer.log([1.0], 1)),
        ("hparam_dict", lambda writer: writer.add_hparams([1.0])),
        ("metric_dict", lambda writer: writer.add_hparams({}, [1.0])),
        ("global_step", lambda writer: writer.add_hparams({}, {"loss": 1.0}, global_step="one")),
    ],
)
def test_the_error_of_a_call_without_a_tag_names_only_the_argument(tmp_path, argument, call):
    with rf.SummaryWriter(tmp_path, on_error="raise") as writer, pytest.raises(CannotLog) as caught:
        call(writer)
    assert str(caught.value).startswith(f"{argument} cannot be ")
