"""Background uploads to a real S3 server that fails in every possible way."""

import os
import threading
import time
from pathlib import Path

import pytest
from helpers.stores import open_system, refusal, stored, wait_for

from runfold._storage.store import Store
from runfold._storage.uploader import Uploader, upload_folder

EVENTS = "events.out.tfevents.1"


@pytest.fixture
def folder(tmp_path):
    """A run's folder with an event file that the test extends."""
    run = tmp_path / "runs" / "seed-1"
    run.mkdir(parents=True)
    (run / EVENTS).write_bytes(b"first ")
    return run


@pytest.fixture
def uploader(s3, folder):
    """An uploader for that folder, with its warnings in `messages`."""
    messages: list[str] = []
    uploader = Uploader(str(folder), f"{s3.url}/runs/seed-1", messages.append)
    uploader.messages = messages  # type: ignore[attr-defined]
    yield uploader
    s3.mend()
    uploader.close()


def append(folder, data, name=EVENTS):
    with open(folder / name, "ab") as file:
        file.write(data)


def test_only_the_runs_own_files_are_uploaded(s3, folder, uploader):
    (folder / "artifacts").mkdir()
    (folder / "artifacts" / "model one.pt").write_bytes(b"\0" * 100)
    (folder / "artifacts" / ".saving-here-1-0").write_bytes(b"half")
    (folder / ".runfold").mkdir()
    for name in ("heartbeat", "stop", "stop.seen", "claim", ".heartbeat-1-2"):
        (folder / ".runfold" / name).write_bytes(name.encode())
    (folder / "loss_train").mkdir()
    (folder / "loss_train" / EVENTS).write_bytes(b"below")
    (folder / "projector_config.pbtxt").write_text(
        'embeddings { tensor_path: "00000/a/tensors.tsv" }\n'
        'embeddings { tensor_path: "../secret.tsv" metadata_path: "/etc/passwd" }\n'
    )
    (folder / "00000" / "a").mkdir(parents=True)
    (folder / "00000" / "a" / "tensors.tsv").write_bytes(b"1\t2\n")
    (folder.parent / "secret.tsv").write_bytes(b"3\n")
    (folder / ".env").write_bytes(b"PASSWORD=1")
    (folder / "checkpoint.pt").write_bytes(b"large")
    uploader.start()
    assert uploader.close() == []
    sent = {
        EVENTS,
        ".runfold/heartbeat",
        ".runfold/stop.seen",
        "artifacts/model one.pt",
        f"loss_train/{EVENTS}",
        "projector_config.pbtxt",
        "00000/a/tensors.tsv",
    }
    assert stored(s3) == {name: (folder / name).read_bytes() for name in sent}
    assert uploader.messages == []


def test_a_growing_file_is_uploaded_at_most_once_a_second(s3, folder, uploader):
    began = time.monotonic()
    uploader.start()
    seen: set[int] = set()  # a driver may repeat a request with the same data

    def sizes():
        append(folder, b"more ")
        seen.update(map(len, stored(s3).values()))
        return seen

    wait_for(lambda: len(sizes()) >= 3)
    assert time.monotonic() - began > 2
    assert uploader.close() == []
    assert stored(s3) == {EVENTS: (folder / EVENTS).read_bytes()}


def test_only_the_new_bytes_of_a_large_file_are_sent(s3, folder, uploader):
    append(folder, bytes(range(256)) * (6 << 12))
    uploader.start()
    wait_for(lambda: stored(s3).get(EVENTS) == (folder / EVENTS).read_bytes())
    s3.sent = 0
    append(folder, b"the rest" * 10_000)
    assert uploader.close() == []
    assert s3.sent < 200_000
    assert stored(s3) == {EVENTS: (folder / EVENTS).read_bytes()}


def test_a_large_file_that_was_deleted_in_the_store_is_sent_again(s3, folder, uploader):
    append(folder, bytes(6 << 20))
    uploader.start()
    wait_for(lambda: EVENTS in stored(s3))
    open_system().rm(f"{s3.bucket}/runs/seed-1", recursive=True)
    append(folder, b"more")
    assert uploader.close() == []
    assert stored(s3) == {EVENTS: (folder / EVENTS).read_bytes()}


def _refuse(s3):
    s3.refuse()


def _break_off(s3):
    s3.reset_after = 300_000
    s3.cut()


def _be_busy(s3):
    s3.answer = refusal(503, "SlowDown", "Please reduce your request rate.")
    s3.cut()


def _fail(s3):
    s3.answer = refusal(500, "InternalError", "We encountered an internal error.")
    s3.cut()


