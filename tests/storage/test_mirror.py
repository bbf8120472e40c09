"""The copy of a remote log: only what is new is fetched, and it is what the store has."""

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
    """The files of the copy and what is in them."""
    root = Path(mirror.path)
    files = [path for path in root.rglob("*") if path.is_file()]
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def test_what_reading_needs_is_fetched_and_nothing_else(store, mirror):
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
    assert mirror.sync()
    assert copied(mirror) == needed
    assert not mirror.sync()


def test_of_a_file_that_grew_only_the_new_bytes_are_fetched(s3, store, mirror):
    data = os.urandom(3 << 20)
    store.write(f"a/{EVENTS}", data)
    mirror.sync()
    assert s3.received > len(data)
    s3.received = 0
    assert not mirror.sync()
    assert s3.received < 5_000
    data += os.urandom(10_000)
    store.write(f"a/{EVENTS}", data)
    s3.received = 0
    inode = os.stat(f"{mirror.path}/a/{EVENTS}").st_ino
    assert mirror.sync()
    assert s3.received < 30_000
    assert copied(mirror) == {f"a/{EVENTS}": data}
    assert os.stat(f"{mirror.path}/a/{EVENTS}").st_ino == inode


def test_a_copy_that_broke_off_is_gone_on_with(s3, store, mirror):
    data = os.urandom(20 << 20)
    open_system().pipe_file(f"{s3.bucket}/runs/a/{EVENTS}", data)
    s3.refuse_after = 12 << 20
    with pytest.warns(UserWarning, match="What was fetched before is shown"):
        mirror.sync()
    there = copied(mirror)[f"a/{EVENTS}"]
    assert 0 < len(there) < len(data)
    assert data.startswith(there)
    s3.mend()
    assert mirror.sync()
    assert s3.received < len(data) - len(there) + 50_000
    assert copied(mirror) == {f"a/{EVENTS}": data}


@pytest.mark.parametrize("new", [b"x", b"another and a longer one", b""])
def test_a_file_that_was_replaced_is_fetched_anew(store, mirror, new):
    mirror.sync()
    os.utime(f"{mirror.path}/a/{EVENTS}", (1, 1))
    store.write(f"a/{EVENTS}", new)
    assert mirror.sync()
    assert copied(mirror) == {f"a/{EVENTS}": new}


def test_another_process_with_a_newer_listing_is_not_undone(store, mirror):
    mirror.sync()
    path = f"{mirror.path}/a/{EVENTS}"
    with open(path, "ab") as file:
        file.write(b" and more")
    os.utime(path, (4e9, 4e9))
    mirror.sync()
    assert copied(mirror) == {f"a/{EVENTS}": b"first and more"}


def test_what_is_deleted_goes_and_what_never_was_there_stays(store, mirror):
    store.write(f"b/{EVENTS}", b"second")
    mirror.sync()
    os.makedirs(f"{mirror.path}/.runfold")
    with open(f"{mirror.path}/.runfold/experiments.json", "w") as file:
        file.write("{}")
    store.delete(f"a/{EVENTS}")
    assert mirror.sync()
    assert copied(mirror) == {f"b/{EVENTS}": b"second", ".runfold/experiments.json": b"{}"}
    assert not os.path.exists(f"{mirror.path}/a")
    store.delete(f"b/{EVENTS}")
    with pytest.raises(LogdirNotFound):
        mirror.sync()
    assert copied(mirror) == {".runfold/experiments.json": b"{}"}


def test_several_files_are_fetched_at_a_time(s3, store, mirror):
    for number in range(4):
        store.write(f"{number}/{EVENTS}", b"data")
    s3.meeting = threading.Barrier(5, timeout=WAIT)
    assert mirror.sync()
    assert len(copied(mirror)) == 5
    assert not s3.meeting.broken


