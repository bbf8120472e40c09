"""Runs on an SFTP server: uploads, reading, stopping, outages and denied access."""

import base64
import json
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from helpers.cli_runs import losses, run_apart, write
from helpers.stores import wait_for

import runfold as rf
from runfold._serve.tensorboards.instance_options import Options
from runfold._serve.tensorboards.instance_runs import Sources
from runfold._serve.tensorboards.instance_store import Store as Boards
from runfold._storage import fetch_file, upload_folder
from runfold._storage.sftp import Sftp
from runfold._storage.store import Store
from runfold.errors import CannotStore, LogdirNotFound

pytest_plugins = ["helpers.sftp"]

QUIET = {"code": False, "system": False}
NAMES = ["a b", 'it\'s "so"', "a:b", "100%", "%41", "größe", "a#b", "日本"]


def files_of(folder):
    """Return the event files below a folder and their contents."""
    return {path.name: path.read_bytes() for path in Path(folder).rglob("*tfevents*")}


def test_a_run_and_its_artifacts_are_uploaded_and_read(sftp, tmp_path):
    (tmp_path / "model.pt").write_bytes(bytes(range(256)) * 1_000)
    with rf.track(tmp_path / "a", {"lr": 0.1}, storage=f"{sftp.url}/runs", **QUIET) as run:
        run.log({"loss": 1.0}, step=0)
        run.save(tmp_path / "model.pt")
    assert run.storage == f"sftp://***@{sftp.host}/{sftp.folder.name}/runs/a"
    assert files_of(sftp.folder) == files_of(tmp_path / "a")
    opened = rf.open(f"{sftp.url}/runs")
    assert (opened["a"].status.state, opened["a"].config) == ("finished", {"lr": 0.1})
    [model] = opened["a"].artifacts
    assert Path(fetch_file(model.path)).read_bytes() == (tmp_path / "model.pt").read_bytes()


def test_a_large_file_reports_its_progress(sftp, tmp_path):
    (tmp_path / "model.pt").write_bytes(bytes(range(256)) * 1_000)
    for url, folder in (
        (sftp.url, sftp.folder),
        (f"file://{tmp_path}/shared", tmp_path / "shared"),
    ):
        calls: list[int] = []
        path = str(tmp_path / "model.pt")
        Store(url).put("a/model.pt", path, lambda calls=calls: calls.append(1))
        assert calls
        assert (folder / "a" / "model.pt").read_bytes() == (tmp_path / "model.pt").read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_no_character_of_a_name_is_special(sftp, tmp_path, name):
    with rf.track(tmp_path / "runs" / name, storage=sftp.url, **QUIET) as run:
        run.log({"loss": 1.0}, step=0)
    assert [path.name for path in sftp.folder.iterdir()] == [name]
    assert list(rf.open(sftp.url)) == [name]
    assert rf.open(f"{sftp.url}/{name}")["."]["loss"].values.tolist() == [1.0]


def test_only_new_data_is_sent_and_fetched(sftp, tmp_path):
    with rf.track(tmp_path / "a", storage=sftp.url, **QUIET) as run:
        run.add_text("log", "x" * 400_000, 0)
        run.flush()
        wait_for(lambda: files_of(sftp.folder) == files_of(tmp_path / "a") != {})
        runs = rf.open(sftp.url)
        runs.load()
        sftp.sent = 0
        run.log({"loss": 1.0}, step=0)
        run.flush()
        wait_for(lambda: files_of(sftp.folder) == files_of(tmp_path / "a"))
        assert sftp.sent < 200_000
        sftp.received = 0
        runs.refresh()
        assert runs["a"]["loss"].values.tolist() == [1.0]
        assert sftp.received < 200_000


def test_an_outage_in_the_middle_loses_nothing(sftp, tmp_path):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with rf.track(tmp_path / "a", storage=sftp.url, **QUIET) as run:
            run.log({"loss": 0.0}, step=0)
            run.flush()
            wait_for(lambda: files_of(sftp.folder))
            sftp.refuse()
            for step in range(1, 1000):
                run.log({"loss": 1.0}, step=step)
            run.flush()
            wait_for(lambda: len(warned) > 0)
            sftp.mend()
    assert "Unable to connect" in str(warned[0].message)
    assert "Training continues" in str(warned[0].message)
    assert files_of(sftp.folder) == files_of(tmp_path / "a")


def test_an_outage_does_not_empty_the_copy(sftp, tmp_path):
    write(tmp_path / "runs" / "a", losses(1.0))
    upload_folder(tmp_path / "runs", sftp.url)
    runs = rf.open(sftp.url)
    sftp.refuse()
    with pytest.warns(UserWarning, match="Using what was read earlier"):
        runs.refresh()
    assert list(runs) == ["a"]
    sftp.mend()
    write(tmp_path / "runs" / "b", losses(1.0))
    upload_folder(tmp_path / "runs", sftp.url)
    assert runs.refresh().runs == ["b"]


def test_many_files_are_fetched_by_many_threads(sftp, tmp_path):
    for number in range(16):
        write(tmp_path / "runs" / f"seed-{number}", losses(*range(number + 1)))
    assert upload_folder(tmp_path / "runs", sftp.url) == 16
    runs = rf.open(sftp.url)
    assert [len(runs[f"seed-{n}"]["train/loss"].values) for n in range(16)] == [*range(1, 17)]