@pytest.mark.parametrize("trouble", [_refuse, _break_off, _be_busy, _fail])
def test_everything_arrives_after_an_outage(s3, folder, uploader, trouble):
    uploader.start()
    wait_for(lambda: EVENTS in stored(s3))
    trouble(s3)
    append(folder, b"meanwhile " * 100_000)
    wait_for(lambda: uploader.messages, "an error")
    append(folder, b"and more")
    s3.mend()
    assert uploader.close() == []
    assert stored(s3) == {EVENTS: (folder / EVENTS).read_bytes()}
    [message] = uploader.messages
    assert message.startswith(f"s3://{s3.bucket}/runs/seed-1: ")
    assert f"complete in {folder}, and the upload will be tried again" in message


def test_files_that_were_not_sent_are_reported_and_can_be_sent_later(s3, folder, uploader):
    append(folder, bytes(6 << 20))
    uploader.start()
    wait_for(lambda: EVENTS in stored(s3))
    append(folder, b"the rest")
    s3.refuse()
    missing = uploader.close(seconds=0.1)
    assert missing == [EVENTS]
    message = uploader.explain(missing)
    for part in (
        f"s3://{s3.bucket}/runs/seed-1: ",
        f"1 file of the run could not be uploaded: {EVENTS}.",
        f"The complete run is in {folder}.",
        f"rf.upload('{folder}', 's3://{s3.bucket}/runs/seed-1')",
    ):
        assert part in message
    s3.mend()
    assert upload_folder(folder, f"{s3.url}/runs/seed-1") == 1
    assert s3.sent < 50_000
    assert stored(s3) == {EVENTS: (folder / EVENTS).read_bytes()}
    assert upload_folder(folder, f"{s3.url}/runs/seed-1") == 0


def test_a_changed_small_file_of_the_same_size_is_sent_again(s3, folder):
    (folder / ".runfold").mkdir()
    beat = folder / ".runfold" / "heartbeat"
    beat.write_bytes(b"running")
    (folder / ".runfold" / "stop.seen").write_bytes(b"")
    url = f"{s3.url}/runs/seed-1"
    assert upload_folder(folder, url) == 3
    beat.write_bytes(b"stopped")
    # The store's clock may be ahead.
    os.utime(beat, (0, 0))
    assert upload_folder(folder, url) == 1
    assert stored(s3)[".runfold/heartbeat"] == b"stopped"
    assert upload_folder(folder, url) == 0


def test_another_runs_url_is_not_used(s3, folder, uploader):
    Store(f"{s3.url}/runs/seed-1").write("events.out.tfevents.0", b"another's")
    uploader.start()
    assert uploader.close() == []
    assert stored(s3) == {"events.out.tfevents.0": b"another's"}
    assert stored(s3, "runs/seed-1-2") == {EVENTS: b"first "}
    assert uploader.url == f"s3://{s3.bucket}/runs/seed-1-2"
    [message] = uploader.messages
    assert "this run goes to" in message


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (refusal(403, "AccessDenied", "Access Denied"), "permission denied"),
        (refusal(404, "NoSuchBucket", "The specified bucket does not exist"), "does not exist"),
    ],
)
def test_a_permanent_error_of_the_store_is_reported(s3, folder, uploader, answer, reason):
    s3.answer = answer
    uploader.start()
    wait_for(lambda: uploader.messages)
    assert reason in uploader.messages[0]
    # Waiting would be useless, so the uploader stops by itself.
    assert uploader.close(seconds=3600) == [EVENTS]
    assert "hush" not in uploader.explain([EVENTS])


def test_a_shared_folder_is_a_store_too(tmp_path, folder):
    for url in (str(tmp_path / "shared"), f"file://{tmp_path}/shared"):
        append(folder, b"more")
        uploader = Uploader(str(folder), url)
        uploader.start()
        assert uploader.close() == []
        assert {path.name for path in Path(tmp_path, "shared").iterdir()} == {EVENTS, ".runfold"}
        assert (tmp_path / "shared" / EVENTS).read_bytes() == (folder / EVENTS).read_bytes()


def test_a_forked_child_leaves_the_upload_to_its_parent(folder, tmp_path):
    uploader = Uploader(str(folder), tmp_path / "shared")
    uploader.start()
    uploader._pid += 1
    assert uploader.close() == []
    assert any(thread.name == "runfold-upload" for thread in threading.enumerate())
    uploader._pid -= 1
    assert uploader.close() == []