def test_a_store_out_of_reach_leaves_the_copy_as_it_is(s3, mirror):
    mirror.sync()
    s3.refuse()
    with pytest.warns(UserWarning, match="What was fetched before is shown") as warned:
        assert not mirror.sync()
    assert str(warned[0].message).startswith(f"s3://{s3.bucket}/runs: ")
    assert mirror.trouble
    assert not mirror.sync()  # it is said once
    assert copied(mirror) == {f"a/{EVENTS}": b"first"}
    s3.mend()
    assert not mirror.sync()
    assert mirror.trouble == ""


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (refusal(403, "AccessDenied", "Access Denied"), "permission denied"),
        (refusal(404, "NoSuchBucket", "The specified bucket does not exist"), "does not exist"),
        (refusal(500, "InternalError", "We encountered an internal error."), "internal error"),
    ],
)
def test_a_store_that_says_no_is_an_error_where_there_is_no_copy(s3, mirror, answer, said):
    s3.answer = answer
    with pytest.raises(CannotStore, match=said) as raised:
        mirror.sync()
    assert "hush" not in str(raised.value)
    assert "Check the URL, the credentials and the network" in str(raised.value)


def test_nothing_there_names_what_is_near(mirror):
    wrong = Mirror(mirror.url.replace("/runs", "/runz"))
    with pytest.raises(LogdirNotFound, match="Did you mean 'runs'"):
        wrong.sync()


def test_of_an_empty_bucket_it_is_not_asked_whether_that_one_was_meant(s3):
    with pytest.raises(LogdirNotFound, match="nothing with this prefix") as raised:
        Mirror(s3.url).sync()
    assert str(raised.value).count(s3.bucket) == 1


def test_no_name_leads_out_of_the_copy(s3, tmp_path, mirror):
    system = open_system()
    for key in (f"runs/../../../{EVENTS}", f"runs/a//../{EVENTS}"):
        system.call_s3("put_object", Bucket=s3.bucket, Key=key, Body=b"evil")
    with pytest.warns(UserWarning, match="2 keys of the store cannot be saved as a file here"):
        mirror.sync()
    assert copied(mirror) == {f"a/{EVENTS}": b"first"}
    assert len(list((tmp_path / "cache").rglob("*tfevents*"))) == 1


def test_one_file_and_a_glob_are_mirrored_as_such(store, mirror):
    store.write("b/events.out.tfevents.2", b"second")
    one = Mirror(f"{store.url}/a/{EVENTS}")
    assert one.sync()
    assert Path(one.path).read_bytes() == b"first"
    some = Mirror(f"{store.url}/?")
    some.sync()
    assert some.path.endswith("/runs/?")
    assert os.path.exists(some.path.replace("?", "b/events.out.tfevents.2"))


def test_a_path_of_a_copy_is_known_by_its_url(store, mirror, tmp_path):
    mine = open_mirror(mirror.url)
    assert open_mirror(mirror.url) is mine
    assert find_origin(os.path.join(mine.path, "a")) == f"{store.url}/a"
    assert find_origin(mine.path) == store.url
    for other in (str(tmp_path), "runs/a", f"{store.url}/b"):
        assert find_origin(other) == other


def test_a_copy_is_for_its_owner_only(tmp_path, mirror):
    mirror.sync()
    assert (tmp_path / "cache" / "runfold" / "mirror").stat().st_mode & 0o077 == 0


def test_what_another_process_fetched_meanwhile_is_left_to_it(s3, store, mirror):
    mirror.sync()

    class Late(Store):
        """Lists, and then another process is quicker."""

        def list_files(self):
            listed = super().list_files()
            store.write(f"b/{EVENTS}", b"second")
            Mirror(store.url).sync()
            return listed

    mirror.store = Late(store.url)
    mirror.sync()
    assert copied(mirror) == {f"a/{EVENTS}": b"first", f"b/{EVENTS}": b"second"}


def test_a_first_fetch_that_failed_is_no_copy(s3, mirror):
    s3.refused = b"tfevents"
    for _ in range(2):
        with pytest.raises(CannotStore, match="Nothing of it was fetched before"):
            mirror.sync()
    s3.mend()
    assert mirror.sync()
    assert copied(mirror) == {f"a/{EVENTS}": b"first"}


def test_a_small_file_that_is_written_twice_in_a_second_is_fetched_twice(store, mirror):
    for state in (b"running", b"stopped", b"crashed"):
        store.write("a/.runfold/heartbeat", state)
        assert mirror.sync()
        assert copied(mirror)["a/.runfold/heartbeat"] == state


