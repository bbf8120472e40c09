"""An instance's process ends without leaving anything behind."""

import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from helpers.boards import QUICK, group_of, serving, spawn, until, write_losses

from runfold._serve.tensorboards.child import LOADER_LOST, UNUSABLE
from runfold._serve.tensorboards.instance_runs import Sources
from runfold._serve.tensorboards.process_files import write_json


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    write_losses(tmp_path / "logs" / "a", 0, 1, 2)
    return Sources((str(tmp_path / "logs"),))


def test_it_ends_when_idle_but_not_while_a_page_is_open(tmp_path: Path, sources: Sources) -> None:
    with serving(tmp_path / "state", sources, replace(QUICK, idle_timeout=2.0)) as child:
        assert child.process is not None
        assert child.say_page("open") == 204
        # This wait is longer than the idle timeout.
        with pytest.raises(subprocess.TimeoutExpired):
            child.process.wait(4)
        assert child.health()["open_pages"] == 1
        child.say_page("closed")
        assert child.ending == (0, "Idle for 2 s.")
        assert group_of(child.process.pid) == set()


def test_sigterm_ends_the_whole_process_group(tmp_path: Path, sources: Sources) -> None:
    with serving(tmp_path / "state", sources) as child:
        assert child.process is not None
        until(lambda: "TensorBoard is running." in child.log)
        assert len(group_of(child.process.pid)) == 2
        child.process.terminate()
        assert child.ending == (0, "Stopped on request.")
        assert group_of(child.process.pid) == set()


def test_it_can_be_ended_before_it_serves(tmp_path: Path, sources: Sources) -> None:
    child = spawn(tmp_path / "state", sources)
    assert child.process is not None
    until((child.folder / "process.json").exists)
    child.process.terminate()
    assert child.ending == (0, "Stopped on request.")
    assert group_of(child.process.pid) == set()


def test_it_ends_when_it_receives_no_requests(tmp_path: Path, sources: Sources) -> None:
    child = spawn(tmp_path / "state", sources, replace(QUICK, idle_timeout=0), {"unheard": 1})
    reason = "The instance received no requests for a long time, not even from the service."
    assert child.ending == (0, reason)


def test_sigkill_also_ends_the_loader(tmp_path: Path, sources: Sources) -> None:
    with serving(tmp_path / "state", sources) as child:
        assert child.process is not None
        until(lambda: "TensorBoard is running." in child.log)
        child.process.kill()
        until(lambda: not group_of(child.process.pid if child.process else 0))


def test_without_its_loader_it_ends_to_be_restarted(tmp_path: Path, sources: Sources) -> None:
    with serving(tmp_path / "state", sources) as child:
        assert child.process is not None
        until(lambda: "TensorBoard is running." in child.log)
        (loader,) = psutil.Process(child.process.pid).children()
        os.kill(loader.pid, signal.SIGKILL)
        assert child.ending == (LOADER_LOST, "TensorBoard's data loader has exited.")


def test_a_replaced_process_ends(tmp_path: Path, sources: Sources) -> None:
    with serving(tmp_path / "state", sources) as child:
        write_json(str(child.folder / "process.json"), {"pid": 1, "started": 1})
        reason = "The instance's folder was deleted, or another process runs the instance now."
        assert child.ending == (0, reason)


@pytest.mark.parametrize(
    ("version", "fact"),
    [
        (None, "TensorBoard is not installed or is broken. Run: pip install -U tensorboard"),
        (
            "1.15.0",
            "TensorBoard 1.15.0 is too old: 2.16 or later is required. "
            "Run: pip install -U tensorboard",
        ),
    ],
)
def test_an_unusable_tensorboard_is_reported(
    tmp_path: Path, sources: Sources, version: str | None, fact: str
) -> None:
    package = tmp_path / "stub" / "tensorboard"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    if version is not None:
        (package / "program.py").touch()
        (package / "version.py").write_text(f'VERSION = "{version}"\n')
    path = os.pathsep.join([str(package.parent), os.environ.get("PYTHONPATH", "")])
    child = spawn(tmp_path / "state", sources, PYTHONPATH=path)
    assert child.ending == (UNUSABLE, fact)
    assert fact in child.log
