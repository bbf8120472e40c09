"""SummaryWriter with a URL as log_dir: the log is uploaded, and no local folder remains."""

import os
import pickle
import re
import signal
import subprocess
import threading
import warnings
from copy import deepcopy
from pathlib import Path, PurePosixPath

import numpy as np
import pytest
from botocore.exceptions import EndpointConnectionError, NoCredentialsError
from helpers.remote_logs import run_script, staged
from helpers.stores import open_system, stored, wait_for
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import runfold as rf
from runfold import SummaryWriter
from runfold._log.writer.remote_log import Remote
from runfold._storage import upload_folder
from runfold._storage.store import is_refusal
from runfold.errors import CannotLog, CannotStore

pytest_plugins = ["helpers.sftp"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working folder, with a home folder next to it."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "here"


@pytest.fixture
def warned():
    """The warnings during a test, from all threads."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def points_at(url, tag="loss"):
    """Return the points of a tag in the only run at a URL, as any reader sees them."""
    [run] = rf.open(url).values()
    return list(zip(run[tag].steps.tolist(), run[tag].values.tolist(), strict=True))


def test_the_log_is_in_the_bucket_and_no_local_copy_remains(s3, here, tmp_path):
    url = f"{s3.url}/run1"
    with SummaryWriter(url) as writer:
        folder = writer.folder
        assert Path(writer.path).parent == Path(folder)
        assert [writer.log_dir, writer.logdir, writer.get_logdir()] == [url] * 3
        for step in range(100):
            writer.add_scalar("loss", step / 4, step)
        writer.flush()
        assert staged(tmp_path) == [Path(folder)]
    assert points_at(url) == [(step, step / 4) for step in range(100)]
    assert staged(tmp_path) == []
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("name", ["log_dir", "logdir"])
def test_a_file_url_is_a_local_folder(here, tmp_path, name):
    with SummaryWriter(**{name: f"file://{tmp_path}/runs/a"}) as writer:
        writer.add_scalar("loss", 1.0, 0)
    assert writer.folder == f"{tmp_path}/runs/a"
    assert writer.log_dir == f"file://{tmp_path}/runs/a"
    assert points_at(tmp_path / "runs" / "a") == [(0, 1.0)]
    assert staged(tmp_path) == []


@pytest.mark.parametrize("folder", ["runs/a:b", "C:\\runs", "a:/b", "s3", "s3:"])
def test_a_name_with_a_colon_is_a_folder(here, tmp_path, folder):
    with SummaryWriter(folder) as writer:
        writer.add_scalar("loss", 1.0, 0)
    assert writer.folder == folder
    assert points_at(here / folder) == [(0, 1.0)]


def test_a_file_url_in_a_path_object_is_still_absolute(here, tmp_path):
    with SummaryWriter(Path(f"file://{tmp_path}/a")) as writer:
        assert writer.folder == f"{tmp_path}/a"
    assert list(here.iterdir()) == []


def test_a_url_in_a_path_object_is_still_a_url(s3, here, tmp_path):
    path = PurePosixPath(f"{s3.url}/run1")
    assert str(path) == f"s3:/{s3.bucket}/run1"
    with SummaryWriter(path) as writer:
        writer.add_scalar("loss", 1.0, 0)
    assert writer.log_dir is path
    assert points_at(f"{s3.url}/run1") == [(0, 1.0)]
    assert list(here.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("s4://bucket/run1", "unknown scheme 's4'. Supported: s3://"),
        ("hdfs://host/run1", "log to a local folder and copy the folder to the store"),
        (Path("hdfs://host/run1"), "log to a local folder and copy the folder to the store"),
        ("s3://", "the bucket or folder is missing"),
        ("s3://key:hush@bucket/run1", "AWS_ACCESS_KEY_ID"),
        ("gs://bucket/run1", re.escape("pip install 'runfold[gcs]'")),
    ],
)
@pytest.mark.parametrize("open_log", [SummaryWriter, rf.track])
def test_a_url_without_a_driver_raises_at_once(here, tmp_path, open_log, url, reason):
    with pytest.raises(CannotStore, match=reason) as raised:
        open_log(url)
    assert "Nothing was logged" in str(raised.value)
    assert "hush" not in str(raised.value)
    assert list(here.iterdir()) == []
    assert staged(tmp_path) == []


def test_the_bucket_has_the_same_files_as_with_torchs_writer(s3, here, tmp_path, monkeypatch):
    from torch.utils.tensorboard import SummaryWriter as TorchWriter

    monkeypatch.setenv("S3_ENDPOINT", os.environ["AWS_ENDPOINT_URL"])
    picture = np.zeros((3, 2, 2), np.uint8)
    for writer in (TorchWriter(f"{s3.url}/torch/run1"), SummaryWriter(f"{s3.url}/ours/run1")):
        for step in range(3):
            writer.add_scalar("loss", step / 4, step)
        writer.add_image("picture", picture, 0)
        writer.add_embedding(np.eye(2), ["a", "b"], tag="points")
        writer.close()
    keys, series = {}, {}
    for writer in ("torch", "ours"):
        # torch also creates empty objects for folders.
        found = [key for key in stored(s3, writer) if not key.endswith("/")]
        keys[writer] = sorted(re.sub(r"tfevents\..*", "tfevents", key) for key in found)
        open_system().get(f"{s3.bucket}/{writer}/run1", str(tmp_path / writer), recursive=True)
        accumulator = EventAccumulator(str(tmp_path / writer)).Reload()
        series[writer] = [
            [(point.step, point.value) for point in accumulator.Scalars("loss")],
            [(image.step, image.width) for image in accumulator.Images("picture")],
        ]
    assert keys["ours"] == keys["torch"]
    assert "run1/events.out.tfevents" in keys["ours"]
    assert series["ours"] == series["torch"]


def test_everything_below_the_folder_is_uploaded(s3, here, tmp_path):
    with SummaryWriter(f"{s3.url}/run1") as writer:
        writer.add_embedding(np.eye(2), tag="points")
        with SummaryWriter(os.path.join(writer.folder, "trial")) as trial:
            trial.add_scalar("loss", 1.0, 0)
        Path(writer.folder, "notes.txt").write_text("by somebody else")
    [inner] = {name for name in stored(s3, "run1/trial") if "tfevents" in name}
    assert {name for name in stored(s3, "run1") if "tfevents" not in name} == {
        "00000/points/tensors.tsv",
        "notes.txt",
        "projector_config.pbtxt",
    }
    assert Path(trial.path).name == inner
    assert staged(tmp_path) == []


def test_trials_of_several_writers_are_separate_runs(s3, here, tmp_path):
    url = f"{s3.url}/run1"
    writers = [SummaryWriter(url), SummaryWriter(url)]
    for seed, writer in enumerate(writers):
        for rate in (0.1, 0.2):
            writer.add_hparams({"lr": rate, "seed": seed}, {"loss": rate + seed})
        writer.close()
        writer.add_hparams({"lr": 0.3, "seed": seed}, {"loss": 0.3 + seed})
        writer.close()
    table = rf.open(url).hparams(wide=True)
    assert len(table) == 5
    trials = {(row["lr"], row["seed"]) for name, row in table.iterrows() if name != "."}
    assert trials == {(0.2, 0), (0.3, 0), (0.2, 1), (0.3, 1)}
    assert staged(tmp_path) == []


def test_a_trial_of_a_forked_child_is_uploaded(s3, here, tmp_path):
    body = (
        f"writer = SummaryWriter({s3.url + '/run1'!r})\n"
        "for rate in (0.1, 0.2): writer.add_hparams({'lr': rate}, {'loss': rate})\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    for rate in (0.2, 0.3): writer.add_hparams({'lr': rate}, {'loss': 1.0})\n"
        "else:\n"
        "    writer.close()\n"
        "    writer.add_hparams({'lr': 0.4}, {'loss': 1.0})\n"
        "    writer.close()\n"
        "    os.waitpid(child, 0)\n"
    )
    _, printed = run_script(body).communicate(timeout=60)
    assert printed == ""
    table = rf.open(f"{s3.url}/run1").hparams(wide=True)
    assert sorted(table.drop(".")["lr"]) == [0.2, 0.3, 0.4]
    assert staged(tmp_path) == []


def test_a_second_writer_adds_its_file(s3, here, tmp_path, warned):
    for step in (0, 1):
        with SummaryWriter(f"{s3.url}/run1") as writer:
            writer.add_scalar("loss", 1.0, step)
    with (
        SummaryWriter(f"{s3.url}/run1") as writer,
        SummaryWriter(f"{s3.url}/run1") as other,
    ):
        assert writer.folder != other.folder
        writer.add_scalar("loss", 1.0, 2)
        other.add_scalar("loss", 1.0, 3)
    assert len(stored(s3, "run1")) == 4
    assert points_at(f"{s3.url}/run1") == [(step, 1.0) for step in range(4)]
    assert warned == []


def test_a_call_after_close_uploads_another_file(s3, here, tmp_path, warned):
    writer = SummaryWriter(f"{s3.url}/run1")
    for step in range(3):
        writer.add_scalar("loss", 1.0, step)
        writer.add_embedding(np.eye(2), tag=f"points{step}")
        writer.close()
        assert staged(tmp_path) == []
        writer.flush()
        assert staged(tmp_path) == []
    assert points_at(f"{s3.url}/run1") == [(step, 1.0) for step in range(3)]
    assert sum("tfevents" in name for name in stored(s3, "run1")) == 3
    # The file that lists the embeddings is replaced as a whole, so it must list all of them.
    listed = stored(s3, "run1")["projector_config.pbtxt"].decode()
    assert re.findall(r"points\d(?=:)", listed) == ["points0", "points1", "points2"]
    assert warned == []


def test_files_left_over_from_an_outage_are_uploaded_after_reopening(
    s3, here, tmp_path, monkeypatch, warned
):
    s3.refuse()
    writer = SummaryWriter(f"{s3.url}/run1")
    writer.add_scalar("loss", 1.0, 0)
    with monkeypatch.context() as patch:
        patch.setattr("runfold._log.writer.run_uploads._CLOSING_SECONDS", 0.1)
        writer.close()
    assert len(staged(tmp_path)) == 1
    s3.begin()
    writer.add_scalar("loss", 1.0, 1)
    writer.close()
    assert points_at(f"{s3.url}/run1") == [(0, 1.0), (1, 1.0)]
    assert staged(tmp_path) == []


def test_a_closed_writer_is_copied_with_its_url(s3, here, tmp_path):
    writer = SummaryWriter(f"{s3.url}/run1")
    writer.add_scalar("loss", 1.0, 0)
    writer.close()
    for step, copy in enumerate((deepcopy(writer), pickle.loads(pickle.dumps(writer))), 1):
        copy.add_scalar("loss", 1.0, step)
        assert copy.log_dir == f"{s3.url}/run1"
        copy.close()
    assert points_at(f"{s3.url}/run1") == [(0, 1.0), (1, 1.0), (2, 1.0)]
    assert staged(tmp_path) == []


def test_the_log_grows_in_the_bucket_while_it_is_written(s3, here):
    with SummaryWriter(f"{s3.url}/run1") as writer:
        for step in range(3):
            writer.add_scalar("loss", 1.0, step)
            writer.flush()
            size = os.path.getsize(writer.path)
            wait_for(lambda size=size: [size] == [*map(len, stored(s3, "run1").values())])


def test_training_does_not_wait_for_a_store_that_hangs(s3, here, tmp_path):
    s3.gate.clear()
    with SummaryWriter(f"{s3.url}/run1") as writer:
        for step in range(10_000):
            writer.add_scalar("loss", 1.0, step)
        writer.flush()
        assert not any(line.startswith("PUT") for line in s3.requests)
        s3.gate.set()
    assert len(points_at(f"{s3.url}/run1")) == 10_000


def test_files_that_could_not_be_uploaded_are_kept_and_can_be_uploaded_later(
    s3, here, tmp_path, monkeypatch, warned
):
    monkeypatch.setattr("runfold._log.writer.run_uploads._CLOSING_SECONDS", 0.1)
    s3.refuse()
    with SummaryWriter(f"{s3.url}/run1") as writer:
        writer.add_scalar("loss", 1.0, 0)
        wait_for(lambda: warned)
    first, last = (str(warning.message) for warning in warned)
    assert "Training continues" in first
    [folder] = staged(tmp_path)
    call = f"rf.upload('{folder}', '{s3.url}/run1', all_files=True)"
    assert f"`import runfold as rf; {call}`. Then delete the folder." in last
    s3.begin()
    (folder / "notes.txt").write_text("by somebody else")
    assert upload_folder(folder, f"{s3.url}/run1", all_files=True) == 2
    assert "notes.txt" in stored(s3, "run1")
    assert points_at(f"{s3.url}/run1") == [(0, 1.0)]


def test_ctrl_c_during_the_last_upload_reports_where_the_files_are(s3, here, tmp_path, warned):
    s3.gate.clear()
    writer = SummaryWriter(f"{s3.url}/run1")
    writer.add_scalar("loss", 1.0, 0)
    main, begun = threading.main_thread().ident, writer._remote._uploads._uploader._closing

    def interrupt():
        begun.wait()
        signal.pthread_kill(main, signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    with pytest.raises(KeyboardInterrupt):
        writer.close()
    s3.gate.set()
    [folder] = staged(tmp_path)
    assert f"rf.upload('{folder}', '{s3.url}/run1', " in str(warned[-1].message)


def test_the_log_of_a_dropped_writer_is_uploaded_in_the_background(s3, here, tmp_path):
    s3.gate.clear()
    writer = SummaryWriter(f"{s3.url}/run1")
    writer.add_scalar("loss", 1.0, 0)
    writer.flush()
    del writer  # does not wait: the store hangs
    s3.gate.set()
    wait_for(lambda: staged(tmp_path) == [])
    assert points_at(f"{s3.url}/run1") == [(0, 1.0)]


def test_the_program_waits_for_the_upload_of_a_dropped_writer(s3, here, tmp_path):
    body = (
        f"writer = SummaryWriter({s3.url + '/run1'!r})\n"
        "writer.add_scalar('loss', 1.0, 0)\nwriter.flush()\ndel writer\n"
    )
    _, printed = run_script(body).communicate(timeout=60)
    assert printed == ""
    assert points_at(f"{s3.url}/run1") == [(0, 1.0)]
    assert staged(tmp_path) == []


@pytest.mark.parametrize("end", ["", "sys.exit(3)", "raise ValueError"])
def test_the_log_of_an_unclosed_writer_is_uploaded_at_exit(s3, here, tmp_path, end):
    body = (
        f"writer = SummaryWriter({s3.url + '/run1'!r})\nwriter.add_scalar('loss', 1.0, 0)\n{end}\n"
    )
    _, printed = run_script(body).communicate(timeout=60)
    assert "runfold" not in printed
    assert points_at(f"{s3.url}/run1") == [(0, 1.0)]
    assert staged(tmp_path) == []


def test_sigterm_finishes_the_upload_of_every_writer(s3, here, tmp_path):
    body = (
        f"writers = [SummaryWriter({s3.url!r} + '/' + name) for name in 'abc']\n"
        "for writer in writers: writer.add_scalar('loss', 1.0, 0)\n"
        "print(flush=True)\nwhile True: time.sleep(0.1)\n"
    )
    process = run_script(body, stdout=subprocess.PIPE)
    process.stdout.readline()
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGTERM
    for name in "abc":
        assert points_at(f"{s3.url}/{name}") == [(0, 1.0)]
    assert staged(tmp_path) == []


def test_sigterm_during_an_outage_waits_once_for_all_writers(s3, here, tmp_path):
    body = (
        "import runfold._log.writer.run_uploads as uploads\nuploads._DYING_SECONDS = 1.0\n"
        f"writers = [SummaryWriter({s3.url!r} + '/' + name) for name in 'abc']\n"
        "print(flush=True)\nwhile True: time.sleep(0.1)\n"
    )
    s3.gate.clear()
    process = run_script(body, stdout=subprocess.PIPE)
    process.stdout.readline()
    process.terminate()
    _, printed = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGTERM
    assert printed.count("Then delete the folder") == len(staged(tmp_path)) == 3


def test_sigkill_leaves_the_folder_with_all_flushed_events(s3, here, tmp_path):
    body = (
        f"writer = SummaryWriter({s3.url + '/run1'!r})\n"
        "writer.add_scalar('loss', 1.0, 0)\nwriter.flush()\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    run_script(body).communicate(timeout=60)
    [folder] = staged(tmp_path)
    assert f"{s3.bucket}-run1-" in folder.name
    assert points_at(folder) == [(0, 1.0)]


def test_the_child_of_a_fork_uploads_its_own_file(s3, here, tmp_path):
    body = (
        f"writer = SummaryWriter({s3.url + '/run1'!r})\n"
        "writer.add_scalar('loss', 1.0, 0)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    writer.add_scalar('loss', 1.0, 1)\n"
        "else:\n"
        "    writer.close()\n"  # also removes its folder, before the child ends
        "    os.waitpid(child, 0)\n"
    )
    _, printed = run_script(body).communicate(timeout=60)
    assert printed == ""
    assert len(stored(s3, "run1")) == 2
    assert points_at(f"{s3.url}/run1") == [(0, 1.0), (1, 1.0)]
    assert staged(tmp_path) == []


def test_a_silent_writer_creates_no_folder(s3, here, tmp_path):
    with SummaryWriter(f"{s3.url}/run1", write_to_disk=False) as writer:
        writer.add_scalar("loss", 1.0, 0)
    assert staged(tmp_path) == []
    assert stored(s3, "run1") == {}


def test_without_a_home_the_folder_is_temporary(s3, here, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    with SummaryWriter(f"{s3.url}/run1") as writer:
        writer.add_scalar("loss", 1.0, 0)
        assert Path(writer.folder).parent == tmp_path / "tmp"
    assert points_at(f"{s3.url}/run1") == [(0, 1.0)]
    assert list((tmp_path / "tmp").iterdir()) == []


def test_the_folder_is_for_its_owner_only(s3, here, tmp_path):
    with SummaryWriter(f"{s3.url}/run1") as writer:
        folder = Path(writer.folder)
        assert [folder.stat().st_mode & 0o77, folder.parent.stat().st_mode & 0o77] == [0, 0]


def test_a_log_is_uploaded_by_sftp_and_the_password_is_never_shown(
    sftp, here, tmp_path, monkeypatch, warned
):
    with SummaryWriter(f"{sftp.url}/run1") as writer:
        writer.add_scalar("loss", 1.0, 0)
        assert "hush" not in writer.folder
    assert points_at(sftp.folder / "run1") == [(0, 1.0)]
    monkeypatch.setattr("runfold._log.writer.run_uploads._CLOSING_SECONDS", 0.1)
    sftp.refuse()
    with SummaryWriter(f"{sftp.url}/run1") as writer:
        writer.add_scalar("loss", 1.0, 0)
    assert warned
    assert "hush" not in " ".join(str(warning.message) for warning in warned)
    assert writer.log_dir == f"{sftp.url}/run1"


def test_a_log_that_is_reopened_while_another_thread_closes_it_has_a_new_folder(s3, here, tmp_path):
    remote = Remote(f"{s3.url}/run1")
    s3.gate.clear()
    first = Path(remote.claim())
    (first / "events.out.tfevents.1").write_bytes(b"first")
    remote.start()
    # The method is looked up here, because the thread may run after the second upload has started.
    closing = threading.Thread(target=remote._uploads.close)
    closing.start()
    second = Path(remote.claim())
    assert second != first
    (second / "events.out.tfevents.2").write_bytes(b"second")
    remote.start()
    s3.gate.set()
    closing.join()
    assert staged(tmp_path) == [second]
    remote.close()
    assert set(stored(s3, "run1")) == {"events.out.tfevents.1", "events.out.tfevents.2"}
    assert staged(tmp_path) == []


def test_a_storage_gets_the_folder_under_its_name(s3, here, tmp_path):
    for step in (0, 1):
        with SummaryWriter("runs/a", storage=f"{s3.url}/logs") as writer:
            writer.add_scalar("loss", 1.0, step)
    assert writer.log_dir == writer.folder == "runs/a"
    assert len(stored(s3, "logs/a")) == 2
    assert points_at(f"{s3.url}/logs") == points_at(here / "runs") == [(0, 1.0), (1, 1.0)]
    assert staged(tmp_path) == []


def test_a_storage_gets_the_folder_if_the_program_changes_its_directory(
    s3, here, tmp_path, monkeypatch
):
    with SummaryWriter("runs/a", storage=s3.url) as writer:
        monkeypatch.chdir(tmp_path)
        writer.add_scalar("loss", 1.0, 0)
    assert points_at(f"{s3.url}/a") == [(0, 1.0)]


def test_a_url_with_a_storage_raises(s3, here):
    for open_log in (SummaryWriter, rf.track):
        with pytest.raises(CannotLog, match="Omit storage"):
            open_log(f"{s3.url}/run1", storage=s3.url)
    with pytest.raises(CannotStore, match="the upload would copy itself"):
        SummaryWriter("runs/a", storage="runs")


def test_a_store_without_credentials_is_reported_as_refused():
    assert is_refusal(NoCredentialsError())
    assert not is_refusal(EndpointConnectionError(endpoint_url="http://localhost"))
