"""Runfold's EventAccumulator has the same names, arguments and errors as TensorBoard's."""

import inspect
import subprocess
import sys

import pytest
from helpers.accumulators import answer, pair, plain
from helpers.faultfiles import points, version, write
from tensorboard.backend.event_processing import event_accumulator as original
from tensorboard.backend.event_processing import event_multiplexer

from runfold.compat.tensorboard import EventAccumulator, EventMultiplexer, event_accumulator

NAME = "events.out.tfevents.17"


@pytest.mark.parametrize("path", ["", "gone", f"gone/{NAME}", "plain.txt"])
def test_missing_path_raises_the_same_error(path, tmp_path):
    (tmp_path / "plain.txt").touch()
    errors = []
    for cls in (original.EventAccumulator, EventAccumulator):
        try:
            accumulator = cls(path and str(tmp_path / path))
            errors.append(plain(accumulator.Reload().Tags()))
        except Exception as error:
            # TensorBoard's messages show a file's path as bytes.
            errors.append((type(error), str(error).replace("b'", "").replace("'", "")))
    assert errors[0] == errors[1]


def test_plugin_files_are_read_from_the_run_folder(tmp_path):
    write(tmp_path / "plugins" / "projector" / "labels.tsv", b"one")
    write(tmp_path / NAME, version())
    for accumulator in pair(tmp_path):
        assert accumulator.PluginAssets("projector") == ["labels.tsv"]
        assert accumulator.PluginAssets("none") == []
        assert accumulator.RetrievePluginAsset("projector", "labels.tsv") == "one"
        with pytest.raises(KeyError, match="not found"):
            accumulator.RetrievePluginAsset("projector", "none")


def test_unknown_tag_lists_close_matches(tmp_path):
    write(tmp_path / NAME, version(), points(0))
    with pytest.raises(KeyError, match=r"Key los was not found in Reservoir\. Did you mean 'loss'"):
        EventAccumulator(str(tmp_path)).Reload().Scalars("los")


def test_negative_size_raises_the_same_error(tmp_path):
    assert answer(EventAccumulator, str(tmp_path), {"scalars": -1}) == answer(
        original.EventAccumulator, str(tmp_path), {"scalars": -1}
    )


def test_module_has_every_public_name_of_the_original():
    others = {"EventAccumulator", "SUMMARY_TYPES", "Optional", "Sequence", "Tuple"}
    for name in {name for name in vars(original) if name[0].isupper()} - others:
        assert getattr(event_accumulator, name) == getattr(original, name)
    assert set(event_accumulator.__all__) <= {*vars(original)}
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = event_accumulator.Nothing


@pytest.mark.parametrize(
    ("own", "other"),
    [
        (EventAccumulator, original.EventAccumulator),
        (EventMultiplexer, event_multiplexer.EventMultiplexer),
    ],
)
def test_methods_have_the_same_signatures_as_the_original(own, other):
    for name, method in inspect.getmembers(other, inspect.isfunction):
        if not name.startswith("_") or name == "__init__":
            ours = inspect.signature(getattr(own, name)).parameters.values()
            theirs = inspect.signature(method).parameters.values()
            assert [(argument.name, argument.default, argument.kind) for argument in ours] == [
                (argument.name, argument.default, argument.kind) for argument in theirs
            ]


def test_kinds_are_also_attributes(tmp_path):
    write(tmp_path / NAME, version(), points(0, 1))
    for accumulator in pair(tmp_path, {"scalars": 1}):
        accumulator.Reload()
        assert accumulator.scalars.Keys() == ["loss"]
        assert accumulator.scalars.Items("loss") == accumulator.Scalars("loss")
        assert accumulator.scalars.size == 1
        assert accumulator.compressed_histograms.always_keep_last is False
        assert all(getattr(accumulator, name).Keys for name in accumulator.accumulated_attrs)


def test_tensorboard_is_imported_when_the_first_event_is_created(tmp_path):
    write(tmp_path / NAME, version(), points(0))
    code = (
        "import sys; from runfold.compat.tensorboard import EventAccumulator\n"
        f"accumulator = EventAccumulator({str(tmp_path)!r}).Reload()\n"
        "print(accumulator.Tags()['scalars'], 'tensorboard' in sys.modules)\n"
        "print(accumulator.Scalars('loss')[0].step, 'tensorboard' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["['loss'] False", "0 True"]
