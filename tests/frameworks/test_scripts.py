"""Scripts that use the writer directly, run with Runfold's writer."""

import json

from differences import (
    first_trial_in_the_run,
    scalars_in_the_run,
    steps_only,
    trial_folders,
)
from google.protobuf import text_format
from readings import decode_image, list_differences
from tensorboard.plugins.mesh import plugin_data_pb2
from tensorboard.plugins.projector import projector_config_pb2
from trials import list_trials


def test_cleanrl_script_logs_the_same_with_both_writers(train):
    pair = train("cleanrl_script")
    expected = steps_only(pair.original.logs, "charts/SPS")
    assert list_differences(steps_only(pair.swapped.logs, "charts/SPS"), expected) == []


def test_ray_style_hparams_are_in_the_same_run(train):
    pair = train("ray_style")
    assert list_differences(pair.swapped.logs, pair.original.logs) == []
    trials = list_trials(pair.swapped.folder)
    assert trials == list_trials(pair.original.folder)
    assert [hparams["is_wide"] for hparams, _, _ in trials] == [True]


def test_hparams_written_through_file_writers_are_the_same_with_both_writers(train):
    pair = train("hparams_idioms")
    assert list_differences(pair.swapped.logs, pair.original.logs) == []
    trials = list_trials(pair.swapped.folder)
    assert trials == list_trials(pair.original.folder)
    assert [hparams["lr"] for hparams, _, _ in trials] == [0.1, 0.1]


def test_torch_monitor_logs_the_same_with_both_writers(train):
    pair = train("torch_monitor")
    assert list_differences(pair.swapped.logs, pair.original.logs) == []
    assert ("scalar", "loss.mean") in pair.swapped.logs["logs"]


def test_tour_of_tensorboardx_logs_the_same_with_both_writers(train):
    pair = train("tensorboardx_demo")
    original, swapped = pair.original.logs["logs/demo"], pair.swapped.logs["logs/demo"]
    # Runfold draws boxes with a different line width, and also stores them as numbers.
    pictures, drawn = swapped.pop(("image", "boxes")), original.pop(("image", "boxes"))
    assert [step for step, _ in pictures] == [step for step, _ in drawn] == [0, 10]
    assert swapped.pop(("metadata", "runfold/boxes/boxes"))["plugin"] == "runfold_boxes"
    for _, (description, _) in swapped.pop(("tensor", "runfold/boxes/boxes")):
        assert json.loads(description)["boxes"] == [[2, 2, 8, 8]]
    # Runfold's tags for the parts of a mesh end with torch's names; tensorboardX uses numbers.
    original["tensor", "mesh_VERTEX"] = original.pop(("tensor", "mesh_1"))
    content = swapped.pop(("metadata", "mesh_VERTEX"))["content"]
    assert plugin_data_pb2.MeshPluginData.FromString(content).name == "mesh"
    del original["metadata", "mesh_1"]
    assert list_differences(pair.swapped.logs, pair.original.logs) == []
    assert read_embedding(pair.swapped.folder) == read_embedding(pair.original.folder)


def test_examples_of_torch_log_the_same_with_both_writers(train):
    pair = train("torch_documented")
    expected = scalars_in_the_run(
        pair.original.logs, "logs/scalars", {"run_14h": ["xsinx", "xcosx", "tanx"]}
    )
    expected = first_trial_in_the_run(expected, "logs/hparams")
    assert list_differences(without_trials(pair.swapped.logs), without_trials(expected)) == []
    # Later trials have their own folders, named differently from torch's. The list of metrics
    # is in the run above them, because TensorBoard uses the first list that it finds.
    later = trials_below(expected)
    for trial in later:
        del trial["metadata", "_hparams_/experiment"]
    assert trials_below(pair.swapped.logs) == later
    trials = list_trials(pair.swapped.folder)
    assert trials == list_trials(pair.original.folder)
    assert len(trials) == 5


def without_trials(logs):
    return {run: logs[run] for run in set(logs) - set(trial_folders(logs, "logs/hparams"))}


def trials_below(logs):
    return [logs[run] for run in trial_folders(logs, "logs/hparams")]


def read_embedding(folder):
    files = folder / "logs/demo/00001/points"
    text = (folder / "logs/demo/projector_config.pbtxt").read_text()
    return (
        (files / "tensors.tsv").read_text(),
        (files / "metadata.tsv").read_text(),
        decode_image((files / "sprite.png").read_bytes()),
        text_format.Parse(text, projector_config_pb2.ProjectorConfig()),
    )
