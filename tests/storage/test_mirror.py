"""The local copy of a remote log: it matches the store, and only new data is fetched."""

import os
import threading
import warnings
from pathlib import Path

import pytest
from helpers.stores import WAIT, open_system, refusal

from runfold._storage.local_paths import find_origin, open_mirror
from runfold._storage.mirror import Mirror
from runfold._storage.store import Store
from runfold.errors import CannotStore, LogdirNotFound

EVENTS = "events.out.tfevents.1"


@pytest.fixture
def store(s3):
    return Store(f"{s3.url}/runs")


@pytest.fixture
def mirror(s3, store):
    """A mirror of a logdir with one run, not yet fetched."""
    store.write(f"a/{EVENTS}", b"first")
    return Mirror(store.url)


def copied(mirror):
    """Return the files in the copy and their contents."""
    root = Path(mirror.path)
    files = [path for path in root.rglob("*") if path.is_file()]
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def test_only_files_needed_for_reading_are_fetched(store, mirror):
    needed = {
        f"a/{EVENTS}": b"first",
        f"a b/é %+?#/{EVENTS}": b"odd",
        "a/.runfold/heartbeat": b"{}",
        "a/.runfold/stop": b"{}",
        "a/.runfold/stop.seen": b"{}",
        "a/projector_config.pbtxt": b'embeddings { tensor_path: "0/tensors.tsv" }',
        "a/0/tensors.tsv": b"1\t2\n",
        "a/plugins/profile/x": b"profile",
    }
    others = ["a/checkpoint.pt", "a/artifacts/model.pt", "a/.runfold/claim", "a/1/tensors.tsv"]
    for name, data in (*needed.items(), *((name, b"other") for name in others)):
        store.write(name, data)
    assert mirror.sync(is_copied=True)
    assert copied(mirror) == needed
    assert not mirror.sync(is_copied=True)


def test_only_the_new_bytes_of_a_grown_file_are_fetched(s3, store, mirror):
    data = os.urandom(3 << 20)
    store.write(f"a/{EVENTS}", data)
    mirror.sync(is_copied=True)
    assert s3.received > len(data)
    s3.received = 0
    assert not mirror.sync(is_copied=True)
    assert s3.received < 5_000
    data += os.urandom(10_000)
    store.write(f"a/{EVENTS}", data)
    s3.received = 0
    inode = os.stat(f"{mirror.path}/a/{EVENTS}").st_ino
    assert mirror.sync(is_copied=True)
    assert s3.received < 30_000
    assert copied(mirror) == {f"a/{EVENTS}": data}
    assert os.stat(f"{mirror.path}/a/{EVENTS}").st_ino == inode


def test_an_interrupted_copy_is_continued(s3, store, mirror):
    data = os.urandom(20 << 20)
    open_system().pipe_file(f"{s3.bucket}/runs/a/{EVENTS}", data)
    s3.refuse_after = 12 << 20
    with pytest.warns(UserWarning, match="Using the local copy"):
        mirror.sync(is_copied=True)
    partial = copied(mirror)[f"a/{EVENTS}"]
    assert 0 < len(partial) < len(data)
    assert data.startswith(partial)
    s3.mend()
    assert mirror.sync(is_copied=True)
    assert s3.received < len(data) - len(partial) + 50_000
    assert copied(mirror) == {f"a/{EVENTS}": data}


@pytest.mark.parametrize("new", [b"x", b"another and a longer one", b""])
def test_a_replaced_file_is_fetched_again(store, mirror, new):
    mirror.sync(is_copied=True)
    os.utime(f"{mirror.path}/a/{EVENTS}", (1, 1))
    store.write(f"a/{EVENTS}", new)
    assert mirror.sync(is_copied=True)
    assert copied(mirror) == {f"a/{EVENTS}": new}


def test_newer_data_from_another_process_is_kept(store, mirror):
    mirror.sync(is_copied=True)
    path = f"{mirror.path}/a/{EVENTS}"
    with open(path, "ab") as file:
        file.write(b" and more")
    os.utime(path, (4e9, 4e9))
    mirror.sync(is_copied=True)
    assert copied(mirror) == {f"a/{EVENTS}": b"first and more"}


def test_deleted_files_are_removed_and_local_files_are_kept(store, mirror):
    store.write(f"b/{EVENTS}", b"second")
    mirror.sync(is_copied=True)
    os.makedirs(f"{mirror.path}/.runfold")
    with open(f"{mirror.path}/.runfold/experiments.json", "w") as file:
        file.write("{}")
    store.delete(f"a/{EVENTS}")
    assert mirror.sync(is_copied=True)
    assert copied(mirror) == {f"b/{EVENTS}": b"second", ".runfold/experiments.json": b"{}"}
    assert not os.path.exists(f"{mirror.path}/a")
    store.delete(f"b/{EVENTS}")
    with pytest.raises(LogdirNotFound):
        mirror.sync(is_copied=True)
    assert copied(mirror) == {".runfold/experiments.json": b"{}"}


