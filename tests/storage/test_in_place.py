"""Logs in a store that are read without a copy: the same results, and only what is needed."""

import importlib.util
import multiprocessing
import os
import pickle
import threading
import warnings

import numpy as np
import pytest
from helpers.cli_runs import losses, write, write_kinds
from helpers.odd_runs import bits, write_odd_runs
from helpers.stores import WAIT, open_system, refusal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import runfold as rf
from runfold._logdir.discover import discover
from runfold._logdir.run_log import RunLog
from runfold._storage import remote_files, upload_folder
from runfold._storage.local_paths import Places
from runfold._storage.mirror import Mirror
from runfold._storage.remote_files import RemoteFiles
from runfold._storage.store import Store
from runfold.errors import CannotStore, FileChanged, LogdirNotFound

EVENTS = "events.out.tfevents.1"

slow = settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(params=["obstore", "s3fs"])
def driver(request, monkeypatch):
    """Each of the two drivers for S3."""
    if request.param == "s3fs":
        find = importlib.util.find_spec
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda name: None if name == "obstore" else find(name)
        )
    return request.param


@pytest.fixture
def tiny_pieces(monkeypatch):
    """Small files are read like large ones: in pieces."""
    monkeypatch.setattr(remote_files, "_PIECE", 1000)
    monkeypatch.setattr(remote_files, "_WHOLE", 200)
    monkeypatch.setattr(remote_files, "_RANGE", 300)


def put(s3, **files):
    """Store event files by run."""
    open_system().pipe({f"{s3.bucket}/runs/{run}/{EVENTS}": data for run, data in files.items()})


def copies(tmp_path):
    return sorted(path.name for path in (tmp_path / "cache").rglob("*") if path.is_file())


def event_requests(s3):
    return [request for request in s3.requests if "tfevents" in request]


def series_of(runs):
    return {
        (name, tag): (
            *(column.tobytes() for column in (series.steps, series.wall_times, series.values)),
            series.hidden,
        )
        for name, run in runs.items()
        for tag, series in run._log.scalars.items()
    }


def test_event_files_are_not_copied(s3, tmp_path, driver):
    write_kinds(tmp_path / "runs" / "a")
    upload_folder(tmp_path / "runs", f"{s3.url}/runs")
    runs = rf.open(f"{s3.url}/runs")
    assert bits(runs.scalars()) == bits(rf.open(tmp_path / "runs").scalars())
    assert copies(tmp_path) == []


@slow
@given(
    st.integers(0, 400), st.sampled_from(["session", "step", "keep"]), st.sampled_from([None, 6000])
)
def test_results_equal_those_of_a_copy(s3, tmp_path, tiny_pieces, seed, restarts, limit):
    folder = tmp_path / f"logs-{seed}"
    if not folder.exists():
        write_odd_runs(folder, seed)
        upload_folder(folder, f"{s3.url}/{seed}")
    url = f"{s3.url}/{seed}"
    options = {"restarts": restarts, "limit_memory": limit}
    places = [rf.open(url, **options), rf.open(url, copy=True, **options)]
    (here, copied) = places
    assert series_of(here) == series_of(copied)
    assert here.tags == copied.tags
    assert here.hidden == copied.hidden
    assert bits(here.problems()) == bits(copied.problems())
    assert bits(here.hparams()) == bits(copied.hparams())
    assert bits(here.text()) == bits(copied.text())
    assert bits(here.table()) == bits(copied.table())
    assert bits(here.scalars()) == bits(rf.open(folder, **options).scalars())


names = st.sampled_from(
    (
        *("a", "b-2", "b-10", "é %+?#", ".hidden", ".runfold", "plugins", "artifacts", "x" * 300),
        *("config.yaml", "1700000000.5", ".runfold-0123456789abcdef.tmp", "proc", ".hydra"),
    )
)
files = st.sampled_from(
    (
        *(EVENTS, "events.out.tfevents.2.profile-empty", "my.tfevents", "config.yaml"),
        *("projector_config.pbtxt", "hparams.yaml", "heartbeat", "checkpoint.pt", "a"),
    )
)
keys = st.lists(st.tuples(st.lists(names, max_size=4), files), min_size=1, max_size=12)
patterns = st.lists(
    st.sampled_from(["*", "**", "?", "b-*", "[ab]", ".*", "a", EVENTS, "*.tfevents"]), max_size=3
)


