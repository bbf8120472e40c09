"""Values that cannot be logged: one warning, a count, and training continues."""

import os
import shutil
import warnings

import numpy as np
import pytest
from helpers.log_runs import logged

import runfold as rf
from runfold.errors import BadTag, CannotLog


class Broken:
    """A value that raises its own error."""

    def __array__(self, *args, **kwargs):
        raise RuntimeError("the device is gone")

    __float__ = __index__ = __array__


BAD_CALLS = {
    "add_scalar": lambda writer: writer.add_scalar("a", Broken(), 1),
    "add_scalars": lambda writer: writer.add_scalars("a", {"b": Broken()}, 1),
    "add_histogram": lambda writer: writer.add_histogram("a", Broken(), 1),
    "add_image": lambda writer: writer.add_image("a", Broken(), 1),
    "add_video": lambda writer: writer.add_video("a", np.zeros((2, 2)), 1),
    "add_audio": lambda writer: writer.add_audio(tag="a", snd_tensor=Broken()),
    "add_figure": lambda writer: writer.add_figure("a", object(), 1),
    "add_tensor": lambda writer: writer.add_tensor("a", Broken(), 1),
    "add_pr_curve": lambda writer: writer.add_pr_curve("a", Broken(), Broken(), 1),
    "add_mesh": lambda writer: writer.add_mesh("a", Broken()),
    "step": lambda writer: writer.add_scalar("a", 1.0, float("nan")),
    "walltime": lambda writer: writer.add_scalar("a", 1.0, 1, Broken()),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_a_failed_call_warns_once_and_is_counted(tmp_path, name):
    with rf.SummaryWriter(tmp_path) as writer:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(3):
                BAD_CALLS[name](writer)
        writer.add_scalar("loss", 0.5, 1)
        assert writer.skipped in ({"a": 3}, {"a/b": 3})
    assert len(caught) == 1
    assert "Nothing was logged by this call" in str(caught[0].message)
    assert caught[0].filename == __file__
    assert logged(tmp_path) == {1: 0.5}
    with rf.SummaryWriter(tmp_path / "strict", on_error="raise") as strict:
        with pytest.raises(Exception, match=r"\S"):
            BAD_CALLS[name](strict)
        assert strict.skipped == {}


@pytest.mark.parametrize(
    "call",
    [
        lambda writer: writer.add_hparams("lr=0.1", {}),
        lambda writer: writer.add_custom_scalars({"a": 1}),
        lambda writer: writer.add_custom_scalars_multilinechart([1]),
        lambda writer: writer.add_embedding(Broken()),
        lambda writer: writer.add_graph(object()),
        lambda writer: writer.add_onnx_graph("missing.onnx"),
        lambda writer: writer.log([1.0], 1),
        lambda writer: writer.file_writer.add_summary("text"),
    ],
)
def test_a_failed_call_without_a_tag_warns_once_and_is_counted(tmp_path, call):
    with rf.SummaryWriter(tmp_path) as writer:
        with pytest.warns(UserWarning, match="Nothing was logged by this call"):
            call(writer)
        assert sum(writer.skipped.values()) == 1


def test_one_bad_value_does_not_affect_the_others(tmp_path):
    with rf.SummaryWriter(tmp_path) as writer:
        with pytest.warns(UserWarning, match="Tag 'b'"):
            writer.log({"a": 1.0, "b": object(), "c": 3.0}, 1)
        with pytest.warns(UserWarning, match="Tag 'm/b'"):
            writer.add_scalars("m", {"a": 1.0, "b": object()}, 1)
        assert writer.skipped == {"b": 1, "m/b": 1}
    assert sorted(rf.open(tmp_path).scalars()["tag"]) == ["a", "c", "m/a"]


def test_the_number_of_warnings_is_limited(tmp_path):
    with (
        rf.SummaryWriter(tmp_path) as writer,
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        for number in range(100):
            writer.add_scalar(f"tag-{number}", None, 1)
        assert sum(writer.skipped.values()) == 100
    assert len(caught) == 20


def test_a_call_with_wrong_arguments_still_raises(tmp_path):
    with rf.SummaryWriter(tmp_path) as writer:
        for call in (
            lambda: writer.add_scalar(),  # type: ignore[call-arg]
            lambda: writer.add_image(img_tensor=np.zeros((3, 2, 2))),  # type: ignore[call-arg]
            lambda: writer.add_histogram("a", [1.0], 1, color="red"),  # type: ignore[call-arg]
        ):
            with pytest.raises(TypeError):
                call()
        for tag in (None, 3, ["loss"]):
            with pytest.raises(BadTag):
                writer.add_scalar(tag, 1.0, 1)
            with pytest.raises(BadTag):
                writer.add_image(tag, np.zeros((3, 2, 2)), 1)
        assert writer.skipped == {}


def test_a_folder_that_cannot_be_written_to_raises_before_training(tmp_path):
    (tmp_path / "run").write_text("in the way")
    with pytest.raises(FileExistsError):
        rf.SummaryWriter(tmp_path / "run")
    with pytest.raises(NotADirectoryError):
        rf.track(tmp_path / "run" / "a", system=False, code=False).log({"a": 1.0}, 1)
    with pytest.warns(UserWarning, match="Nothing is logged until the file can be created"):
        rf.SummaryWriter(tmp_path / "run", on_error="warn")


@pytest.mark.fault(77)
def test_a_disk_that_fails_during_training_only_warns(tmp_path):
    folder = tmp_path / "run"
    writer = rf.SummaryWriter(folder)
    shutil.rmtree(folder)
    writer.add_scalar("loss", 1.0, 1)
    with pytest.warns(UserWarning, match="event file was deleted"):
        writer.flush()
    writer.add_scalar("loss", 1.0, 2)
    writer.close()
    assert list(logged(folder)) == [2]
    shutil.rmtree(folder)
    folder.write_text("in the way")
    with pytest.warns(UserWarning, match="Nothing is logged until the file can be created"):
        writer.add_scalar("loss", 1.0, 3)
    os.unlink(folder)
    writer.add_scalar("loss", 1.0, 4)
    writer.close()
    assert list(logged(folder)) == [4]


def test_with_on_error_raise_either_all_values_are_logged_or_none(tmp_path):
    with rf.SummaryWriter(tmp_path, on_error="raise") as writer:
        with pytest.raises(CannotLog, match="Tag 'b'"):
            writer.log({"a": 1.0, "b": object()}, 1)
        writer.add_scalar("loss", 0.5, 1)
    assert list(rf.open(tmp_path)["."]) == ["loss"]