def test_several_files_are_fetched_in_parallel(s3, store, mirror):
    for number in range(4):
        store.write(f"{number}/{EVENTS}", b"data")
    s3.meeting = threading.Barrier(5, timeout=WAIT)
    assert mirror.sync(is_copied=True)
    assert len(copied(mirror)) == 5
    assert not s3.meeting.broken


def test_an_unreachable_store_leaves_the_copy_unchanged(s3, mirror):
    mirror.sync(is_copied=True)
    s3.refuse()
    with pytest.warns(UserWarning, match="Using the local copy") as warned:
        assert not mirror.sync(is_copied=True)
    assert str(warned[0].message).startswith(f"s3://{s3.bucket}/runs: ")
    assert mirror.trouble
    assert not mirror.sync(is_copied=True)  # without a second warning
    assert copied(mirror) == {f"a/{EVENTS}": b"first"}
    s3.mend()
    assert not mirror.sync(is_copied=True)
    assert mirror.trouble == ""


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (refusal(403, "AccessDenied", "Access Denied"), "permission denied"),
        (refusal(404, "NoSuchBucket", "The specified bucket does not exist"), "does not exist"),
        (refusal(500, "InternalError", "We encountered an internal error."), "internal error"),
    ],
)
def test_without_a_copy_an_error_of_the_store_is_raised(s3, mirror, answer, message):
    s3.answer = answer
    with pytest.raises(CannotStore, match=message) as raised:
        mirror.sync(is_copied=True)
    assert "hush" not in str(raised.value)
    assert "Check the URL, the credentials and the network" in str(raised.value)


def test_a_wrong_url_lists_close_matches(mirror):
    wrong = Mirror(mirror.url.replace("/runs", "/runz"))
    with pytest.raises(LogdirNotFound, match="Did you mean 'runs'"):
        wrong.sync()


def test_an_empty_bucket_is_not_its_own_suggestion(s3):
    with pytest.raises(LogdirNotFound, match="nothing has this prefix") as raised:
        Mirror(s3.url).sync()
    assert str(raised.value).count(s3.bucket) == 1


def test_no_key_points_outside_the_copy(s3, tmp_path, mirror):
    system = open_system()
    for key in (f"runs/../../../{EVENTS}", f"runs/a//../{EVENTS}"):
        system.call_s3("put_object", Bucket=s3.bucket, Key=key, Body=b"evil")
    with pytest.warns(UserWarning, match="2 keys in the store cannot be saved as a local file"):
        mirror.sync(is_copied=True)
    assert copied(mirror) == {f"a/{EVENTS}": b"first"}
    assert len(list((tmp_path / "cache").rglob("*tfevents*"))) == 1


def test_a_single_file_and_a_glob_are_mirrored(store, mirror):
    store.write("b/events.out.tfevents.2", b"second")
    single = Mirror(f"{store.url}/a/{EVENTS}")
    assert single.sync(is_copied=True)
    assert Path(single.path).read_bytes() == b"first"
    some = Mirror(f"{store.url}/?")
    some.sync(is_copied=True)
    assert some.path.endswith("/runs/?")
    assert os.path.exists(some.path.replace("?", "b/events.out.tfevents.2"))


def test_the_url_of_a_copied_path_is_known(store, mirror, tmp_path):
    mine = open_mirror(mirror.url)
    assert open_mirror(mirror.url) is mine
    assert find_origin(os.path.join(mine.path, "a")) == f"{store.url}/a"
    assert find_origin(mine.path) == store.url
    for other in (str(tmp_path), "runs/a", f"{store.url}/b"):
        assert find_origin(other) == other


def test_only_its_owner_can_read_a_copy(tmp_path, mirror):
    mirror.sync(is_copied=True)
    assert (tmp_path / "cache" / "runfold" / "mirror").stat().st_mode & 0o077 == 0


def test_files_fetched_by_another_process_in_the_meantime_are_kept(s3, store, mirror):
    mirror.sync(is_copied=True)

    class Late(Store):
        """A store for which another process fetches newer files just after a listing."""

        def list_files(self):
            listed = super().list_files()
            store.write(f"b/{EVENTS}", b"second")
            Mirror(store.url).sync(is_copied=True)
            return listed

    mirror.store = Late(store.url)
    mirror.sync(is_copied=True)
    assert copied(mirror) == {f"a/{EVENTS}": b"first", f"b/{EVENTS}": b"second"}


def test_a_failed_first_fetch_leaves_no_copy(s3, mirror):
    s3.refused = b"tfevents"
    for _ in range(2):
        with pytest.raises(CannotStore, match="There is no local copy to show instead"):
            mirror.sync(is_copied=True)
    s3.mend()
    assert mirror.sync(is_copied=True)
    assert copied(mirror) == {f"a/{EVENTS}": b"first"}