@settings(slow, max_examples=60)
@given(keys, patterns)
def test_a_listing_gives_the_runs_that_a_search_of_the_copy_finds(s3, tmp_path, keys, patterns):
    """The list of runs, their files in order, and all problems are equal."""
    objects = {"/".join([*folders, name]): b"\n" for folders, name in keys}
    number = len(list(tmp_path.glob("copy-*")))
    (tmp_path / f"copy-{number}").mkdir()
    base = f"{s3.bucket}/{number}"
    open_system().pipe({f"{base}/{key}": data for key, data in objects.items()})
    url = "/".join([f"s3://{base}", *patterns])
    found = []
    for is_copied in (False, True):
        places = Places((url,), is_copied)
        mirror = Mirror(url, tmp_path / f"copy-{number}" / str(is_copied))
        places.mirrors, places.paths = [mirror], (mirror.path,)
        found.append(_search(places))
    assert found[0] == found[1]


def _search(places):
    """Return all that a search finds, with paths relative to the copy."""
    root = places.mirrors[0].root
    try:
        with warnings.catch_warnings(action="ignore"):  # some keys are skipped
            places.sync()
        found = discover(*places.paths, places=places)
    except LogdirNotFound:
        return "not found"

    def relative(path):
        return None if path is None else os.path.relpath(path, root)

    return (
        [
            (name, run.name, relative(run.path), [*map(relative, run.files)], relative(run.config))
            for name, run in found.runs.items()
        ],
        [(problem.code, relative(problem.file)) for problem in found.problems],
        relative(found.base),
        {relative(folder): sorted(names) for folder, names in found.config_files.items()},
        [*map(relative, found.tops)],
    )


def test_several_urls_in_one_logdir(s3, tmp_path):
    for number in range(3):
        write(tmp_path / "runs" / f"lr-{number}" / "a", losses(number, 1.0))
    upload_folder(tmp_path / "runs", f"{s3.url}/runs")
    first, second = f"{s3.url}/runs/lr-0/a/{EVENTS}", f"{s3.url}/runs/lr-1"
    nested = rf.open(first, second, f"{s3.url}/runs")
    assert list(nested) == ["lr-0/a", "lr-1/a", "lr-2/a"]
    assert bits(nested.scalars()) == bits(rf.open(tmp_path / "runs").scalars())
    mixed = rf.open(second, tmp_path / "runs" / "lr-2")
    assert [run["train/loss"].values[0] for run in mixed.values()] == [1.0, 2.0]


def test_only_the_new_bytes_of_a_grown_file_are_read(s3, tmp_path, driver):
    write(tmp_path / "runs" / "a", losses(*np.random.default_rng(0).random(100_000)))
    upload_folder(tmp_path / "runs", f"{s3.url}/runs")
    runs = rf.open(f"{s3.url}/runs")
    s3.received = 0
    assert len(runs["a"]["train/loss"]) == 100_000
    assert s3.received > 4 << 20
    s3.received = 0
    assert not runs.refresh()
    assert s3.received < 5_000
    path = next((tmp_path / "runs").rglob(EVENTS))
    path.write_bytes(path.read_bytes() + _points(tmp_path, 1.0, 2.0))
    upload_folder(tmp_path / "runs", f"{s3.url}/runs")
    s3.received = 0
    changes = runs.refresh()
    assert (changes.points, changes.reread) == (2, [])
    assert s3.received < 10_000
    assert runs["a"]["train/loss"].values[-2:].tolist() == [1.0, 2.0]


def _points(tmp_path, *numbers):
    """Return records to append to an event file."""
    return write(tmp_path / "other", losses(*numbers)).read_bytes()


def test_an_unchanged_object_is_not_requested_again(s3, tmp_path):
    write(tmp_path / "runs" / "a", losses(1.0))
    upload_folder(tmp_path / "runs", f"{s3.url}/runs")
    runs = rf.open(f"{s3.url}/runs").load()
    s3.requests.clear()
    assert not runs.refresh()
    assert event_requests(s3) == []


@pytest.mark.fault(54)
@pytest.mark.parametrize("new", [(7.0, 8.0), (5.0,), (4.0, 3.0, 2.0, 1.0), ()])
def test_a_replaced_object_is_read_again(s3, tmp_path, driver, new):
    path = write(tmp_path / "a", losses(1.0, 2.0))
    put(s3, a=path.read_bytes())
    runs = rf.open(f"{s3.url}/runs").load()
    put(s3, a=write(tmp_path / "b", losses(*new)).read_bytes() if new else b"")
    changes = runs.refresh()
    assert [os.path.basename(file) for file in changes.reread] == [EVENTS]
    assert series_of(runs) == series_of(rf.open(f"{s3.url}/runs"))
    assert runs.scalars()["value"].tolist() == list(new)


