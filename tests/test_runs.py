"""The public interface: rf.open, Runs, Run and Series."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from helpers.logs import scalars, values, write

import runfold as rf
from runfold._core.encoder import EventBuffer
from runfold._events.value_encoding import histogram_tensor, metadata_only, text
from runfold.errors import BadLog, LogdirNotFound, UnknownRun, UnknownTag


@pytest.fixture
def logdir(tmp_path):
    """Return a logdir of two runs with two tags each."""
    for seed in (1, 2):
        points = [(step, seed / (step + 1)) for step in range(3)]
        write(tmp_path / f"seed-{seed}", scalars("train/loss", *points), scalars("lr", (0, 0.1)))
    return tmp_path


def damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def is_loaded(runs):
    return [log.is_loaded for log in runs._logdir.logs.values()]


def test_runs_are_read_on_first_use(logdir):
    runs = rf.open(logdir)
    assert list(runs) == ["seed-1", "seed-2"]
    assert len(runs) == 2
    assert "seed-1" in runs
    assert runs["seed-1"].name == "seed-1"
    assert runs["seed-1"].path == str(logdir / "seed-1")
    assert is_loaded(runs) == [False, False]
    assert runs["seed-1"]["lr"].values.tolist() == [0.1]
    assert is_loaded(runs) == [True, False]
    runs.scalars(runs="seed-2")
    assert is_loaded(runs) == [True, True]


def test_load_reads_everything_at_once(logdir):
    assert is_loaded(rf.open(logdir).load()) == [True, True]


def test_runs_are_a_mapping_of_names_to_runs(logdir):
    runs = rf.open(logdir)
    assert isinstance(runs, Mapping)
    assert [run.name for run in runs.values()] == list(runs.keys())
    assert dict(runs)["seed-2"] is runs["seed-2"]
    assert runs.get("seed-3") is None
    assert "seed-3" not in runs


def test_run_is_a_collection_of_series(logdir):
    write(logdir / "seed-1", values(text("note", "hi")), number=2)
    run = rf.open(logdir)["seed-1"]
    assert list(run) == ["train/loss", "lr"]
    assert len(run) == 2
    assert "lr" in run
    # Other kinds are listed in tags, but run[tag] returns only scalar series.
    assert "note" not in run
    assert run.tags == {"scalar": ["train/loss", "lr"], "text": ["note"]}
    assert run.points == 5


def test_series_has_steps_values_and_wall_times(logdir):
    series = rf.open(logdir)["seed-1"]["train/loss"]
    assert (series.run, series.tag, len(series), series.hidden) == ("seed-1", "train/loss", 3, 0)
    assert series.steps.tolist() == [0, 1, 2]
    assert series.values.tolist() == [1.0, 0.5, 1 / 3]
    assert series.wall_times.tolist() == [10.0, 11.0, 12.0]
    assert (series.steps.dtype, series.values.dtype) == (np.int64, np.float64)


def test_steps_and_values_are_exact(tmp_path):
    points = [(2**63 - 1, 0.1), (2**53 + 1, 1e-320), (-(2**63), float("-inf")), (-1, float("nan"))]
    write(tmp_path, scalars("x", *points))
    runs = rf.open(tmp_path)
    assert runs["."]["x"].steps.tolist() == [step for step, _ in points]
    np.testing.assert_array_equal(runs["."]["x"].values, [value for _, value in points])
    table = runs.scalars()
    assert table["step"].tolist() == [step for step, _ in points]
    wide = runs.scalars(wide=True)
    assert wide.index.get_level_values("step").tolist() == sorted(step for step, _ in points)


def test_unknown_names_list_similar_names(logdir):
    runs = rf.open(logdir)
    with pytest.raises(UnknownRun, match=r"No run 'sed-1'. Did you mean 'seed-1'"):
        runs["sed-1"]
    with pytest.raises(UnknownTag, match=r"No tag 'loss' in run 'seed-1'. Did you mean 'train/lo"):
        runs["seed-1"]["loss"]
    with pytest.raises(KeyError):
        runs["seed-1"]["loss"]


@pytest.mark.parametrize("name", [5, None, b"lr", ("lr",), ["lr"]])
def test_name_that_is_not_a_str_is_unknown(logdir, name):
    runs = rf.open(logdir)
    with pytest.raises(UnknownRun, match=r"Expected a run name \(str\)"):
        runs[name]
    with pytest.raises(UnknownTag, match=r"Expected a tag \(str\)"):
        runs["seed-1"][name]
    assert runs.get(name) is None


def test_filter_without_runs_applies_to_a_single_run(logdir):
    runs = rf.open(logdir)
    assert len(runs.scalars(runs=[])) == 0
    assert len(runs["seed-1"].scalars(runs=[])) == 0
    assert len(runs["seed-1"].scalars(runs="seed-*")) == 4


def test_list_of_paths_raises_with_a_hint(logdir):
    with pytest.raises(TypeError, match=r"rf\.open\(\*paths\)"):
        rf.open([logdir])


def test_tag_of_another_kind_is_explained(tmp_path):
    write(tmp_path, values(histogram_tensor("weights", [[0, 1, 2]])))
    with pytest.raises(UnknownTag) as caught:
        rf.open(tmp_path)["."]["weights"]
    assert str(caught.value) == (
        "Tag 'weights' in run '.' contains histogram data, not scalars."
        " Use run.histograms('weights')."
    )


def test_filter_by_a_tag_of_another_kind_names_the_missing_kind(tmp_path):
    write(tmp_path, values(text("note", "hi")), scalars("loss", (0, 1.0)))
    runs = rf.open(tmp_path)
    with pytest.raises(UnknownTag) as scalar:
        runs.scalars("note")
    assert str(scalar.value) == "No tag 'note' of kind scalar."
    with pytest.raises(UnknownTag) as image:
        runs.images("loss")
    assert str(image.value) == (
        "No tag 'loss' of kind image. There are no tags of kind image at all."
    )


def test_tags_of_all_runs_are_listed_once(logdir):
    write(logdir / "seed-3", values(text("note", "hi")))
    assert rf.open(logdir).tags == {"scalar": ["train/loss", "lr"], "text": ["note"]}


def test_one_file_one_run_a_glob_and_several_paths_can_be_opened(logdir):
    file = logdir / "seed-1" / "events.out.tfevents.1"
    for paths in ([logdir / "seed-1"], [str(file)], [logdir / "seed-*"], [logdir / "seed-1", file]):
        runs = rf.open(*paths)
        assert runs.scalars(tags="lr")["value"].tolist() == [0.1] * len(runs)
    assert len(rf.open(logdir / "seed-1", logdir / "seed-2")) == 2


def test_missing_path_raises_immediately(tmp_path):
    with pytest.raises(LogdirNotFound):
        rf.open(tmp_path / "missing")
    with pytest.raises(TypeError):
        rf.open()


def test_unknown_restart_policy_lists_the_known_ones(tmp_path):
    with pytest.raises(ValueError, match=r"'session', 'step', 'keep', not 'steps'.*'step'"):
        rf.open(tmp_path, restarts="steps")


def test_empty_logdir_has_no_runs_and_empty_tables(tmp_path):
    runs = rf.open(tmp_path)
    assert (len(runs), runs.tags, runs.hidden) == (0, {}, 0)
    for table in (
        runs.scalars(),
        runs.scalars(wide=True),
        runs.histograms(),
        runs.images(),
        runs.audio(),
        runs.text(),
        runs.tensors(),
        runs.pr_curves(),
        runs.meshes(),
        runs.graphs(),
        runs.run_metadata(),
        runs.embeddings(),
        runs.layouts(),
        runs.boxes(),
        runs.hparams(),
        runs.hparams(wide=True),
        runs.sessions(),
        runs.metrics(),
        runs.problems(),
    ):
        assert table.empty


def test_strict_raises_the_first_problem_on_every_access(logdir):
    damage(logdir / "seed-2" / "events.out.tfevents.1")
    runs = rf.open(logdir, strict=True)
    assert runs["seed-1"]["lr"].values.tolist() == [0.1]
    for _ in range(2):
        with pytest.raises(BadLog, match="bad payload checksum") as caught:
            runs.scalars()
        assert (caught.value.problem.run, caught.value.problem.offset > 0) == ("seed-2", True)
        with pytest.raises(BadLog):
            runs["seed-2"]["train/loss"]
        with pytest.raises(BadLog):
            runs["seed-2"].tags  # noqa: B018
    assert len(runs.scalars(runs="seed-1")) == 4


def test_problems_have_run_file_offset_and_message(logdir):
    file = logdir / "seed-2" / "events.out.tfevents.1"
    damage(file)
    runs = rf.open(logdir)
    (problem,) = runs.problems().to_dict("records")
    assert (problem["run"], problem["file"], problem["code"]) == (
        "seed-2",
        str(file),
        "bad-payload-checksum",
    )
    assert 0 < problem["offset"] < file.stat().st_size
    assert problem["message"].endswith("Skipped.")
    assert runs["seed-1"].problems().empty
    assert len(runs["seed-2"].problems()) == 1


def test_refresh_returns_changes_and_keeps_existing_arrays(logdir):
    runs = rf.open(logdir).load()
    before = runs["seed-1"]["lr"]
    assert not runs.refresh()
    more = EventBuffer()
    more.scalar_double("lr", 0.2, 1, 20.0)
    with (logdir / "seed-1" / "events.out.tfevents.1").open("ab") as file:
        file.write(more.getvalue())
    write(logdir / "seed-3", scalars("lr", (0, 0.3)))
    changes = runs.refresh()
    assert (changes.runs, changes.points) == (["seed-3"], 1)
    assert runs["seed-1"]["lr"].values.tolist() == [0.1, 0.2]
    assert before.values.tolist() == [0.1]
    assert runs["seed-3"]["lr"].values.tolist() == [0.3]


def test_restart_does_not_hide_graph_and_hparams(tmp_path):
    def restart(buffer: EventBuffer) -> None:
        buffer.graph(b"\x0a\x03\x0a\x01x", 10.0)
        buffer.run_metadata("step", b"", 5, 10.0)
        buffer.session_start(0, 20.0)

    hparams = metadata_only("_hparams_/session_start_info", "hparams", b"\x1a\x00")
    write(tmp_path, values(hparams, text("note", "hi")), restart)
    run = rf.open(tmp_path)["."]
    assert run.hidden == 1
    assert run.text().empty
    assert (len(run.graphs()), len(run.run_metadata()), len(run.sessions())) == (1, 1, 1)
