"""An index that is damaged, outdated, raced or cannot be written changes no answer."""

import multiprocessing
import os
import random
import resource
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
from helpers.faultfiles import EVENTS, append, points, powerless, settings_of, version
from helpers.faultfiles import write as write_file
from helpers.file_times import settle
from helpers.odd_runs import bits

import runfold as rf
from runfold._conventions import name_temporary
from runfold._index import indexed_logdir
from runfold._index.array_file import DamagedIndex, read_index
from runfold._index.index_folder import remove_old
from runfold._index.indexed_logdir import IndexedLogdir
from runfold._logdir import tree_state
from runfold._system import file_system_of

RUNS = 6


@pytest.fixture(autouse=True)
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of indexes. Every logdir has one, however small it is."""
    if file_system_of(str(tmp_path)) not in tree_state._RELIABLE:
        pytest.skip("the temporary folder is on a file system whose times are not relied on")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(indexed_logdir, "MOST_UNINDEXED_RUNS", 0)
    return tmp_path / "cache" / "runfold" / "index"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A logdir with plain runs, and one with hparams."""
    return write_runs(tmp_path / "logs")


def write_runs(folder: Path) -> Path:
    for number in range(RUNS):
        write_file(folder / f"run-{number}" / EVENTS, version(), points(1, 2 + number))
    write_file(folder / "rich" / EVENTS, version(), settings_of(lr=0.5), points(7))
    settle(folder)
    return folder


def open_indexed(path: Path) -> rf.Runs:
    return rf.open(path, progress=False, index=True)


def answer(runs: rf.Runs) -> dict[str, Any]:
    return {
        "table": bits(runs.table(min=True, best=True, better="lower")),
        "where": list(runs.where("last['loss'] > 3")),
        "problems": bits(runs.problems()),
    }


def loaded(runs: rf.Runs) -> list[str]:
    """Return the runs whose files have been read."""
    logdir = runs._logdir
    assert isinstance(logdir, IndexedLogdir)
    return sorted(log.name for log in logdir._list_loaded())


def store(top: Path) -> dict[str, Any]:
    """Write the index of the runs and that of the folders; return the expected answer."""
    for _ in range(2):
        expected = answer(open_indexed(top))
    assert expected == answer(rf.open(top, progress=False, index=False))
    runs = open_indexed(top)
    assert answer(runs) == expected
    assert loaded(runs) == []
    return expected


def only(folder: Path, suffix: str) -> Path:
    (path,) = folder.glob(f"*{suffix}")
    return path


def test_nothing_is_read_with_an_index(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = store(top)
    runs = open_indexed(top)
    opened = []
    real = os.open

    def record(path: Any, *arguments: Any, **options: Any) -> int:
        opened.append(os.fspath(path))
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "open", record)
    assert answer(runs)["where"] == expected["where"]
    # The hparams are decoded from the file.
    assert {path for path in opened if "tfevents" in path} <= {str(top / "rich" / EVENTS)}


def test_no_index_is_written_by_default(top: Path, index: Path) -> None:
    rf.open(top, progress=False).table()
    assert not index.exists()


def test_a_small_logdir_needs_no_index(
    top: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexed_logdir, "MOST_UNINDEXED_RUNS", 200)
    open_indexed(top).table()
    assert not index.exists()


def test_the_index_is_private(top: Path, index: Path) -> None:
    store(top)
    assert index.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in index.iterdir()] == [0o600, 0o600]