def test_an_object_that_is_replaced_between_the_listing_and_the_read(s3, tmp_path, driver):
    data = {n: write(tmp_path / str(n), losses(*range(n))).read_bytes() for n in (1, 2, 300)}
    for first, second in ((1, 300), (300, 1), (2, 1)):
        put(s3, a=data[first])
        runs = rf.open(f"{s3.url}/runs")
        put(s3, a=data[second])
        # A prefix of the new file is as long as the old one.
        values = runs["a"]["train/loss"].values
        assert values.tolist() == [*map(float, range(len(values)))]
        runs.refresh()
        assert runs["a"]["train/loss"].values.tolist() == [*map(float, range(second))]


def test_an_object_that_is_replaced_while_it_is_read(s3, tmp_path, tiny_pieces, monkeypatch):
    old = write(tmp_path / "old", losses(*range(2000))).read_bytes()
    new = write(tmp_path / "new", losses(*range(5000, 8000))).read_bytes()
    put(s3, a=old)
    runs = rf.open(f"{s3.url}/runs")
    read, count = Store.read, 0

    def replace(store, *args):
        nonlocal count
        count += 1
        if count == 8:
            put(s3, a=new)
        return read(store, *args)

    monkeypatch.setattr(Store, "read", replace)
    values = runs["a"]["train/loss"].values
    assert values.tolist() == [*map(float, range(5000, 5000 + len(values)))]
    assert len(values) > 1900
    runs.refresh()
    assert runs["a"]["train/loss"].values.tolist() == [*map(float, range(5000, 8000))]


def test_an_object_that_grows_while_it_is_read(s3, tmp_path, tiny_pieces, monkeypatch):
    whole = write(tmp_path / "a", losses(*range(2000))).read_bytes()
    half = whole[: len(whole) // 2]
    put(s3, a=half)
    runs = rf.open(f"{s3.url}/runs")
    read, count = Store.read, 0

    def grow(store, *args):
        nonlocal count
        count += 1
        put(s3, a=whole[: len(half) + 100 * count])
        return read(store, *args)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "read", grow)
        assert len(runs["a"]["train/loss"]) >= 999
    put(s3, a=whole)
    changes = runs.refresh()
    assert changes.reread == []
    assert runs["a"]["train/loss"].values.tolist() == [*map(float, range(2000))]


def test_a_large_file_is_read_in_pieces(s3, tmp_path, tiny_pieces, driver):
    write_kinds(tmp_path / "runs" / "a")
    write(tmp_path / "runs" / "a", losses(*range(20_000)), "events.out.tfevents.2")
    upload_folder(tmp_path / "runs", f"{s3.url}/runs")
    runs, local = rf.open(f"{s3.url}/runs"), rf.open(tmp_path / "runs")
    for name in ("scalars", "images", "histograms", "text"):
        assert bits(getattr(runs, name)()) == bits(getattr(local, name)())


def test_values_are_read_when_they_are_needed(s3, tmp_path, driver):
    upload_folder(write_kinds(tmp_path / "a").parent, f"{s3.url}/runs/a")
    runs = rf.open(f"{s3.url}/runs").load()
    s3.requests.clear()
    images = runs.images()
    assert len(images) > 0
    # One request for the whole file, because it is small.
    assert len(event_requests(s3)) == 1


def test_values_of_an_object_that_has_grown_are_read(s3, tmp_path, driver):
    path = write_kinds(tmp_path / "runs" / "a")
    put(s3, a=path.read_bytes())
    runs = rf.open(f"{s3.url}/runs").load()
    put(s3, a=path.read_bytes() + _points(tmp_path, 1.0))
    assert bits(runs.images()) == bits(rf.open(tmp_path / "runs").images())


def test_values_of_a_replaced_object_are_an_error(s3, tmp_path, driver):
    put(s3, a=write_kinds(tmp_path / "a").read_bytes())
    runs = rf.open(f"{s3.url}/runs").load()
    put(s3, a=_points(tmp_path, *range(100)))
    with pytest.raises(FileChanged):
        runs.images()


