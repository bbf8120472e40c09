"""Experiments and trials: permanent ids, and lookup by id, name and prefix."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from helpers.cli_runs import losses, write

from runfold._conventions import HEARTBEAT
from runfold._experiments import index_places, open_experiments
from runfold._experiments.delete_experiment import delete_experiment
from runfold._story.side_files import write_aside
from runfold.errors import CannotEdit, LogdirNotFound, UnknownExperiment, UnknownTrial

NAMES = ("big/seed-1", "big/seed-2", "big/deep/x", "small/a b", "alone")


@pytest.fixture(autouse=True)
def _own_state(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    for name in NAMES:
        write(tmp_path / "runs" / name, losses(1.0))
    return tmp_path / "runs"


def ids(logdir: Path) -> tuple[dict[str, int], dict[str, int]]:
    experiments = open_experiments(logdir).all
    trials = {trial.name: trial.id for experiment in experiments for trial in experiment.trials}
    return {experiment.name: experiment.id for experiment in experiments}, trials


def test_top_level_folders_are_experiments_and_their_runs_are_trials(logdir):
    alone, big, small = open_experiments(logdir).all
    assert (alone.name, [trial.name for trial in alone.trials]) == ("alone", ["alone"])
    assert [trial.name for trial in big.trials] == ["big/deep/x", "big/seed-1", "big/seed-2"]
    assert all(trial.experiment == big.id for trial in big.trials)
    assert small.trials[0].path == str(logdir / "small" / "a b")


def test_ids_are_small_and_do_not_change(logdir):
    before = ids(logdir)
    assert sorted(before[0].values()) == [1, 2, 3]
    assert sorted(before[1].values()) == [1, 2, 3, 4, 5]
    shutil.rmtree(logdir / "small")
    write(logdir / "aaa" / "0", losses(1.0))
    write(logdir / "big" / "seed-0", losses(1.0))
    experiments, trials = ids(logdir)
    assert experiments == {"alone": 1, "big": 2, "aaa": 4}
    assert trials.pop("aaa/0") == 6
    assert trials.pop("big/seed-0") == 7
    assert trials.items() <= before[1].items()
    write(logdir / "small" / "a b", losses(1.0))
    assert ids(logdir)[0]["small"] == 3


def test_logdir_that_is_a_run_is_one_experiment(tmp_path):
    write(tmp_path, losses(1.0))
    (experiment,) = open_experiments(tmp_path).all
    assert (experiment.name, experiment.path, experiment.trials[0].name) == (
        ".",
        str(tmp_path),
        ".",
    )


@pytest.mark.parametrize("text", ["2", "big", "big/", "b"])
def test_experiment_is_found_by_id_name_and_prefix(logdir, text):
    assert open_experiments(logdir).find(text).name == "big"


def test_number_is_looked_up_as_an_id_before_a_name(logdir):
    write(logdir / "1" / "x", losses(1.0))
    write(logdir / "2024" / "x", losses(1.0))
    experiments = open_experiments(logdir)
    assert experiments.find("1").name == "1"  # in natural order it also has the id 1
    assert experiments.find("2024").name == "2024"
    assert experiments.find("2").name == "2024"


def test_unknown_experiment_lists_similar_ones(logdir):
    experiments = open_experiments(logdir)
    with pytest.raises(UnknownExperiment, match=r"No experiment 'bgi'\. Did you mean 'big'\?"):
        experiments.find("bgi")
    with pytest.raises(UnknownExperiment, match=r"Available: 1 \(alone\), 2 \(big\), 3 \(small\)"):
        experiments.find("7")
    with pytest.raises(UnknownTrial, match="Several trials start with 'big/seed': big/seed-1"):
        experiments.find_trial("big/seed")
    assert experiments.find_trial("big/d").name == "big/deep/x"


def test_labels_notes_and_the_archive_are_stored(logdir):
    experiments = open_experiments(logdir)
    experiments.label(experiments.find("big"), ["good", "x", "good"], [])
    experiments.label(experiments.find("big"), ["new"], ["x"])
    experiments.note(experiments.find("big"), "as in the paper\nwith ü")
    experiments.archive(experiments.find("small"))
    _, big, small = open_experiments(logdir).all
    assert (big.labels, big.note) == (("good", "new"), "as in the paper\nwith ü")
    assert small.is_archived
    assert not big.is_archived


@contextmanager
def read_only(logdir: Path) -> Iterator[None]:
    """Make the logdir and its `.runfold` read-only inside the block."""
    folders = [path for path in (logdir, logdir / ".runfold") if path.exists()]
    with pytest.MonkeyPatch.context() as patch:
        for folder in folders:
            folder.chmod(0o555)
        if os.access(logdir, os.W_OK):  # as root, for whom modes have no effect
            real = index_places._open_shared

            def refuse(logdir, is_written=False):
                if is_written:
                    raise PermissionError(13, "Permission denied", logdir)
                return real(logdir)

            patch.setattr(index_places, "_open_shared", refuse)
            patch.setattr(os, "access", lambda *_: False)
        try:
            yield
        finally:
            for folder in folders:
                folder.chmod(0o755)


def test_read_only_logdir_has_its_index_in_the_state_folder(logdir):
    with read_only(logdir):
        first = ids(logdir)
        experiments = open_experiments(logdir)
        experiments.note(experiments.find("big"), "mine")
        assert ids(logdir) == first
        assert open_experiments(logdir).find("big").note == "mine"
        assert not (logdir / ".runfold").exists()


def test_read_only_users_have_the_ids_of_the_shared_index(logdir):
    ids(logdir)
    with read_only(logdir):
        experiments = open_experiments(logdir)
        experiments.note(experiments.find("big"), "mine")
    for name in ("zebra/1", "ant/2", "ant/1"):
        write(logdir / name, losses(1.0))
        theirs = ids(logdir)
    with read_only(logdir):
        assert ids(logdir) == theirs
        write(logdir / "mine", losses(1.0))
        assert ids(logdir)[0]["mine"] == 6
    write(logdir / "before", losses(1.0))
    assert ids(logdir)[0]["before"] == 6
    with read_only(logdir):
        assert ids(logdir)[0] == {**theirs[0], "mine": 6, "before": 7}


def test_broken_index_is_reported_and_kept(logdir):
    ids(logdir)
    path = logdir / ".runfold" / "experiments.json"
    path.write_text('{"experiments": {"big": {"id"')
    with pytest.warns(RuntimeWarning, match="could not be read"):
        assert ids(logdir)[0] == {"alone": 1, "big": 2, "small": 3}
    assert path.with_name("experiments.json.broken").read_text().startswith('{"experiments')
    assert json.loads(path.read_text())["experiments"]["big"]["id"] == 2


ENTRY = {"id": 1, "labels": [], "note": "", "is_archived": False}
LONG = "x" * 65_537


@pytest.mark.parametrize(
    ("experiments", "trials"),
    [
        *(({"big": {**ENTRY, "id": bad}}, {}) for bad in (10**4299, 2**53, 0, -1, True, 1.0, "1")),
        *(({}, {"big/seed-1": bad}) for bad in (10**4000, 2**53, 0, False, 2.5)),
        ({"big": {**ENTRY, "note": LONG}}, {}),
        ({"big": {**ENTRY, "note": 7}}, {}),
        ({"big": {**ENTRY, "labels": ["good", LONG]}}, {}),
        ({"big": {**ENTRY, "labels": [["good"]]}}, {}),
        ({LONG: ENTRY}, {}),
        ({}, {LONG: 1}),
    ],
)
def test_forged_index_is_renamed(logdir, experiments, trials):
    path = logdir / ".runfold" / "experiments.json"
    path.parent.mkdir()
    forged = json.dumps({"experiments": experiments, "trials": trials})
    path.write_text(forged)
    with pytest.warns(RuntimeWarning, match="could not be read"):
        assert ids(logdir)[0] == {"alone": 1, "big": 2, "small": 3}
    assert path.with_name("experiments.json.broken").read_text() == forged
    assert ids(logdir)[0] == {"alone": 1, "big": 2, "small": 3}


def test_overlong_label_or_note_raises(logdir):
    experiments = open_experiments(logdir)
    big = experiments.find("big")
    experiments.note(big, "x" * 65_536)
    with pytest.raises(CannotEdit, match="note was not stored: expected at most 65,536"):
        experiments.note(big, LONG)
    with pytest.raises(CannotEdit, match="label was not stored"):
        experiments.label(big, ["good", LONG], [])
    assert open_experiments(logdir).find("big").note == "x" * 65_536


def test_concurrent_processes_assign_unique_ids(logdir):
    for number in range(40):
        write(logdir / f"e{number}" / "x", losses(1.0))
    code = (
        "import sys; from runfold._experiments.index_places import change_index\n"
        "for n in range(25): change_index(sys.argv[1],"
        " lambda index: index.assign_ids([f'{sys.argv[2]}-{n}'], [f'{sys.argv[2]}-{n}/x']))"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(logdir), str(number)])
        for number in range(4)
    ]
    assert [writer.wait() for writer in writers] == [0] * 4
    index = json.loads((logdir / ".runfold" / "experiments.json").read_text())
    given = [entry["id"] for entry in index["experiments"].values()]
    assert sorted(given) == list(range(1, 101))
    assert sorted(index["trials"].values()) == list(range(1, 101))


def test_path_that_is_not_a_folder_raises(logdir, tmp_path):
    with pytest.raises(LogdirNotFound):
        open_experiments(tmp_path / "nowhere")
    with pytest.raises(LogdirNotFound, match="is not a folder"):
        open_experiments(next((logdir / "alone").iterdir()))


def test_deleting_an_experiment_removes_its_folder(logdir):
    experiments = open_experiments(logdir)
    delete_experiment(experiments, experiments.find("big"))
    assert sorted(os.listdir(logdir)) == [".runfold", "alone", "small"]
    assert [experiment.name for experiment in open_experiments(logdir).all] == ["alone", "small"]


def test_deleting_a_link_keeps_its_target(logdir, tmp_path):
    (logdir / "big").rename(tmp_path / "elsewhere")
    (logdir / "big").symlink_to(tmp_path / "elsewhere")
    experiments = open_experiments(logdir)
    delete_experiment(experiments, experiments.find("big"))
    assert (tmp_path / "elsewhere" / "seed-1").is_dir()
    assert not (logdir / "big").exists()


def test_run_that_is_being_written_is_deleted_only_with_force(logdir):
    beat = {"pid": os.getpid(), "host": os.uname().nodename, "state": "running", "seconds": 10.0}
    write_aside(str(logdir / "alone"), HEARTBEAT, beat)
    experiments = open_experiments(logdir)
    with pytest.raises(
        CannotEdit, match=r"These runs are being written to: .*alone.* Nothing was deleted"
    ):
        delete_experiment(experiments, experiments.find("alone"))
    delete_experiment(experiments, experiments.find("alone"), is_forced=True)
    assert not (logdir / "alone").exists()


def test_logdir_itself_is_not_deleted(tmp_path):
    write(tmp_path, losses(1.0))
    experiments = open_experiments(tmp_path)
    with pytest.raises(CannotEdit, match="is in the logdir itself"):
        delete_experiment(experiments, experiments.find("."))


def test_index_is_shared_with_the_logdir(logdir):
    logdir.chmod(0o2775)
    before = os.umask(0o077)
    try:
        open_experiments(logdir)
    finally:
        os.umask(before)
    side = logdir / ".runfold"
    modes = {path.name: path.stat().st_mode & 0o7777 for path in (side, *side.iterdir())}
    assert modes == {
        ".runfold": 0o2775,
        "experiments.json": 0o664,
        "experiments.json.lock": 0o664,
    }