def test_a_small_file_written_twice_in_a_second_is_fetched_twice(store, mirror):
    for state in (b"running", b"stopped", b"crashed"):
        store.write("a/.runfold/heartbeat", state)
        assert mirror.sync(is_copied=True)
        assert copied(mirror)["a/.runfold/heartbeat"] == state


def test_an_unreadable_file_does_not_prevent_fetching_others(s3, store, mirror):
    names = [f"b{number:02}/{EVENTS}" for number in range(20)]
    for name in names:
        store.write(name, b"more")
    s3.refused = f"runs/a/{EVENTS}".encode()
    s3.refusal = refusal(403, "InvalidObjectState", "The object is archived.")
    with pytest.warns(UserWarning, match="permission denied .*archived"):
        assert mirror.sync(is_copied=True)
    assert {name for name, data in copied(mirror).items() if data} == set(names)
    assert "archived" in mirror.trouble
    s3.mend()
    assert mirror.sync(is_copied=True)
    assert copied(mirror) == {f"a/{EVENTS}": b"first", **dict.fromkeys(names, b"more")}


def test_a_store_that_never_answers_gets_only_a_few_requests(s3, mirror):
    s3.requests.clear()
    s3.reset_after = 0
    with pytest.raises(CannotStore, match="There is no local copy to show instead"):
        mirror.sync(is_copied=True)
    # The driver waits 15 seconds each time that it gets no response.
    assert len(s3.requests) <= 10


@pytest.mark.fault(72)
@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(f"{'x' * 300}/{EVENTS}", id="a part that is too long"),
        pytest.param(f"run-50/{EVENTS}/deeper/{EVENTS}", id="below a key that is a file"),
        pytest.param(f"/abs/{EVENTS}", id="an empty part"),
    ],
)
def test_keys_that_cannot_be_files_do_not_affect_other_runs(s3, store, mirror, bad):
    names = [f"run-{number:02}/{EVENTS}" for number in range(100)]
    for name in names:
        store.write(name, name.encode())
    open_system().call_s3("put_object", Bucket=s3.bucket, Key=f"runs/{bad}", Body=b"bad")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert mirror.sync(is_copied=True)
        # No second warning for the same key.
        assert not mirror.sync(is_copied=True)
    files = copied(mirror)
    assert {name: files[name] for name in names} == {name: name.encode() for name in names}
    assert mirror.trouble == ""
    assert set(files) == {f"a/{EVENTS}", *names}
    [warning] = caught
    assert "1 key in the store cannot be saved as a local file" in str(warning.message)


def test_a_path_that_the_disk_rejects_does_not_affect_other_runs(s3, store, mirror):
    # Each part is short enough, but the whole path is too long.
    name = "/".join(["d" * 250] * 3) + f"/{EVENTS}"
    mirror.root = mirror.path = os.path.join(mirror.root, *["e" * 250] * 13)
    os.makedirs(mirror.root)
    open_system().call_s3("put_object", Bucket=s3.bucket, Key=f"runs/{name}", Body=b"bad")
    with pytest.warns(UserWarning, match="1 key in the store cannot be saved as a local file"):
        assert mirror.sync(is_copied=True)
    with open(os.path.join(mirror.root, "a", EVENTS), "rb") as file:
        assert file.read() == b"first"


@pytest.mark.fault(54)
def test_all_pages_of_a_listing_are_read(s3, store, mirror):
    keys = {f"{s3.bucket}/runs/b/{number:04}": b"" for number in range(1000)}
    open_system().pipe(keys)
    store.write(f"c/{EVENTS}", b"on the second page")
    s3.requests.clear()
    assert mirror.sync(is_copied=True)
    assert sum("list-type" in request for request in s3.requests) > 1
    assert copied(mirror) == {f"a/{EVENTS}": b"first", f"c/{EVENTS}": b"on the second page"}


@pytest.mark.fault(54)
def test_an_object_that_was_read_completely_is_not_requested_again(s3, store, mirror):
    mirror.sync(is_copied=True)
    s3.requests.clear()
    assert not mirror.sync(is_copied=True)
    assert [request for request in s3.requests if EVENTS in request] == []
    store.write(f"a/{EVENTS}", b"first, and a second")
    assert mirror.sync(is_copied=True)
    assert copied(mirror) == {f"a/{EVENTS}": b"first, and a second"}


@pytest.mark.fault(54)
def test_an_object_overwritten_in_the_same_second_is_detected_by_its_etag(s3, store, mirror):
    mirror.sync(is_copied=True)
    for data in (b"other", b"third", b"x"):
        store.write(f"a/{EVENTS}", data)  # often in the same second by the store's clock
        assert mirror.sync(is_copied=True)
        assert copied(mirror) == {f"a/{EVENTS}": data}


@pytest.mark.fault(54)
def test_a_request_to_a_busy_store_is_repeated(s3, store, mirror):
    s3.answers = [refusal(503, "SlowDown", "Please reduce your request rate.")]
    assert mirror.sync(is_copied=True)
    assert s3.answers == []
    assert copied(mirror) == {f"a/{EVENTS}": b"first"}