def test_an_outage_during_the_first_read_is_an_error(s3, tmp_path, driver):
    for number in range(40):
        write(tmp_path / "runs" / f"seed-{number}", losses(number))
    upload_folder(tmp_path / "runs", f"{s3.url}/runs")
    runs = rf.open(f"{s3.url}/runs")
    s3.refuse()
    with pytest.raises(
        CannotStore, match=r"40 runs could not be read\. Check the network"
    ) as error:
        runs.scalars()
    assert "hush" not in str(error.value)
    with pytest.raises(CannotStore):
        runs.scalars()
    s3.mend()
    assert bits(runs.scalars()) == bits(rf.open(tmp_path / "runs").scalars())


def test_an_outage_in_the_middle_loses_nothing(s3, tmp_path):
    for number in range(40):
        write(tmp_path / "runs" / f"seed-{number}", losses(*range(number + 1000)))
    upload_folder(tmp_path / "runs", f"{s3.url}/runs")
    runs = rf.open(f"{s3.url}/runs")
    s3.received, s3.refuse_after = 0, 400_000
    with pytest.raises(CannotStore, match=r"[1-3]?\d runs? could not be read"):
        runs.load()
    s3.mend()
    read = s3.received = 0
    assert bits(runs.scalars()) == bits(rf.open(tmp_path / "runs").scalars())
    assert s3.received - read < 40 * 1500 * 60


def test_an_outage_during_a_refresh_keeps_the_data(s3, tmp_path, driver):
    write(tmp_path / "runs" / "a", losses(1.0))
    upload_folder(tmp_path / "runs", f"{s3.url}/runs")
    runs = rf.open(f"{s3.url}/runs").load()
    s3.refuse()
    with pytest.warns(UserWarning, match="Using what was read earlier"):
        assert not runs.refresh()
    assert runs["a"]["train/loss"].values.tolist() == [1.0]
    [problem] = runs.problems().to_dict("records")
    assert (problem["code"], problem["file"]) == ("read-error", f"{s3.url}/runs")
    s3.mend()
    assert not runs.refresh()
    assert len(runs.problems()) == 0


def test_new_data_that_cannot_be_read_is_read_later(s3, tmp_path):
    path = write(tmp_path / "runs" / "a", losses(1.0))
    upload_folder(tmp_path / "runs", f"{s3.url}/runs")
    runs = rf.open(f"{s3.url}/runs").load()
    put(s3, a=path.read_bytes() + _points(tmp_path, 2.0))
    s3.refused, s3.refusal = b"tfevents", refusal(500, "InternalError", "Try again.")
    with pytest.warns(UserWarning, match="Using what was read earlier"):
        assert not runs.refresh()
    assert runs["a"]["train/loss"].values.tolist() == [1.0]
    assert list(runs.problems()["code"]) == ["read-error"]
    s3.mend()
    assert runs.refresh().points == 1
    assert runs["a"]["train/loss"].values.tolist() == [1.0, 2.0]


def test_one_file_that_must_not_be_read_does_not_hide_others(s3, tmp_path, driver):
    for number in range(20):
        write(tmp_path / "runs" / f"seed-{number:02}", losses(number))
    upload_folder(tmp_path / "runs", f"{s3.url}/runs")
    s3.refused = f"runs/seed-00/{EVENTS}".encode()
    s3.refusal = refusal(403, "InvalidObjectState", "The object is archived.")
    runs = rf.open(f"{s3.url}/runs")
    assert len(runs.scalars()) == 19
    [problem] = runs.problems().to_dict("records")
    assert (problem["run"], problem["code"]) == ("seed-00", "permission-denied")
    s3.mend()
    assert runs.refresh().points == 1


def test_files_that_must_not_be_read_at_all_are_an_error(s3, tmp_path, driver):
    for number in range(100):
        write(tmp_path / "runs" / f"seed-{number:02}", losses(number))
    upload_folder(tmp_path / "runs", f"{s3.url}/runs")
    s3.refused = EVENTS.encode()
    s3.refusal = refusal(403, "AccessDenied", "Access Denied")
    runs = rf.open(f"{s3.url}/runs")
    s3.requests.clear()
    with pytest.raises(CannotStore, match="permission denied"):
        runs.load()
    assert len(event_requests(s3)) < 100