def test_a_large_artifact_does_not_delay_logged_data(s3, folder, uploader):
    (folder / "artifacts").mkdir()
    for name in ("one.pt", "two.pt"):
        (folder / "artifacts" / name).write_bytes(bytes(9 << 20))
    s3.held = b"/artifacts/"
    uploader.start()
    wait_for(lambda: any("PUT" in line and "/artifacts/" in line for line in s3.requests))
    append(folder, b"more")
    wait_for(lambda: stored(s3).get(EVENTS) == b"first more")
    assert list(stored(s3)) == [EVENTS]
    s3.released.set()
    assert uploader.close() == []
    assert {name: len(data) for name, data in stored(s3).items()} == {
        EVENTS: 10,
        "artifacts/one.pt": 9 << 20,
        "artifacts/two.pt": 9 << 20,
    }
    assert uploader.messages == []
    assert sum("PUT" in line and "/artifacts/" in line for line in s3.requests) == 2


def test_a_server_that_cannot_append_gets_the_whole_file(s3, folder, uploader):
    append(folder, bytes(6 << 20))
    uploader.start()
    wait_for(lambda: EVENTS in stored(s3))
    s3.refused = b"partNumber=1"
    append(folder, b"more")
    assert uploader.close() == []
    assert stored(s3) == {EVENTS: (folder / EVENTS).read_bytes()}
    assert any("partNumber=1" in line for line in s3.requests)


def test_links_that_point_outside_the_folder_are_not_uploaded(s3, folder, uploader):
    secret = folder.parent / "id_rsa"
    secret.write_bytes(b"private")
    (folder.parent / "elsewhere").mkdir()
    (folder.parent / "elsewhere" / "tensors.tsv").write_bytes(b"private")
    for name in ("artifacts/model.pt", "events.out.tfevents.9", "plugins/profile/x", "inner"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(secret)
    (folder / "linked").symlink_to(folder.parent / "elsewhere")
    (folder / "projector_config.pbtxt").write_text(
        'embeddings { tensor_path: "linked/tensors.tsv" metadata_path: "inner" }'
    )
    # A link within the folder is treated like a file.
    (folder / "events.out.tfevents.2").symlink_to(EVENTS)
    uploader.start()
    assert uploader.close() == []
    assert b"private" not in stored(s3).values()
    assert set(stored(s3)) == {EVENTS, "events.out.tfevents.2", "projector_config.pbtxt"}
    [message] = uploader.messages
    assert message == (
        f"Links that point outside {folder} are not uploaded: artifacts/model.pt, "
        "events.out.tfevents.9, inner and 2 more. Copy the files into the folder to upload them."
    )


def test_upload_folder_warns_about_skipped_links(tmp_path, folder):
    (folder / "events.out.tfevents.9").symlink_to("/etc/hostname")
    with pytest.warns(UserWarning, match=r"point outside .* seed-1/events\.out\.tfevents\.9\."):
        assert upload_folder(folder.parent, tmp_path / "copy") == 1
    assert os.listdir(tmp_path / "copy" / "seed-1") == [EVENTS]


@pytest.mark.fault(73)
def test_a_run_that_starts_at_the_same_moment_gets_its_own_url(s3, tmp_path, folder, uploader):
    # The first run has claimed its URL, but its event file has not arrived yet.
    s3.held = b"tfevents"
    uploader.start()
    wait_for(lambda: any("PUT" in line and "claim" in line for line in s3.requests))
    other_folder = tmp_path / "other" / "seed-1"
    other_folder.mkdir(parents=True)
    (other_folder / "events.out.tfevents.2").write_bytes(b"second")
    messages: list[str] = []
    other = Uploader(str(other_folder), f"{s3.url}/runs/seed-1", messages.append)
    other.start()
    wait_for(lambda: messages)
    s3.released.set()
    assert uploader.close() == other.close() == []
    assert stored(s3) == {EVENTS: b"first "}
    assert stored(s3, "runs/seed-1-2") == {"events.out.tfevents.2": b"second"}


def test_only_one_of_many_claims_on_a_shared_folder_succeeds(tmp_path):
    names = [f"claimed-{number}" for number in range(20)]
    barrier = threading.Barrier(8)
    won: list[list[bool]] = []

    def claim():
        store = Store(f"file://{tmp_path}/shared")
        barrier.wait()
        won.append([store.create(name, b"x") for name in names])

    threads = [threading.Thread(target=claim) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [sum(column) for column in zip(*won, strict=True)] == [1] * len(names)


def test_a_claim_is_recognized_if_its_response_was_lost(s3, folder, uploader):
    store = Store(f"{s3.url}/runs/seed-1")
    assert uploader._claims(store)
    assert uploader._claims(store)
    assert not Uploader(str(folder), store.url)._claims(store)


def test_uploads_work_without_conditional_writes(s3, folder, uploader):
    s3.refused_header = b"If-None-Match"
    uploader.start()
    assert uploader.close() == []
    assert stored(s3) == {EVENTS: b"first "}
    assert uploader.messages == []
