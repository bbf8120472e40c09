"""The drop-in for tensorboardX's writers has the same tags and argument order."""

import inspect
import multiprocessing
import os
from inspect import Parameter

import numpy as np
import pytest
import tensorboardX
from helpers.kind_values import stored
from helpers.log_runs import logged
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from tensorboardX.summary import _clean_tag

import runfold as rf
from runfold._log.writer.convert import clean_tag
from runfold.compat.tensorboardX import GlobalSummaryWriter, SummaryWriter

ROW = [3, 2, 1]
CHW = np.zeros((3, 8, 8))
# Each call stores one value under its tag.
CALLS = {
    "scalar": lambda w, tag: w.add_scalar(tag, 1.0, 1),
    "scalar with texts": lambda w, tag: w.add_scalar(tag, 1.0, 1, 2.0, "name", "text"),
    "histogram": lambda w, tag: w.add_histogram(tag, ROW, 1),
    "raw histogram": lambda w, tag: w.add_histogram_raw(tag, 0, 1, 2, 1, 1, [1], [2], 1),
    "image": lambda w, tag: w.add_image(tag, CHW, 1),
    "images": lambda w, tag: w.add_images(tag, [CHW], 1, None, "CHW"),
    "boxes": lambda w, tag: w.add_image_with_boxes(tag, CHW, np.ones((1, 4)), 1, 2.0, "CHW", ["a"]),
    "figure": lambda w, tag: w.add_figure(tag, Figure(figsize=(1, 1), dpi=20), 1),
    "video": lambda w, tag: w.add_video(tag, np.zeros((1, 2, 3, 4, 4)), 1, 4, None, "NTCHW"),
    "text": lambda w, tag: w.add_text(tag, "text", 1),
    "pr curve": lambda w, tag: w.add_pr_curve(tag, np.ones(3), np.ones(3), 1),
    "raw pr curve": lambda w, tag: w.add_pr_curve_raw(tag, *[ROW] * 6, 1),
}
TAGS = ["train/loss", "y=2x+C", "/a b", "//损失 (ß)", "a\nb\tc", "é.-_/%"]


@given(st.text())
def test_tags_are_cleaned_as_in_tensorboardx(tag):
    assert clean_tag(tag) == _clean_tag(tag)


@pytest.mark.parametrize("kind", CALLS)
def test_every_method_stores_the_same_tag_as_tensorboardx(tmp_path, kind):
    for name, writer_class in {"x": tensorboardX.SummaryWriter, "ours": SummaryWriter}.items():
        with writer_class(str(tmp_path / name)) as writer:
            for tag in TAGS:
                CALLS[kind](writer, tag)
    own = "runfold/boxes/"  # only Runfold also stores the boxes as data
    ours = [tag for tag in stored(tmp_path / "ours") if not tag.startswith(own)]
    assert ours == list(stored(tmp_path / "x"))


def test_hparam_metrics_have_the_same_tags_as_in_tensorboardx(tmp_path):
    for name, writer_class in {"x": tensorboardX.SummaryWriter, "ours": SummaryWriter}.items():
        with writer_class(str(tmp_path / name)) as writer:
            writer.add_hparams({"lr": 0.1}, {"val loss": 0.5}, "trial", 3)
    ours, theirs = (rf.open(tmp_path / name) for name in ("ours", "x"))
    assert list(ours.scalars(tags="val*")["tag"]) == list(theirs.scalars(tags="val*")["tag"])
    # tensorboardX does not clean the metric's name, so TensorBoard shows no value for it.
    (experiment,) = stored(tmp_path / "ours")["_hparams_/experiment"]
    assert b"val_loss" in experiment
    assert b"val loss" not in experiment