def test_an_object_deleted_after_the_listing_is_a_problem(s3, tmp_path, driver):
    for number in range(2):
        write(tmp_path / "runs" / f"seed-{number}", losses(number))
    upload_folder(tmp_path / "runs", f"{s3.url}/runs")
    runs = rf.open(f"{s3.url}/runs")
    open_system().rm_file(f"{s3.bucket}/runs/seed-0/{EVENTS}")
    assert runs.scalars()["run"].tolist() == ["seed-1"]
    assert list(runs.problems()["code"]) == ["file-vanished"]
    assert runs.refresh().gone == ["seed-0"]


def test_an_identical_copy_is_used(s3, tmp_path):
    path = write(tmp_path / "runs" / "a", losses(1.0))
    write(tmp_path / "runs" / "b", losses(2.0))
    upload_folder(tmp_path / "runs", f"{s3.url}/runs")
    rf.open(f"{s3.url}/runs", copy=True)
    put(s3, a=path.read_bytes() + _points(tmp_path, 3.0))
    s3.requests.clear()
    runs = rf.open(f"{s3.url}/runs")
    assert runs.scalars()["value"].tolist() == [1.0, 3.0, 2.0]
    assert {request.split("/")[3] for request in event_requests(s3)} == {"a"}
    # A file that grows is then read in place, without reading it again.
    path = tmp_path / "runs" / "b" / EVENTS
    put(s3, b=path.read_bytes() + _points(tmp_path, 4.0))
    changes = runs.refresh()
    assert (changes.points, changes.reread) == (1, [])


def test_without_the_store_a_copy_is_read(s3, tmp_path, monkeypatch):
    write(tmp_path / "runs" / "a", losses(1.0))
    upload_folder(tmp_path / "runs", f"{s3.url}/runs")
    monkeypatch.setenv("RUNFOLD_COPY", "1")
    rf.open(f"{s3.url}/runs")
    monkeypatch.delenv("RUNFOLD_COPY")
    s3.refuse()
    forget_mirrors(monkeypatch)
    with pytest.warns(UserWarning, match="Using the local copy"):
        runs = rf.open(f"{s3.url}/runs")
    assert runs.scalars()["value"].tolist() == [1.0]
    s3.mend()
    assert not runs.refresh()
    assert runs.scalars()["value"].tolist() == [1.0]


def forget_mirrors(monkeypatch):
    """Act like another process."""
    monkeypatch.setattr("runfold._storage.local_paths._mirrors", {})


def test_side_files_alone_are_not_a_copy(s3, tmp_path, monkeypatch):
    write(tmp_path / "runs" / "a", losses(1.0))
    (tmp_path / "runs" / "a" / "hparams.yaml").write_text("lr: 1")
    upload_folder(tmp_path / "runs", f"{s3.url}/runs")
    open_system().pipe_file(f"{s3.bucket}/runs/a/hparams.yaml", b"lr: 1")
    assert rf.open(f"{s3.url}/runs").table()["lr"].tolist() == [1]
    assert copies(tmp_path) == ["hparams.yaml"]
    s3.refuse()
    forget_mirrors(monkeypatch)
    with pytest.raises(CannotStore, match="There is no local copy to show instead"):
        rf.open(f"{s3.url}/runs")


def test_the_option_copies_all_files(s3, tmp_path):
    write(tmp_path / "runs" / "a", losses(1.0))
    upload_folder(tmp_path / "runs", f"{s3.url}/runs")
    runs = rf.open(f"{s3.url}/runs", copy=True)
    assert copies(tmp_path) == [EVENTS]
    s3.refuse()
    assert runs.scalars()["value"].tolist() == [1.0]
    _, options, _ = pickle.loads(pickle.dumps(runs.__reduce__()[1]))
    assert options["copy"] is True


def test_a_run_is_read_by_another_process(s3, tmp_path):
    for number in range(3):
        write(tmp_path / "runs" / f"seed-{number}", losses(number))
    upload_folder(tmp_path / "runs", f"{s3.url}/runs")
    places = Places((f"{s3.url}/runs",))
    places.sync()
    run = discover(*places.paths, places=places).runs["seed-2"]
    assert isinstance(run.opener, RemoteFiles)
    run.opener = run.opener.only(run.files)
    assert len(run.opener) == 1
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(read_values, (pickle.dumps(run),)) == [2.0]


def read_values(pickled):
    return RunLog(pickle.loads(pickled)).scalars["train/loss"].values.tolist()


