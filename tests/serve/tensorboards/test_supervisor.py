"""How instances are managed: started, restarted, abandoned, ended."""

import asyncio
import json
import os
import signal
import sqlite3
import sys
from pathlib import Path

import pytest
from helpers.boards import group_of, until
from helpers.supervisors import add, run, stand_in, supervising, until_state

from runfold._serve.tensorboards.instance import spawn
from runfold._serve.tensorboards.instance_requests import end_instance, read_log
from runfold._serve.tensorboards.instance_store import Store
from runfold._serve.tensorboards.process_files import is_process


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "boards"))


def overlap(spans: list[dict[str, float]]) -> int:
    """Return the maximum number of overlapping spans."""
    moments = [(span["began"], 1) for span in spans] + [(span["ended"], -1) for span in spans]
    now = most = 0
    for _, change in sorted(moments):
        now += change
        most = max(most, now)
    return most


def test_fifty_instances_are_started_a_few_at_a_time_and_all_are_ended(store: Store) -> None:
    instances = [add(store) for _ in range(50)]

    async def work() -> None:
        async with supervising(store, starts=3, program=stand_in("time.sleep(0.05)")):
            for instance in instances:
                await until_state(store, instance, "RUNNING")
            folders = [Path(store.folder_of(instance.id)) for instance in instances]
            spans = [json.loads((folder / "span.json").read_text()) for folder in folders]
            assert overlap(spans) <= 3
            pids.extend(instance.pid for instance in store.live() if instance.pid is not None)

    pids: list[int] = []
    run(work())
    assert len(set(pids)) == 50
    assert store.live() == []
    assert {(instance.state, instance.wanted) for instance in store.all()} == {
        ("TERMINATED", "down")
    }
    assert [pid for pid in pids if group_of(pid)] == []


def test_an_instance_that_always_fails_is_abandoned_with_the_last_lines_of_its_log(
    store: Store,
) -> None:
    instance = add(store)
    program = (sys.executable, "-S", "-c", "print('out of cheese'); raise SystemExit(7)")

    async def work() -> None:
        async with supervising(store, backoff=0.01, program=program):
            crashed = await until_state(
                store, instance, "STARTING", lambda current: current.restarts > 0
            )
            assert crashed.message.startswith("TensorBoard exited with status 7. Restarting in ")
            given_up = await until_state(store, instance, "TERMINATED")
            assert (given_up.exit_status, given_up.restarts) == (7, 4)
            assert "It failed 5 times and will not be restarted." in given_up.message
            assert given_up.message.endswith("\nout of cheese" * 5)
            assert list(read_log(store, instance.id, follow=True)) == ["out of cheese"] * 5

    run(work())


def test_a_program_that_cannot_be_run_is_reported(store: Store) -> None:
    instance = add(store)

    async def work() -> None:
        async with supervising(store, program=["/nowhere/python"]):
            ended = await until_state(store, instance, "TERMINATED")
            error = "TensorBoard could not be started: No such file or directory."
            assert ended.message == error

    run(work())


def test_an_instance_waiting_to_start_can_be_ended(store: Store) -> None:
    slow, waiting = add(store), add(store)

    async def work() -> None:
        async with supervising(store, starts=1, program=stand_in("time.sleep(1000)")) as supervisor:
            await until_state(store, slow, "STARTING", lambda current: current.pid is not None)
            end_instance(store, waiting.id)
            supervisor.poke()
            assert (await until_state(store, waiting, "TERMINATED")).exit_status is None
            end_instance(store, slow.id)
            assert (await until_state(store, slow, "TERMINATED")).exit_status == -15

    run(work())


def test_a_process_that_ignores_sigterm_is_killed(store: Store) -> None:
    instance = add(store)
    deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"

    async def work() -> None:
        process = spawn(instance, store.folder_of(instance.id), stand_in(deaf))
        until(lambda: process.address)
        assert await process.end(grace=0.2) == -9
        assert not is_process(process.pid, process.started)

    run(work())


def test_a_growing_log_is_rotated(store: Store) -> None:
    instance = add(store)
    noise = "print(('x' * 99 + '\\n') * 30_000, flush=True)"

    async def work() -> None:
        async with supervising(store, program=stand_in(noise)):
            await until_state(store, instance, "RUNNING")
            folder = Path(store.folder_of(instance.id))
            await asyncio.to_thread(until, (folder / "log.old.txt").exists)
            await asyncio.to_thread(until, lambda: (folder / "log.txt").stat().st_size == 0)
            assert (folder / "log.old.txt").stat().st_size == 2_500_000

    run(work())


def test_only_one_supervisor_is_active_and_the_next_takes_over(store: Store) -> None:
    instance, other = add(store), add(store)

    async def work() -> None:
        async with supervising(store, program=stand_in()) as first:
            await until_state(store, instance, "RUNNING")
            async with supervising(Store(store.folder), program=stand_in()) as second:
                assert (first.acts.is_set(), second.acts.is_set()) == (True, False)
                end_instance(store, instance.id)
                await until_state(store, instance, "TERMINATED")
                assert not second.acts.is_set()
        ending = "The service that managed this TensorBoard has ended."
        assert store.get(other.id).message == ending
        later = add(store)
        async with supervising(store, program=stand_in()) as third:
            assert third.acts.is_set()
            await until_state(store, later, "RUNNING")

    run(work())


def test_a_waiting_supervisor_takes_over_when_the_first_ends(store: Store) -> None:
    async def work() -> None:
        async with supervising(Store(store.folder), program=stand_in()) as first:
            waiting = supervising(store, program=stand_in())
            second = await waiting.__aenter__()
            assert (first.acts.is_set(), second.acts.is_set()) == (True, False)
        await second.acts.wait()
        instance = add(store)
        await until_state(store, instance, "RUNNING")
        await waiting.__aexit__(None, None, None)
        assert store.get(instance.id).state == "TERMINATED"

    run(work())


def test_a_store_that_is_temporarily_read_only_is_tolerated(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    instance = add(store)
    database = sqlite3.connect(Path(store.folder, "instances.sqlite"), isolation_level=None)
    fault = "create trigger fault before update on instances begin select raise(abort, 'no'); end"

    async def work() -> None:
        async with supervising(store, program=stand_in()):
            running = await until_state(store, instance, "RUNNING")
            database.execute(fault)
            assert running.pid
            os.kill(running.pid, signal.SIGKILL)
            await asyncio.to_thread(until, lambda: "no longer managed" in caplog.text)
            database.execute("drop trigger fault")
            await until_state(
                store, instance, "RUNNING", lambda current: current.pid != running.pid
            )

    run(work())
    database.close()


def test_a_process_without_an_instance_is_ended(store: Store) -> None:
    instance = add(store)
    process = spawn(instance, store.folder_of(instance.id), stand_in())
    until(lambda: process.address)
    store.forget(instance.id)

    async def work() -> None:
        async with supervising(store, program=stand_in()):
            assert await process.wait() == -15

    run(work())


def test_only_the_last_hundred_ended_instances_are_kept(store: Store) -> None:
    ended = [add(store) for _ in range(103)]
    for instance in ended:
        store.update(instance.id, state="TERMINATED", wanted="down")
        Path(store.folder_of(instance.id), "tree").mkdir(parents=True)

    async def work() -> None:
        async with supervising(store, program=stand_in()):
            assert [instance.id for instance in store.all()] == [
                instance.id for instance in ended[3:]
            ]
            assert not Path(store.folder_of(ended[2].id)).exists()
            assert Path(store.folder_of(ended[3].id)).exists()

    run(work())