def test_one_file_that_may_not_be_read_keeps_no_other_from_being_fetched(s3, store, mirror):
    names = [f"b{number:02}/{EVENTS}" for number in range(20)]
    for name in names:
        store.write(name, b"more")
    s3.refused = f"runs/a/{EVENTS}".encode()
    s3.refusal = refusal(403, "InvalidObjectState", "The object is archived.")
    with pytest.warns(UserWarning, match="permission denied .*archived"):
        assert mirror.sync()
    assert {name for name, data in copied(mirror).items() if data} == set(names)
    assert "archived" in mirror.trouble
    s3.mend()
    assert mirror.sync()
    assert copied(mirror) == {f"a/{EVENTS}": b"first", **dict.fromkeys(names, b"more")}


def test_a_store_that_never_answers_is_asked_a_few_times_only(s3, mirror):
    s3.requests.clear()
    s3.reset_after = 0
    with pytest.raises(CannotStore, match="Nothing of it was fetched before"):
        mirror.sync()
    # Where nothing comes back at all, the driver waits for 15 seconds each time.
    assert len(s3.requests) <= 8


@pytest.mark.fault(72)
@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(f"{'x' * 300}/{EVENTS}", id="a part that is too long"),
        pytest.param(f"run-50/{EVENTS}/deeper/{EVENTS}", id="below a key that is a file"),
        pytest.param(f"/abs/{EVENTS}", id="an empty part"),
    ],
)
def test_keys_that_cannot_be_files_cost_no_other_run(s3, store, mirror, bad):
    names = [f"run-{number:02}/{EVENTS}" for number in range(100)]
    for name in names:
        store.write(name, name.encode())
    open_system().call_s3("put_object", Bucket=s3.bucket, Key=f"runs/{bad}", Body=b"bad")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert mirror.sync()
        # Once: it is the same key the next time.
        assert not mirror.sync()
    found = copied(mirror)
    assert {name: found[name] for name in names} == {name: name.encode() for name in names}
    assert mirror.trouble == ""
    assert set(found) == {f"a/{EVENTS}", *names}
    [warning] = caught
    assert "1 key of the store cannot be saved as a file here" in str(warning.message)


def test_a_path_that_the_disk_refuses_costs_no_other_run(s3, store, mirror):
    # Each part is short enough, and the whole is not.
    name = "/".join(["d" * 250] * 3) + f"/{EVENTS}"
    mirror.root = mirror.path = os.path.join(mirror.root, *["e" * 250] * 13)
    os.makedirs(mirror.root)
    open_system().call_s3("put_object", Bucket=s3.bucket, Key=f"runs/{name}", Body=b"bad")
    with pytest.warns(UserWarning, match="1 key of the store cannot be saved as a file here"):
        assert mirror.sync()
    with open(os.path.join(mirror.root, "a", EVENTS), "rb") as file:
        assert file.read() == b"first"


@pytest.mark.fault(54)
def test_a_listing_of_several_pages_is_read_to_its_end(s3, store, mirror):
    keys = {f"{s3.bucket}/runs/b/{number:04}": b"" for number in range(1000)}
    open_system().pipe(keys)
    store.write(f"c/{EVENTS}", b"on the second page")
    s3.requests.clear()
    assert mirror.sync()
    assert sum("list-type" in one for one in s3.requests) > 1
    assert copied(mirror) == {f"a/{EVENTS}": b"first", f"c/{EVENTS}": b"on the second page"}


@pytest.mark.fault(54)
def test_an_object_that_is_read_to_its_exact_end_is_not_asked_for_again(s3, store, mirror):
    mirror.sync()
    s3.requests.clear()
    assert not mirror.sync()
    assert [one for one in s3.requests if EVENTS in one] == []
    store.write(f"a/{EVENTS}", b"first, and a second")
    assert mirror.sync()
    assert copied(mirror) == {f"a/{EVENTS}": b"first, and a second"}


@pytest.mark.fault(54)
def test_an_object_overwritten_in_the_same_second_is_known_by_its_etag(s3, store, mirror):
    mirror.sync()
    for data in (b"other", b"third", b"x"):
        store.write(f"a/{EVENTS}", data)  # by the clock of the store, often as old as the last
        assert mirror.sync()
        assert copied(mirror) == {f"a/{EVENTS}": data}


@pytest.mark.fault(54)
def test_a_store_that_is_busy_for_a_moment_is_asked_again(s3, store, mirror):
    s3.answers = [refusal(503, "SlowDown", "Please reduce your request rate.")]
    assert mirror.sync()
    assert s3.answers == []
    assert copied(mirror) == {f"a/{EVENTS}": b"first"}
