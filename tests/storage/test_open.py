"""Logs opened by URL: with rf.open, with commands, and by the server."""

import json
import pickle
import queue
from typing import Any

import pytest
from helpers.cli_runs import losses, run_apart, write, write_kinds
from helpers.stores import open_system

import runfold as rf
from runfold._cli import main
from runfold._experiments import open_experiments
from runfold._experiments.delete_experiment import delete_experiment
from runfold._serve.run_source import Source
from runfold._serve.tensorboards.instance_runs import Follower, Sources
from runfold._serve.watch import STORE_SECONDS, Watcher
from runfold._storage import upload_folder
from runfold.errors import CannotEdit, CannotStore, LogdirNotFound


@pytest.fixture
def logs(s3, tmp_path):
    """A local logdir, uploaded to `logs.url` by `logs.upload`."""
    folder = tmp_path / "runs"
    write_kinds(folder / "lr-1" / "seed-1")
    write(folder / "lr-1" / "seed-2", losses(3.0, 2.0))
    write(folder / "lr-2" / "seed-1", losses(5.0, 4.0))

    class Logs:
        url = f"{s3.url}/team/runs"
        local = folder

        def upload(self):
            upload_folder(self.local, self.url)

    logs = Logs()
    logs.upload()
    return logs


def test_a_url_has_the_same_data_as_the_folder(logs):
    remote, local = rf.open(logs.url), rf.open(logs.local)
    assert list(remote) == ["lr-1/seed-1", "lr-1/seed-2", "lr-2/seed-1"]
    assert remote.scalars().equals(local.scalars())
    assert remote.images().drop(columns=["path"], errors="ignore").shape == local.images().shape
    assert f"3 runs in {logs.url}" in repr(remote)


def test_a_refresh_finds_new_data_in_the_store(s3, logs):
    runs = rf.open(logs.url)
    runs.load()
    write(logs.local / "lr-1" / "seed-2", losses(3.0, 2.0, 1.0))
    write(logs.local / "lr-3", losses(7.0))
    logs.upload()
    s3.received = 0
    changes = runs.refresh()
    assert (changes.runs, changes.points, changes.reread) == (["lr-3"], 1, [])
    assert runs["lr-1/seed-2"]["train/loss"].values.tolist() == [3.0, 2.0, 1.0]
    s3.received = 0
    assert not runs.refresh()
    assert s3.received < 5_000


def test_runs_of_several_urls_are_named_like_those_of_folders(logs):
    runs = rf.open(f"{logs.url}/lr-1", f"{logs.url}/lr-2/")
    assert list(runs) == ["lr-1/seed-1", "lr-1/seed-2", "lr-2/seed-1"]
    assert list(rf.open(f"{logs.url}/*/seed-1")) == ["lr-1/seed-1", "lr-2/seed-1"]
    assert list(rf.open(f"{logs.url}/lr-2/seed-1")) == ["."]
    assert list(rf.open(f"{logs.url}/lr-2/seed-1/events.out.tfevents.1")) == ["."]
    assert list(rf.open(f"file://{logs.local}/lr-1")) == ["seed-1", "seed-2"]


def test_runs_are_pickled_by_url(logs):
    run = pickle.loads(pickle.dumps(rf.open(logs.url)["lr-1/seed-2"]))
    assert run["train/loss"].values.tolist() == [3.0, 2.0]


def test_without_the_store_the_copy_is_read_with_a_warning(s3, logs):
    rf.open(logs.url, copy=True)
    s3.refuse()
    with pytest.warns(UserWarning, match="Using the local copy"):
        runs = rf.open(logs.url, copy=True)
    assert len(runs) == 3
    [problem] = runs.problems().to_dict("records")
    assert (problem["code"], problem["file"]) == ("read-error", logs.url)
    s3.mend()
    assert not runs.refresh()
    assert len(runs.problems()) == 0


def test_runs_deleted_in_the_store_disappear(s3, logs):
    runs = rf.open(logs.url)
    runs.load()
    open_system().rm(f"{s3.bucket}/team/runs/lr-2", recursive=True)
    assert runs.refresh().gone == ["lr-2/seed-1"]
    assert list(runs) == list(rf.open(logs.url)) == ["lr-1/seed-1", "lr-1/seed-2"]


def test_wrong_urls_are_explained(s3, logs):
    with pytest.raises(LogdirNotFound, match="Did you mean 'runs'"):
        rf.open(logs.url.replace("/runs", "/run"))
    with pytest.raises(CannotStore, match="does not exist"):
        rf.open("s3://no-such-bucket-of-ours/runs")


def test_commands_accept_urls(logs, capsys, tmp_path):
    assert main(["ls", "--json", logs.url]) == 0
    listing = json.loads(capsys.readouterr().out)
    assert listing["paths"] == [logs.url]
    assert [run["run"] for run in listing["runs"]] == ["lr-1/seed-1", "lr-1/seed-2", "lr-2/seed-1"]
    assert main(["table", logs.url]) == 0
    assert main(["check", logs.url]) == 0
    assert main(["show", f"{logs.url}/lr-2", "train/loss"]) == 0
    assert main(["sql", logs.url, "select count(*) from scalars"]) == 0
    assert main(["reduce", logs.url, "--align", "union", "-o", f"{tmp_path}/out.csv"]) == 0
    assert main(["diff", f"{logs.url}/lr-1/seed-2", f"{logs.url}/lr-2/seed-1"]) == 0
    capsys.readouterr()
    pack = str(tmp_path / "all.parquet")
    assert main(["pack", logs.url, "-o", pack]) == 0
    assert list(rf.open(pack)) == ["lr-1/seed-1", "lr-1/seed-2", "lr-2/seed-1"]


