"""Work waits for its turn in order of arrival, and is rejected only as a last resort."""

import asyncio
import threading

import pytest

from runfold._serve.http.error_responses import TooBusy, TookTooLong
from runfold._serve.work_queues import WorkQueue


class Job:
    """Work that lasts until it is released."""

    def __init__(self, log, name):
        self.begun, self.release = threading.Event(), threading.Event()
        self.log, self.name = log, name

    def __call__(self):
        self.log.append(self.name)
        self.begun.set()
        assert self.release.wait(30)
        return self.name


@pytest.fixture
def queue():
    """Return a function that makes queues, which are closed at the end."""
    made = []

    def make(workers=1, places=10, patience=30.0, seconds=30.0):
        made.append(WorkQueue(workers, places, patience, seconds))
        return made[-1]

    yield make
    for work_queue in made:
        work_queue.close()


async def start(queue, job):
    """Queue a job and return its task."""
    task = asyncio.create_task(queue.work(job))
    await asyncio.sleep(0)
    return task


def test_jobs_run_in_order_of_arrival(queue):
    log: list[int | str] = []
    jobs = [Job(log, number) for number in range(6)]

    async def run():
        two = queue(workers=2)
        tasks = []
        for job in jobs[:2]:
            tasks.append(await start(two, job))
            # Two threads that start at the same time can append to the log in either order.
            assert await asyncio.to_thread(job.begun.wait, 30)
        tasks += [await start(two, job) for job in jobs[2:]]
        assert log == [0, 1]
        for job in jobs:
            job.release.set()
        return await asyncio.gather(*tasks)

    assert asyncio.run(run()) == list(range(6))
    assert sorted(log) == list(range(6))


def test_job_is_refused_at_once_if_the_queue_is_full(queue):
    job = Job([], "first")

    async def run():
        narrow = queue(places=1)
        tasks = [await start(narrow, job), await start(narrow, lambda: "second")]
        with pytest.raises(TooBusy, match="server is too busy"):
            await narrow.work(lambda: "third")
        job.release.set()
        assert await asyncio.gather(*tasks) == ["first", "second"]
        return await narrow.work(lambda: "third")

    assert asyncio.run(run()) == "third"


def test_job_whose_turn_does_not_come_is_refused_and_never_runs(queue):
    log: list[int | str] = []
    job = Job(log, "first")

    async def run():
        busy = queue(patience=0.05)
        first = await start(busy, job)
        assert await asyncio.to_thread(job.begun.wait, 30)
        with pytest.raises(TooBusy, match=r"Other requests kept the server busy for 0.05 s"):
            await busy.work(lambda: log.append("second"))
        job.release.set()
        assert await first == "first"  # its time limit began with its turn
        await busy.work(lambda: log.append("third"))

    asyncio.run(run())
    assert log == ["first", "third"]


def test_work_that_takes_too_long_keeps_its_worker_until_it_ends(queue):
    log: list[int | str] = []
    job = Job(log, "first")

    async def run():
        slow = queue(seconds=0.05)
        with pytest.raises(TookTooLong, match=r"longer than 0.05 s"):
            await slow.work(job)
        second = await start(slow, lambda: log.append("second"))
        assert log == ["first"]
        job.release.set()
        await second

    asyncio.run(run())
    assert log == ["first", "second"]