def test_a_forked_child_reads(s3, tmp_path):
    for number in range(3):
        write(tmp_path / "runs" / f"seed-{number}", losses(number))
    upload_folder(tmp_path / "runs", f"{s3.url}/runs")
    runs = rf.open(f"{s3.url}/runs")
    assert runs["seed-0"]["train/loss"].values.tolist() == [0.0]
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    child = context.Process(target=lambda: results.put(runs.scalars()["value"].tolist()))
    child.start()
    assert results.get(timeout=WAIT) == [0.0, 1.0, 2.0]
    child.join(WAIT)
    assert child.exitcode == 0
    assert runs.scalars()["value"].tolist() == [0.0, 1.0, 2.0]


def test_files_are_requested_at_the_same_time(s3, tmp_path, driver):
    for number in range(8):
        write(tmp_path / "runs" / f"seed-{number}", losses(number))
    upload_folder(tmp_path / "runs", f"{s3.url}/runs")
    runs = rf.open(f"{s3.url}/runs")
    s3.meeting = threading.Barrier(8, timeout=WAIT)
    assert len(runs.scalars()) == 8
    assert not s3.meeting.broken


def test_files_ahead_of_the_reader_are_bounded(s3, tmp_path, tiny_pieces, monkeypatch):
    monkeypatch.setattr("runfold._logdir.bulk_read._MOST_AHEAD", 20_000)
    for number in range(30):
        write(tmp_path / "runs" / f"seed-{number}", losses(*range(200)))
    upload_folder(tmp_path / "runs", f"{s3.url}/runs")
    runs = rf.open(f"{s3.url}/runs")
    opener = runs._logdir.places.opener
    expect, most = RemoteFiles.expect, 0

    def note(files, *args):
        nonlocal most
        size = expect(files, *args)
        held = [piece for pieces in opener._expected.values() for piece in pieces]
        most = max(most, sum(piece.end - piece.start for piece in held))
        return size

    monkeypatch.setattr(RemoteFiles, "expect", note)
    assert len(runs.scalars()) == 6000
    assert 10_000 < most < 40_000
    assert opener._expected == {}


def test_the_status_of_a_run_without_a_heartbeat_uses_the_time_of_its_files(s3, tmp_path):
    with rf.track(tmp_path / "runs" / "a"):
        pass
    upload_folder(tmp_path / "runs", f"{s3.url}/runs")
    open_system().rm_file(f"{s3.bucket}/runs/a/.runfold/heartbeat")
    here, copied = (rf.open(f"{s3.url}/runs", copy=copy) for copy in (False, True))
    assert here["a"].status == copied["a"].status
    assert here["a"].status.heartbeat is not None


def test_many_pages_with_odd_keys(s3, tmp_path):
    """Folders that web consoles create are not files, and odd keys do not stop a listing."""
    data = write(tmp_path / "a", losses(1.0)).read_bytes()
    system = open_system()
    for key, body in {
        "runs/": b"",
        "runs/a/": b"",
        "runs/x.tfevents/": b"",
        f"runs/a/{EVENTS}": data,
        f"runs/zero/{EVENTS}": b"",
        f"runs/é %+?#/{EVENTS}": data,
        f"runs/tab\t/{EVENTS}": data,
    }.items():
        system.call_s3("put_object", Bucket=s3.bucket, Key=key, Body=body)
    for _ in range(2):
        runs = rf.open(f"{s3.url}/runs")
        assert sorted(runs) == sorted(["a", "tab\t", "zero", "é %+?#"])
        assert sorted(runs.scalars()["run"]) == sorted(["a", "tab\t", "é %+?#"])
        assert list(runs) == list(rf.open(f"{s3.url}/runs", copy=True))
        system.rm_file(f"{s3.bucket}/runs/tab\t/{EVENTS}")
        system.pipe_file(f"{s3.bucket}/runs/tab\t/{EVENTS}", data)


def test_values_that_follow_each_other_need_few_requests(s3, tmp_path):
    with rf.SummaryWriter(tmp_path / "runs" / "a") as writer:
        for step in range(300):
            noise = np.random.default_rng(step).integers(0, 255, (3, 64, 64), np.uint8)
            writer.add_image("noise", noise, step)
    upload_folder(tmp_path / "runs", f"{s3.url}/runs")
    runs = rf.open(f"{s3.url}/runs").load()
    s3.requests.clear()
    assert bits(runs.images()) == bits(rf.open(tmp_path / "runs").images())
    assert 3 < len(event_requests(s3)) < 9
