"""Runfold's writer accepts every call that torch's and tensorboardX's writers accept."""

import inspect
from importlib import import_module
from inspect import Parameter
from pkgutil import iter_modules

import pytest
import tensorboardX
import torch.utils.tensorboard
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import runfold as rf
from runfold._log import summary

PEERS = {
    "torch": torch.utils.tensorboard.SummaryWriter,
    "tensorboardX": tensorboardX.SummaryWriter,
}
# By method, tensorboardX's first argument in a position that torch uses for a different one. The
# type shows which one was passed: see below, and the tests of boxes and hparams.
CLASHES = {
    "add_scalar": "display_name",
    "add_hparams": "name",
    "add_image_with_boxes": "dataformats",
}
# tensorboardX's names for arguments in the same position.
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
    """Return the named parameters of a method."""
    found = inspect.signature(getattr(writer, name)).parameters.values()
    return {
        parameter.name: parameter
        for parameter in found
        if parameter.kind is not Parameter.VAR_KEYWORD
    }


def positions(writer, name):
    found = parameters(writer, name).values()
    return [
        parameter.name for parameter in found if parameter.kind is Parameter.POSITIONAL_OR_KEYWORD
    ]


def test_every_function_that_adds_data_is_a_method():
    modules = [
        import_module(f"{summary.__name__}.{module.name}")
        for module in iter_modules(summary.__path__)
        if module.name.startswith("add_")
    ]
    functions = {
        name: function
        for module in modules
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
    }
    del functions["read_scalars"]  # called by the property scalar_dict
    assert {name: getattr(rf.SummaryWriter, name, None) for name in functions} == functions


@pytest.mark.parametrize(("peer", "name"), METHODS)
def test_every_argument_has_the_same_name_and_default(peer, name):
    ours, theirs = parameters(rf.SummaryWriter, name), parameters(PEERS[peer], name)
    for argument, parameter in theirs.items():
        if parameter.default is Parameter.empty or argument == "comet_config":
            assert argument in ours
        else:
            assert ours[argument].default == parameter.default


@pytest.mark.parametrize(("peer", "name"), METHODS)
def test_every_argument_has_the_same_position_or_torchs_position_in_a_clash(peer, name):
    theirs = positions(PEERS[peer], name)
    if peer == "tensorboardX":
        if name in CLASHES:
            del theirs[theirs.index(CLASHES[name]) :]
        renamed = RENAMED.get(name, {})
        theirs = [renamed.get(argument, argument) for argument in theirs]
    assert positions(rf.SummaryWriter, name)[: len(theirs)] == theirs


@pytest.mark.parametrize(("peer", "name"), METHODS)
def test_required_arguments_are_the_same(peer, name):
    ours, theirs = parameters(rf.SummaryWriter, name), parameters(PEERS[peer], name)
    needed = {parameter for parameter in theirs if theirs[parameter].default is Parameter.empty}
    # A run can name its metrics later, and either name of the ONNX file is enough.
    needed -= {"metric_dict", "prototxt", "onnx_model_file"}
    assert needed == {parameter for parameter in ours if ours[parameter].default is Parameter.empty}


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
def test_options_that_would_send_data_elsewhere_cause_a_warning(
    tmp_path, recwarn, options, ignored
):
    rf.SummaryWriter(logdir=tmp_path, **options).close()
    messages = [str(warning.message) for warning in recwarn]
    assert messages == ([f"SummaryWriter ignores {ignored}."] if ignored else [])


def test_log_dir_and_logdir_together_raise(tmp_path):
    with pytest.raises(TypeError, match="are the same argument"):
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
def test_strings_in_the_position_of_torchs_flags_are_name_and_description(tmp_path, rest, texts):
    with rf.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", 1.5, 3, 4.0, *rest)
    log = EventAccumulator(str(tmp_path)).Reload()
    assert [(event.step, event.value) for event in log.Scalars("loss")] == [(3, 1.5)]
    found = {
        tag: (metadata.display_name, metadata.summary_description)
        for tag, metadata in log.summary_metadata.items()
    }
    assert found == ({} if texts is None else {"loss": texts})


def test_add_onnx_graph_requires_one_of_its_arguments(tmp_path):
    with (
        rf.SummaryWriter(tmp_path, on_error="raise") as writer,
        pytest.raises(TypeError, match="path of an ONNX"),
    ):
        writer.add_onnx_graph()


# Public names of Runfold's writer that neither peer has.
OWN = {
    *("add_scalar_dict", "add_scalar_series", "add_value", "log", "clean_tags", "folder"),
    *("is_closed", "is_silent", "last_step", "path", "skipped"),
}


def test_dir_lists_the_public_methods(tmp_path):
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


def test_a_subclass_can_use_common_names(tmp_path):
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