def test_a_folder_that_another_run_creates_at_the_same_time_is_used(sftp):
    class Overtaken(Sftp):
        def makedirs(self, path, exist_ok=False, mode=0o777):
            if path == f"/{sftp.folder.name}":
                (sftp.folder / "runs").mkdir(parents=True)
            super().makedirs(path, exist_ok, mode)

    host, port = sftp.host.split(":")
    system = Overtaken(host, port=int(port), username="me", password=sftp.password)
    system.makedirs(f"/{sftp.folder.name}/runs")
    with pytest.raises(FileExistsError):
        system.makedirs(f"/{sftp.folder.name}/runs")


def test_a_killed_run_is_resumed_and_stopped_by_a_command(sftp, tmp_path):
    def train(more):
        body = (
            "import runfold as rf, time\n"
            f"run = rf.track({str(tmp_path / 'a')!r}, storage={sftp.url!r}, code=False,"
            f" system=False, resume={more})\n"
            f"run.log({{'loss': 1.0}}, step={int(more)})\nrun.flush()\n"
            "while True: time.sleep(0.1)"
        )
        process = subprocess.Popen([sys.executable, "-c", body], stderr=subprocess.DEVNULL)
        wait_for(lambda: len(files_of(sftp.folder)) == 1 + more)
        return process

    first = train(more=False)
    first.send_signal(signal.SIGKILL)
    first.wait()
    second = train(more=True)
    done = run_apart("stop", f"{sftp.url}/a", "--reason", "diverged")
    assert done.stdout == f"sftp://***@{sftp.host}/{sftp.folder.name}/a: stopped\n", done.stderr
    second.wait(60)
    assert files_of(sftp.folder) == files_of(tmp_path / "a")
    run = rf.open(sftp.url)["a"]
    assert (run.status.state, run["loss"].steps.tolist()) == ("stopped", [0, 1])


def test_a_file_can_be_opened_by_url_and_a_wrong_url_is_explained(sftp, tmp_path):
    write(tmp_path / "runs" / "a", losses(1.0))
    upload_folder(tmp_path / "runs", sftp.url)
    assert list(rf.open(f"{sftp.url}/a/events.out.tfevents.1")) == ["."]
    with pytest.raises(LogdirNotFound, match="nothing has this prefix"):
        rf.open(f"{sftp.url}/b")
    store = Store(f"{sftp.url}/a")
    for _ in range(2):
        store.delete("events.out.tfevents.1")
    assert store.list_files() == {}


def test_denied_access_is_reported_without_the_password(sftp, tmp_path):
    for user in ("me:wrong%2Fsecret@", "me@"):
        with pytest.raises(CannotStore) as raised:
            rf.open(f"sftp://{user}{sftp.host}/runs")
        assert str(raised.value).startswith(f"sftp://***@{sftp.host}/runs: permission denied (")
        assert "secret" not in str(raised.value)
    with pytest.raises(CannotStore, match=r"In a password, write / as %2F") as raised:
        rf.open(f"sftp://me:wrong/secret@{sftp.host}/runs")
    assert "secret" not in str(raised.value)
    assert "wrong" not in str(raised.value)


def test_a_server_with_a_different_key_is_rejected(sftp, tmp_path):
    known = b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + bytes(range(32))
    (tmp_path / "home" / ".ssh").mkdir()
    (tmp_path / "home" / ".ssh" / "known_hosts").write_text(
        f"[127.0.0.1]:{sftp.port} ssh-ed25519 {base64.b64encode(known).decode()}\n"
    )
    done = run_apart("ls", sftp.url)
    assert done.returncode == 2
    assert "does not match" in done.stderr
    assert "known_hosts" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_host_is_reported_in_one_line(sftp):
    done = run_apart("ls", "sftp://me:secret@no-such-host.invalid/runs")
    assert done.returncode == 2
    assert done.stderr.startswith("sftp://***@no-such-host.invalid/runs: ")
    assert len(done.stderr.splitlines()) == 1


def test_no_password_is_shown_by_a_command(sftp, tmp_path):
    write(tmp_path / "runs" / "a", losses(1.0))
    upload_folder(tmp_path / "runs", sftp.url)
    done = run_apart("ls", "--json", sftp.url)
    assert json.loads(done.stdout)["paths"] == [f"sftp://***@{sftp.host}/{sftp.folder.name}"]
    assert "hush" not in done.stdout + done.stderr
    wrong = run_apart("experiments", "list", sftp.url)
    assert wrong.returncode == 2
    assert "hush" not in wrong.stderr
    boards = Boards()
    board = boards.add(Sources((sftp.url,)), Options())
    boards.update(board.id, wanted="down", state="TERMINATED")  # so that no service starts it
    boards.close()
    for words in (["config", board.id], ["list", "--all", "--json"]):
        shown = run_apart("tensorboard", *words).stdout
        assert f"sftp://***@{sftp.host}" in shown
        assert "hush" not in shown


def test_a_file_is_created_only_once(sftp):
    store = Store(f"{sftp.url}/runs")
    assert [store.create(".runfold/claim", data) for data in (b"first", b"second")] == [True, False]
    assert store.read(".runfold/claim") == b"first"