@pytest.mark.parametrize("suffix", [".index", ".tree"])
def test_a_truncated_index_is_ignored(top: Path, index: Path, suffix: str) -> None:
    expected = store(top)
    path = only(index, suffix)
    content = path.read_bytes()
    for size in {*range(0, 64), *range(64, len(content), max(1, len(content) // 60))}:
        path.write_bytes(content[:size])
        with pytest.raises(DamagedIndex):
            read_index(str(path))
    for size in (0, 30, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:size])
        assert answer(open_indexed(top)) == expected
        path.write_bytes(content + b"\0")
        assert answer(open_indexed(top)) == expected


@pytest.mark.parametrize("suffix", [".index", ".tree"])
def test_every_flipped_bit_is_noticed(top: Path, index: Path, suffix: str) -> None:
    store(top)
    path = only(index, suffix)
    content = bytearray(path.read_bytes())
    dice = random.Random(0)
    whole = read_index(str(path))
    for position in dice.sample(range(len(content)), 200):
        damaged = bytearray(content)
        damaged[position] ^= 1 << dice.randrange(8)
        path.write_bytes(damaged)
        try:
            found = read_index(str(path))
        except DamagedIndex:
            continue
        # The bit was in the padding between two arrays.
        assert found.facts == whole.facts
        assert {name: array.tobytes() for name, array in found._arrays.items()} == {
            name: array.tobytes() for name, array in whole._arrays.items()
        }


def test_another_version_is_ignored(
    top: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = store(top)
    monkeypatch.setattr(indexed_logdir, "__version__", "0.0.0")
    runs = open_indexed(top)
    assert answer(runs) == expected
    assert len(loaded(runs)) == RUNS + 1


def test_another_logdir_at_the_same_path_is_read(top: Path) -> None:
    store(top)
    moved = top.with_name("moved")
    top.rename(moved)
    shutil.copytree(moved, top)
    append(top / "run-1" / EVENTS, points(9))
    settle(top)
    runs = open_indexed(top)
    assert answer(runs) == answer(rf.open(top, progress=False, index=False))
    assert len(loaded(runs)) == RUNS + 1


def test_only_a_run_that_has_grown_is_read(top: Path) -> None:
    store(top)
    append(top / "run-1" / EVENTS, points(9))
    runs = open_indexed(top)
    assert answer(runs) == answer(rf.open(top, progress=False, index=False))
    assert loaded(runs) == ["run-1"]


def test_a_time_that_is_set_back_hides_nothing(top: Path) -> None:
    store(top)
    path = top / "run-1" / EVENTS
    status = path.stat()
    content = bytearray(path.read_bytes())
    other = version() + points(1, 8)
    assert len(other) == len(content)
    path.write_bytes(other)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_mtime_ns == status.st_mtime_ns
    runs = open_indexed(top)
    assert answer(runs) == answer(rf.open(top, progress=False, index=False))
    assert loaded(runs) == ["run-1"]


def test_other_file_systems_have_no_index(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = store(top)
    monkeypatch.setattr(tree_state, "file_system_of", lambda path: "nfs4")
    runs = open_indexed(top)
    assert answer(runs) == expected
    assert len(loaded(runs)) == RUNS + 1


def test_a_cache_that_cannot_be_written_changes_no_answer(
    top: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = store(top)  # imports what it needs, while this is possible
    with powerless(), tempfile.TemporaryDirectory() as name:
        cache = Path(name, "cache")
        cache.mkdir(0o555)
        monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
        logs = write_runs(Path(name, "logs"))
        for _ in range(2):
            assert answer(open_indexed(logs)) == expected
        assert list(cache.iterdir()) == []


def test_a_cache_that_is_a_file_changes_no_answer(top: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")
    expected = answer(rf.open(top, progress=False, index=False))
    assert answer(open_indexed(top)) == expected


def _write_within(top: Path, most: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    expected = answer(rf.open(top, progress=False, index=False))
    assert answer(open_indexed(top)) == expected


def test_a_full_disk_changes_no_answer(top: Path, index: Path) -> None:
    process = multiprocessing.get_context("spawn").Process(target=_run_full, args=(str(top),))
    process.start()
    process.join()
    assert process.exitcode == 0
    assert list(index.iterdir()) == []


def _run_full(top: str) -> None:
    import signal

    indexed_logdir.MOST_UNINDEXED_RUNS = 0
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    _write_within(Path(top), 1000)


def _open_often(top: str, number: int) -> None:
    indexed_logdir.MOST_UNINDEXED_RUNS = 0
    indexed_logdir._PAUSE = 0.0
    indexed_logdir._CHANGED_PART = 0
    expected = answer(rf.open(top, progress=False, index=False))
    for turn in range(6):
        if turn % 2 == number:
            for path in (Path(os.environ["XDG_CACHE_HOME"]) / "runfold" / "index").glob("*"):
                path.unlink(missing_ok=True)
        assert answer(open_indexed(Path(top))) == expected


def test_two_processes_can_write_and_read_at_once(top: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=_open_often, args=(str(top), number)) for number in range(2)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]


def test_an_index_that_is_replaced_stays_in_use(top: Path, index: Path) -> None:
    expected = store(top)
    runs = open_indexed(top)
    for path in index.iterdir():
        path.write_bytes(b"x")
    assert answer(runs) == expected


def test_threads_share_an_index(top: Path) -> None:
    expected = store(top)
    runs = open_indexed(top)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(answer(runs))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


def test_points_are_read_when_they_are_requested(top: Path) -> None:
    expected = store(top)
    runs = open_indexed(top)
    assert answer(runs) == expected
    assert runs["run-2"]["loss"].steps.tolist() == [1, 4]
    assert loaded(runs) == ["run-2"]
    assert answer(runs) == expected
    plain = rf.open(top, progress=False, index=False)
    assert bits(runs.scalars()) == bits(plain.scalars())
    assert answer(runs) == expected


def test_a_refresh_reports_the_same_changes(top: Path) -> None:
    store(top)
    runs, plain = open_indexed(top), rf.open(top, progress=False, index=False)
    assert answer(runs) == answer(plain)
    append(top / "run-1" / EVENTS, points(20, 21))
    write_file(top / "run-2" / EVENTS, version(1.0), points(5))
    append(top / "rich" / EVENTS, points(8))
    write_file(top / "new" / EVENTS, version(), points(1))
    shutil.rmtree(top / "run-3")
    changes, expected = runs.refresh(), plain.refresh()
    assert sorted(changes.reread) == sorted(expected.reread)
    changes.reread = expected.reread
    assert changes == expected
    assert sorted(runs._logdir.altered) == sorted(plain._logdir.altered)
    assert answer(runs) == answer(plain)
    assert not runs.refresh()
    append(top / "run-4" / EVENTS, points(30))
    assert runs.refresh() == plain.refresh()
    assert answer(runs) == answer(plain)


def test_old_indexes_are_removed_when_they_take_too_much_space(tmp_path: Path) -> None:
    for number in range(4):
        path = tmp_path / f"{number}.index"
        path.write_bytes(bytes(100))
        os.utime(path, (2e9 + number, 2e9 + number))
    (tmp_path / "other").write_bytes(bytes(100))
    remove_old(str(tmp_path), most=250)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["2.index", "3.index", "other"]


def test_indexes_that_nobody_uses_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.index", name_temporary()):
        (tmp_path / name).write_bytes(b"")
        os.utime(tmp_path / name, (1e9, 1e9))
    (tmp_path / "b.index").write_bytes(b"")
    remove_old(str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["b.index"]