def test_a_pack_can_be_opened_by_url(s3, logs, tmp_path):
    rf.open(logs.local).pack(tmp_path / "all.parquet")
    open_system().put_file(str(tmp_path / "all.parquet"), f"{s3.bucket}/packs/all.parquet")
    url = f"{s3.url}/packs/all.parquet"
    runs = rf.open(url)
    assert runs.scalars().equals(rf.open(logs.local).scalars())
    assert main(["unpack", url, "-o", str(tmp_path / "unpacked")]) == 0
    assert list(rf.open(tmp_path / "unpacked")) == list(runs)


def test_a_command_reports_errors_in_one_line(s3, logs):
    rf.open(logs.url, copy=True)
    s3.refuse()
    done = run_apart("ls", logs.url)
    assert done.returncode == 0
    assert done.stdout.splitlines()[0].startswith("run")
    assert done.stderr.startswith(f"{logs.url}: ")
    assert "Warning" not in done.stderr
    wrong = run_apart("ls", f"{logs.url}/nothing")
    assert wrong.returncode == 2
    assert "Traceback" not in wrong.stderr
    edit = run_apart("edit", logs.url, "--in-place", "--delete-tags", "x")
    assert edit.returncode == 2
    assert "is in a store and cannot be edited there" in edit.stderr


def test_the_server_follows_a_url(logs):
    source = Source(logs.url)
    changes: queue.Queue[Any] = queue.Queue()
    watcher = Watcher(source, changes.put)
    assert watcher.poll == STORE_SECONDS
    watcher = Watcher(source, changes.put, poll=0.1)
    watcher.start()
    try:
        write(logs.local / "lr-3", losses(7.0))
        logs.upload()
        assert changes.get(timeout=60).new == ["lr-3"]
    finally:
        watcher.stop()
        source.close()


def test_experiment_ids_of_a_url_outlive_the_copy(logs, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    first = open_experiments(logs.url)
    first.note(first.find("lr-2"), "good")
    write(logs.local / "a" / "new", losses(1.0))
    logs.upload()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    experiments = open_experiments(logs.url)
    ids = [(experiment.id, experiment.name) for experiment in experiments.all]
    assert ids == [(1, "lr-1"), (2, "lr-2"), (3, "a")]
    assert experiments.find("2").note == "good"
    with pytest.raises(CannotEdit, match="is in a remote store"):
        delete_experiment(experiments, experiments.find("2"))


def test_an_instance_follows_new_runs_at_a_url(s3, logs):
    follower = Follower(Sources((logs.url,), experiments=("lr-1",)))
    assert list(follower.resolve()) == ["lr-1/seed-1", "lr-1/seed-2"]
    write(logs.local / "lr-1" / "seed-3", losses(1.0))
    logs.upload()
    assert list(follower.resolve()) == ["lr-1/seed-1", "lr-1/seed-2", "lr-1/seed-3"]
    glob = Follower(Sources((f"{logs.url}/lr-*",), runs=("lr-2/seed-1",)))
    assert list(glob.resolve()) == ["lr-2/seed-1"]
    s3.refuse()
    with pytest.warns(UserWarning, match="Using the local copy"):
        assert len(follower.resolve()) == 3
    assert "Showing what was fetched earlier" in follower.problem


def test_configuration_files_are_fetched_with_the_log(s3, tmp_path):
    folder = tmp_path / "sweep"
    write(folder / "a" / "run", losses(2.0, 1.0))
    found = {
        "config.yaml": "width: 64",
        "a/params.json": '{"lr": 0.1}',
        "a/run/.hydra/config.yaml": "seed: 1",
        "a/run/1700000000.5/hparams.yml": "name: small",
    }
    # A file in another folder, and a file that is too large.
    others = {"models/config.json": "{}", "a/run/args.json": "{}".rjust(1 << 21)}
    files = {name: text.encode() for name, text in {**found, **others}.items()}
    files |= {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in folder.rglob("*tfevents*")
    }
    open_system().pipe({f"{s3.bucket}/sweep/{name}": data for name, data in files.items()})
    runs = rf.open(f"{s3.url}/sweep")
    frame = runs.hparams(sources=True)
    assert dict(zip(frame["source"], frame["value"], strict=True)) == {
        "file 1700000000.5/hparams.yml": "small",
        "file .hydra/config.yaml": 1,
        "file ../params.json": 0.1,
        "file ../../config.yaml": 64,
    }
    (copy,) = (tmp_path / "cache").rglob("params.json")
    copied = {file.relative_to(copy.parents[1]).as_posix() for file in copy.parents[1].rglob("*.*")}
    assert copied.isdisjoint(others)
    open_system().pipe_file(f"{s3.bucket}/sweep/a/params.json", b'{"lr": 0.025}')
    runs.refresh()
    assert runs.table()["lr"].tolist() == [0.025]
