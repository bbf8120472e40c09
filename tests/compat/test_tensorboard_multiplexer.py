"""Runfold's and TensorBoard's EventMultiplexer return the same results for the same runs."""

import shutil

import pytest
from helpers import writers
from helpers.accumulators import answer, pair_of_multiplexers, read_answers
from helpers.faultfiles import append, points, restart, version, write

from runfold.compat.tensorboard import EventMultiplexer

NAME = "events.out.tfevents.17"


def read_all(multiplexer):
    """Read every run through its accumulator and through the multiplexer."""
    known = {"Runs": multiplexer.Runs(), "RunPaths": dict(multiplexer.RunPaths())}
    for run, tags in multiplexer.Runs().items():
        known[run] = read_answers(multiplexer.GetAccumulator(run))
        for kind, method in (
            ("scalars", "Scalars"),
            ("histograms", "Histograms"),
            ("distributions", "CompressedHistograms"),
            ("images", "Images"),
            ("audio", "Audio"),
            ("tensors", "Tensors"),
            ("tensors", "SummaryMetadata"),
            ("run_metadata", "RunMetadata"),
        ):
            for tag in [*tags[kind], "none"]:
                known[run, method, tag] = answer(getattr(multiplexer, method), run, tag)
        for method in ("Graph", "MetaGraph", "FirstEventTimestamp", "GetSourceWriter"):
            known[run, method] = answer(getattr(multiplexer, method), run)
    for plugin in ("text", "hparams", "none"):
        known["content", plugin] = multiplexer.PluginRunToTagToContent(plugin)
        known["assets", plugin] = multiplexer.PluginAssets(plugin)
    return known


@pytest.mark.parametrize("name", [None, "all"])
def test_folders_of_every_writer_give_the_same_results(name, tmp_path):
    for writer, write_log in writers.WRITERS.items():
        write_log(tmp_path / writer)
    known = []
    for multiplexer in pair_of_multiplexers():
        assert multiplexer.AddRunsFromDirectory(str(tmp_path), name).Reload() is multiplexer
        known.append(read_all(multiplexer))
    assert known[0] == known[1]
    assert len(known[1]["Runs"]) > len(writers.WRITERS)


def test_runs_are_added_and_removed_as_in_tensorboard(tmp_path):
    for run in ("a", "b/c"):
        write(tmp_path / run / NAME, version(), points(0, 1, 2))
    both = pair_of_multiplexers()

    def agree():
        return read_all(both[0]) == read_all(both[1])

    for multiplexer in both:
        multiplexer.AddRunsFromDirectory(str(tmp_path / "none"))
        multiplexer.AddRunsFromDirectory(str(tmp_path))
    assert both[0].Runs() == both[1].Runs()
    for multiplexer in both:
        multiplexer.Reload()
    assert agree()
    append(tmp_path / "a" / NAME, restart(1), points(1))
    write(tmp_path / "d" / NAME, version(), points(7))
    for multiplexer in both:
        multiplexer.AddRun(str(tmp_path / "d"), "new")
        multiplexer.Reload()
    assert agree()
    assert [event.step for event in both[1].Scalars("a", "loss")] == [0, 1]
    shutil.rmtree(tmp_path / "a")
    for multiplexer in both:
        multiplexer.Reload()
    assert agree()
    assert list(both[1].Runs()) == ["b/c", "new"]


def test_run_is_kept_for_the_same_path_and_replaced_for_a_different_one(tmp_path):
    for run in ("a", "b"):
        write(tmp_path / run / NAME, version(), points(0))
    multiplexer = EventMultiplexer({"run": str(tmp_path / "a")})
    first = multiplexer.GetAccumulator("run")
    multiplexer.AddRun(str(tmp_path / "a"), "run")
    assert multiplexer.GetAccumulator("run") is first
    multiplexer.AddRun(str(tmp_path / "b"), "run")
    assert multiplexer.GetAccumulator("run") is not first
    assert multiplexer.RunPaths() == {"run": str(tmp_path / "b")}
    multiplexer.AddRun(str(tmp_path / "a"))
    assert list(multiplexer.Runs()) == ["run", str(tmp_path / "a")]


def test_options_apply_to_every_run(tmp_path):
    write(tmp_path / "a" / NAME, version(), points(*range(20)), restart(10), points(*range(10, 15)))
    runs = {"a": str(tmp_path / "a")}
    assert len(EventMultiplexer(runs).Reload().Scalars("a", "loss")) == 15
    kept = EventMultiplexer(runs, {"scalars": 4}, purge_orphaned_data=False).Reload()
    assert [event.step for event in kept.Scalars("a", "loss")][-1] == 14
    assert len(kept.Scalars("a", "loss")) == 4
    whole = EventMultiplexer(runs, purge_orphaned_data=False).Reload()
    assert len(whole.Scalars("a", "loss")) == 25


def test_missing_runs_and_tags_raise_the_same_errors(tmp_path):
    file = write(tmp_path / NAME, version())
    refused = []
    for multiplexer in pair_of_multiplexers():
        refused.append(
            [
                answer(multiplexer.AddRunsFromDirectory, str(file)),
                answer(multiplexer.Scalars, "none", "loss"),
                answer(multiplexer.GetAccumulator, "none"),
            ]
        )
    assert refused[0] == refused[1]
    assert [error for error, _ in refused[1]] == [ValueError, KeyError, KeyError]


def test_graph_is_also_available_as_bytes(tmp_path):
    writers.torch(tmp_path)
    multiplexer = EventMultiplexer().AddRunsFromDirectory(str(tmp_path)).Reload()
    assert multiplexer.SerializedGraph(".") == multiplexer.Graph(".").SerializeToString()


def test_plugins_and_metadata_match_the_newer_multiplexer(tmp_path):
    from tensorboard.backend.event_processing.plugin_event_multiplexer import (
        EventMultiplexer as Newer,
    )

    for writer, write_log in writers.WRITERS.items():
        write_log(tmp_path / writer)
    own, newer = (
        cls().AddRunsFromDirectory(str(tmp_path)).Reload() for cls in (EventMultiplexer, Newer)
    )
    assert "hparams" in own.ActivePlugins() <= newer.ActivePlugins()
    expected = newer.AllSummaryMetadata()
    for run, metadata in own.AllSummaryMetadata().items():
        plugins = {tag: entry.plugin_data for tag, entry in expected[run].items()}
        found = {tag: entry.plugin_data for tag, entry in metadata.items()}
        assert found.items() <= plugins.items()
        assert own.GetAccumulator(run).AllSummaryMetadata() == metadata
