"""Every call that torch's and tensorboardX's writers take, Runfold's takes as well."""

import inspect
from inspect import Parameter

import pytest
import tensorboardX
import torch.utils.tensorboard
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import runfold as rf

PEERS = {
    "torch": torch.utils.tensorboard.SummaryWriter,
    "tensorboardX": tensorboardX.SummaryWriter,
}
# The first arguments of tensorboardX in whose places torch has others. Which of the two
# is meant shows in the type: see below, and the tests of boxes and of hparams.
CLASHES = {
    "add_scalar": "display_name",
    "add_hparams": "name",
    "add_image_with_boxes": "dataformats",
}
# tensorboardX's names of what stands in the same places.
RENAMED = {
    "__init__": {"logdir": "log_dir", "log_dir": "logdir"},
    "add_onnx_graph": {"onnx_model_file": "prototxt"},
}
METHODS = [
    (peer, name)
    for peer, writer in PEERS.items()
    for name in dir(writer)
    if name in ("__init__", "__enter__") or not name.startswith("_")
]


def parameters(writer, name):
    """The parameters of a method that have names."""
    found = inspect.signature(getattr(writer, name)).parameters.values()
    return {one.name: one for one in found if one.kind is not Parameter.VAR_KEYWORD}


def places(writer, name):
    found = parameters(writer, name).values()
    return [one.name for one in found if one.kind is Parameter.POSITIONAL_OR_KEYWORD]


@pytest.mark.parametrize(("peer", "name"), METHODS)
def test_every_argument_has_its_name_and_its_default(peer, name):
    ours, theirs = parameters(rf.SummaryWriter, name), parameters(PEERS[peer], name)
    for argument, parameter in theirs.items():
        if parameter.default is Parameter.empty or argument == "comet_config":
            assert argument in ours
        else:
            assert ours[argument].default == parameter.default


@pytest.mark.parametrize(("peer", "name"), METHODS)
def test_every_argument_has_its_place_and_torchs_where_they_clash(peer, name):
    theirs = places(PEERS[peer], name)
    if peer == "tensorboardX":
        if name in CLASHES:
            del theirs[theirs.index(CLASHES[name]) :]
        renamed = RENAMED.get(name, {})
        theirs = [renamed.get(argument, argument) for argument in theirs]
    assert places(rf.SummaryWriter, name)[: len(theirs)] == theirs


@pytest.mark.parametrize(("peer", "name"), METHODS)
def test_what_the_peer_needs_is_needed(peer, name):
    ours, theirs = parameters(rf.SummaryWriter, name), parameters(PEERS[peer], name)
    needed = {one for one in theirs if theirs[one].default is Parameter.empty}
    # A run may name its metrics later; and one of two names is enough.
    needed -= {"metric_dict", "prototxt", "onnx_model_file"}
    assert needed == {one for one in ours if ours[one].default is Parameter.empty}


@pytest.mark.parametrize(
    ("options", "ignored"),
    [
        ({}, ""),
        ({"comet_config": {"disabled": True}}, ""),
        (
            {"comet_config": {"project_name": "p"}, "other": 1, "nothing": None},
            "comet_config, other",
        ),
    ],
)
def test_what_tensorboardx_would_send_elsewhere_is_told_of(tmp_path, recwarn, options, ignored):
    rf.SummaryWriter(logdir=tmp_path, **options).close()
    told = [str(one.message) for one in recwarn]
    assert told == ([f"SummaryWriter ignores {ignored}."] if ignored else [])


def test_both_names_of_the_folder_at_once_are_refused(tmp_path):
    with pytest.raises(TypeError, match="two names of one argument"):
        rf.SummaryWriter(tmp_path, logdir=tmp_path)


@pytest.mark.parametrize(
    ("rest", "texts"),
    [
        ((), None),
        (("name",), ("name", "")),
        (("name", "text"), ("name", "text")),
        (("", "text"), ("", "text")),
        (("", ""), None),
        ((False, False, "name", "text"), ("name", "text")),
    ],
)
def test_texts_in_the_places_of_torchs_flags_are_those_of_tensorboardx(tmp_path, rest, texts):
    with rf.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", 1.5, 3, 4.0, *rest)
    log = EventAccumulator(str(tmp_path)).Reload()
    assert [(one.step, one.value) for one in log.Scalars("loss")] == [(3, 1.5)]
    found = {
        tag: (one.display_name, one.summary_description)
        for tag, one in log.summary_metadata.items()
    }
    assert found == ({} if texts is None else {"loss": texts})


def test_a_graph_of_onnx_needs_one_of_its_names(tmp_path):
    with (
        rf.SummaryWriter(tmp_path, on_error="raise") as writer,
        pytest.raises(TypeError, match="path of an ONNX"),
    ):
        writer.add_onnx_graph()


# What Runfold's writer has beyond the public names of the two peers.
OWN = {
    *("add_scalar_dict", "add_scalar_series", "add_value", "log", "clean_tags", "folder"),
    *("is_closed", "is_silent", "last_step", "path", "skipped"),
}


def test_dir_lists_what_users_call(tmp_path):
    writers = [make(str(tmp_path / name)) for name, make in PEERS.items()]
    known = {name for writer in writers for name in dir(writer)}
    with rf.SummaryWriter(tmp_path / "ours") as writer:
        ours = {name for name in dir(writer) if not name.startswith("_")}
    for each in writers:
        each.close()
    assert ours - known == OWN
    with rf.track(tmp_path / "run", code=False, system=False) as run:
        more = {name for name in dir(run) if not name.startswith("_")} - ours
    assert more == {
        *("batch", "batch_count", "batches", "fail", "mark", "save", "should_stop", "storage"),
    }


def test_a_subclass_may_use_common_names(tmp_path):
    def taken(*_):
        raise AssertionError("this is the subclass's own")

    names = ("put", "end", "finish", "drain", "take", "events", "lock", "limit", "is_ready")
    kind = type("Mine", (rf.SummaryWriter,), dict.fromkeys(names, taken))
    with kind(tmp_path) as writer:
        writer.add_scalar("loss", 1.0, 1)
        writer.add_text("note", "text", 1)
        writer.flush()
        writer.add_hparams({"lr": 0.1}, {"accuracy": 1.0})
    assert rf.open(tmp_path)["."]["loss"].values.tolist() == [1.0]
