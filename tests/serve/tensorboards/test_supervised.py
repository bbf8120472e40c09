"""Real TensorBoards under a supervisor: states, crashes, idle timeouts, and a killed service."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.boards import group_of, until, write_losses
from helpers.supervisors import add, board_of, run, supervising, until_state

from runfold._serve.tensorboards.instance_requests import end_instance
from runfold._serve.tensorboards.instance_store import Store

QUICK = (("reload_interval", "1"),)

SERVICE = """
import asyncio, sys
from runfold._serve.tensorboards.supervisor import Supervisor
from runfold._serve.tensorboards.instance_store import Store

async def main():
    async with Supervisor(Store(sys.argv[1])) as supervisor:
        await supervisor.supervise()

asyncio.run(main())
"""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "boards"))


def test_it_waits_for_a_first_event_file_and_restarts_after_a_crash(
    store: Store, tmp_path: Path
) -> None:
    logdir = tmp_path / "logs"
    logdir.mkdir()
    instance = add(store, logdir, flags=QUICK)

    async def work() -> None:
        async with supervising(store, backoff=0.01) as supervisor:
            waiting = await until_state(store, instance, "WAITING")
            assert waiting.started is not None
            assert board_of(store, instance).runs() == []
            write_losses(logdir / "a", 0, 1)
            running = await until_state(store, instance, "RUNNING")
            assert running.pid is not None
            os.kill(running.pid, signal.SIGKILL)
            again = await until_state(
                store, instance, "RUNNING", lambda current: current.restarts == 1
            )
            assert again.pid != running.pid
            assert again.exit_status == -9
            assert again.message.startswith("TensorBoard was killed by SIGKILL. Restarted at ")
            board = board_of(store, instance)
            await asyncio.to_thread(until, lambda: board.steps("a") == [0, 1])
            end_instance(store, instance.name)
            supervisor.poke()
            ended = await until_state(store, instance, "TERMINATED")
            assert (ended.exit_status, ended.pid, ended.port) == (0, None, None)
            assert again.pid is not None
            assert group_of(again.pid) == set()

    run(work())


def test_instances_of_a_killed_service_are_adopted_by_the_next(
    store: Store, tmp_path: Path
) -> None:
    write_losses(tmp_path / "logs" / "a", 0, 1)
    instance = add(store, tmp_path / "logs", flags=QUICK)
    gone = add(store, tmp_path / "logs", flags=QUICK, idle_timeout=60)

    def start_service() -> "subprocess.Popen[bytes]":
        return subprocess.Popen([sys.executable, "-c", SERVICE, store.folder])

    async def work() -> None:
        with start_service() as service:
            running = await until_state(store, instance, "RUNNING")
            lost = await until_state(store, gone, "RUNNING")
            service.kill()
        assert running.pid is not None
        assert lost.pid is not None
        os.killpg(lost.pid, signal.SIGKILL)
        assert board_of(store, instance).runs() == ["a"]
        async with supervising(store, backoff=0.01):
            await until_state(store, gone, "RUNNING", lambda current: current.restarts == 1)
            adopted = store.get(instance.id)
            assert (adopted.pid, adopted.state) == (running.pid, "RUNNING")
            assert adopted.restarts == 0
            assert board_of(store, instance).runs() == ["a"]
        assert store.live() == []
        assert store.get(instance.id).exit_status == 0
        assert group_of(running.pid) == set()

    run(work())


def test_an_idle_instance_is_recorded_as_ended(store: Store, tmp_path: Path) -> None:
    instance = add(store, tmp_path, idle_timeout=1.0)

    async def work() -> None:
        async with supervising(store):
            ended = await until_state(store, instance, "TERMINATED")
            assert (ended.exit_status, ended.message) == (0, "Idle for 1 s.")
            assert ended.restarts == 0

    run(work())


def test_a_missing_tensorboard_is_reported_at_once(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub = tmp_path / "stub" / "tensorboard"
    stub.mkdir(parents=True)
    (stub / "__init__.py").touch()
    path = os.pathsep.join([str(stub.parent), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)
    instance = add(store, tmp_path)

    async def work() -> None:
        async with supervising(store):
            ended = await until_state(store, instance, "TERMINATED")
            assert (ended.exit_status, ended.restarts) == (3, 0)
            assert ended.message.endswith("Run: pip install -U tensorboard")

    run(work())