def test_keys_and_batches_of_numbers_are_also_cleaned(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalars("a b", {"c d": 1.0}, 1)
        writer.add_scalars("a b", {"c d": 2.0}, 2)
        writer.log({"e f": 3.0, "e=f": 4.0}, 3)
        writer.add_scalar_series("g h", [1, 2], [1.0, 2.0])
    assert rf.open(tmp_path).tags["scalar"] == ["a_b/c_d", "e_f", "g_h"]
    assert logged(tmp_path, "a_b/c_d") == {1: 1.0, 2: 2.0}


def test_tags_are_unchanged_without_the_option(tmp_path):
    for name, options in {"plain": {}, "clean": {"clean_tags": True}}.items():
        with rf.SummaryWriter(tmp_path / name, **options) as writer:
            writer.add_scalar("y=2x+C", 1.0, 1)
            # The fast path does not check tags.
            assert writer._recorder.is_ready == (name == "plain")
            writer.add_scalar("y=2x+C", 2.0, 2)
    assert logged(tmp_path / "plain", "y=2x+C") == {1: 1.0, 2: 2.0}
    assert logged(tmp_path / "clean", "y_2x_C") == {1: 1.0, 2: 2.0}


def test_the_option_can_be_turned_off(tmp_path):
    with SummaryWriter(tmp_path, clean_tags=False) as writer:
        writer.add_scalar("y=2x+C", 1.0, 1)
    assert logged(tmp_path, "y=2x+C") == {1: 1.0}


def positional(method):
    """Return a method's positional arguments with their defaults."""
    return [
        (parameter.name, parameter.default)
        for parameter in inspect.signature(method).parameters.values()
        if parameter.kind is Parameter.POSITIONAL_OR_KEYWORD and parameter.name != "comet_config"
    ]


def is_public(name):
    return name in ("__init__", "__enter__", "__exit__") or not name.startswith("_")


@pytest.mark.parametrize("name", [*filter(is_public, dir(tensorboardX.SummaryWriter))])
def test_every_argument_has_the_same_position_and_default(name):
    theirs = positional(getattr(tensorboardX.SummaryWriter, name))
    ours = positional(getattr(SummaryWriter, name))
    if name == "__exit__":
        return
    if name == "add_hparams":  # a run can name its metrics later
        theirs[2] = ("metric_dict", None)
    assert ours[: len(theirs)] == theirs


def test_both_names_of_the_folder_are_accepted_and_the_first_wins(tmp_path):
    SummaryWriter(log_dir=str(tmp_path / "one")).close()
    SummaryWriter(str(tmp_path / "two"), log_dir=str(tmp_path / "three")).close()
    assert sorted(os.listdir(tmp_path)) == ["one", "two"]


def test_an_image_with_boxes_can_be_rescaled_and_accepts_options_by_name(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        box = np.array([[1, 1, 4, 4]])
        writer.add_image_with_boxes("p", CHW, box, 1, 2.0, "CHW", ["a"], rescale=2, colors="red")
    (row,) = rf.open(tmp_path).boxes().itertuples()
    assert (row.labels, row.colors, row.image.width) == (("a",), ("#ff0000",), 16)


def log_some(writer):
    for value in range(25):
        writer.add_scalar("a b", value)
    writer.add_text("text", "done")
    writer.add_image("image", CHW)
    writer.close()


def test_steps_of_a_global_writer_are_counted_across_processes(tmp_path):
    writer = GlobalSummaryWriter(str(tmp_path), coalesce_process=True)
    fork = multiprocessing.get_context("fork")
    processes = [fork.Process(target=log_some, args=(writer,)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    log_some(writer)
    runs = rf.open(tmp_path)
    series = runs["."]["a_b"]
    assert sorted(series.steps) == list(range(100))
    assert sorted(series.values) == sorted([*range(25)] * 4)
    assert sorted(runs.text()["step"]) == sorted(runs.images()["step"]) == [0, 1, 2, 3]


def test_all_modules_get_the_same_global_writer(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(GlobalSummaryWriter, "_shared", None)
    writer = GlobalSummaryWriter.getSummaryWriter()
    try:
        assert GlobalSummaryWriter.getSummaryWriter() is writer
        assert os.listdir("runs") == [os.path.basename(writer.smw.logdir)]
    finally:
        writer.close()
