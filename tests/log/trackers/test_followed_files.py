"""Writers without an experiment tracker have no overhead; tests/frameworks tests the trackers."""

import copy
import sys
import threading
from pathlib import Path

from helpers.log_runs import run

from runfold import SummaryWriter
from runfold._log.trackers import followed_files as sync


def test_no_thread_is_started_without_a_tracker(tmp_path: Path) -> None:
    code = """
        writer.add_value("a", b"", 1)
        writer.flush()
        print([thread.name for thread in threading.enumerate()])
        print(sorted({"wandb", "mlflow", "swanlab", "clearml", "comet_ml"} & set(sys.modules)))
        writer.close()
    """
    done = run(code, tmp_path)
    assert done.stdout.decode().splitlines() == ["['MainThread', 'runfold']", "[]"], done.stderr


def test_closed_writers_are_no_longer_followed(tmp_path: Path) -> None:
    before = set(sync._feeds)
    writer = SummaryWriter(tmp_path / "a")
    dropped = SummaryWriter(tmp_path / "b")
    assert {Path(feed.path) for feed in sync._feeds - before} == {
        Path(writer.path or ""),
        Path(dropped.path or ""),
    }
    writer.close()
    del dropped
    assert sync._feeds == before


def test_a_writer_without_tracker_sync_has_no_feed(tmp_path: Path) -> None:
    before = set(sync._feeds)
    with SummaryWriter(tmp_path, sync_trackers=False) as writer:
        writer.add_scalar("loss", 1.0, 0)
        writer.flush()
        assert sync._feeds == before


def test_a_copy_of_a_closed_writer_is_followed_like_the_original(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path)
    writer.close()
    other = copy.deepcopy(writer)
    before = set(sync._feeds)
    other.add_scalar("loss", 1.0, 0)
    assert [feed.path for feed in sync._feeds - before] == [other.path]
    other.close()
    assert sync._feeds == before


def test_a_reopened_writer_is_followed_in_its_new_file(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path)
    writer.close()
    before = set(sync._feeds)
    writer.add_scalar("loss", 1.0, 0)
    (feed,) = sync._feeds - before
    assert feed.path == writer.path
    size = feed.size()
    writer.add_scalar("loss", 0.5, 1)
    assert feed.size() == Path(feed.path).stat().st_size > size
    writer.close()


def test_the_package_imports_no_tracker() -> None:
    assert not set(sync.TRACKERS) & set(sys.modules)
    assert "runfold-sync" not in {thread.name for thread in threading.enumerate()}
