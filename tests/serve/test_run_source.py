"""The served runs: found by name, read in threads, refreshed between requests."""

import asyncio
import os
import threading

import pytest
from helpers.logs import scalars, write
from helpers.packs import pack
from helpers.serve_client import Client, read_metadata

from runfold._serve.api import queries as querying
from runfold._serve.http.error_responses import TookTooLong
from runfold._serve.run_source import Source
from runfold._tables.sql import database
from runfold._tables.sql.relations import build_table
from runfold.errors import QueryStopped, UnknownRun, UnknownTag


@pytest.fixture
def logdir(tmp_path):
    write(tmp_path / "logs" / "seed-1", scalars("loss", (0, 1.0)))
    write(tmp_path / "logs" / "seed-2", scalars("loss", (0, 2.0)), scalars("lr", (0, 0.1)))
    return tmp_path / "logs"


def test_names_are_looked_up_exactly(logdir):
    source = Source(logdir)
    assert [log.name for log in source.logs()] == ["seed-1", "seed-2"]
    assert [log.name for log in source.logs(["seed-2", "seed-2"])] == ["seed-2"]
    assert [log.name for log in source.logs_with("lr")] == ["seed-2"]
    with pytest.raises(UnknownRun, match=r"No run 'seed-3'. Did you mean 'seed-\d' or"):
        source.logs(["seed-3"])
    with pytest.raises(UnknownRun, match=r"No run 'seed-\*'"):
        source.logs(["seed-*"])
    with pytest.raises(UnknownTag, match=r"No scalar tag 'los'. Did you mean 'loss'?"):
        source.logs_with("los")


def test_run_whose_name_is_a_pattern_is_one_run(tmp_path):
    write(tmp_path / "seed-[12]", scalars("loss", (0, 1.0)))
    write(tmp_path / "seed-1", scalars("loss", (0, 1.0)))
    assert [log.name for log in Source(tmp_path).logs(["seed-[12]"])] == ["seed-[12]"]


def test_run_with_an_invalid_unicode_name_is_reached_by_its_displayed_name(tmp_path):
    for name in (b"caf\xe9", b"caf\\xe9", "café".encode()):
        write(tmp_path / os.fsdecode(name), scalars("loss", (0, float(len(name)))))
    client = Client(tmp_path)
    shown = client.get("/api/table")["run"].to_pylist()
    assert sorted(shown) == ["caf\\xe9", "caf\\xe9 (2)", "café"]
    for run in shown:
        curves = client.post("/api/curves", tags=["loss"], runs=[run])
        assert [series["run"] for series in read_metadata(curves)] == [run]
        assert client.get("/api/run", run=run)["name"] == run
    lengths = client.post("/api/curves", tags=["loss"])["y"].to_pylist()
    assert sorted(lengths) == [4.0, 5.0, 7.0]


def test_refresh_reports_new_and_changed_runs(logdir):
    source = Source(logdir)
    source.logs()
    assert not source.refresh()
    assert source.generation == 1
    write(logdir / "seed-2", scalars("loss", (1, 1.5)), number=2)
    write(logdir / "seed-3", scalars("loss", (0, 3.0)))
    changed = source.refresh()
    assert (changed.generation, changed.new, changed.changed) == (2, ["seed-3"], ["seed-2"])
    assert source.log("seed-2").scalars["loss"].values.tolist() == [2.0, 1.5]


def test_pack_is_served_like_its_logdir(logdir):
    source = Source(pack(logdir))
    assert [log.name for log in source.logs_with("loss")] == ["seed-1", "seed-2"]
    assert not source.refresh()


def test_refresh_yields_to_a_running_request(logdir):
    source = Source(logdir)
    begun, end = threading.Event(), threading.Event()

    def slow():
        begun.set()
        assert end.wait(30)
        return source.refresh

    async def both():
        working = asyncio.create_task(source.work(slow))
        await asyncio.to_thread(begun.wait, 30)
        assert await asyncio.to_thread(source.refresh) is None
        # Other requests are admitted again, though the slow one is still running.
        assert await source.work(len, source.runs()) == 2
        end.set()
        await working
        return await asyncio.to_thread(source.refresh)

    assert asyncio.run(both()) is not None
    source.close()


def test_work_is_cancelled_after_its_time_limit(logdir):
    source = Source(logdir, seconds=0.05)
    end = threading.Event()
    with pytest.raises(TookTooLong, match=r"longer than 0.05 s"):
        asyncio.run(source.work(end.wait, 30))
    end.set()
    source.close()


def test_quick_requests_are_answered_while_all_compute_workers_are_busy(logdir):
    source = Source(logdir)
    end = threading.Event()

    async def both():
        slow = [asyncio.create_task(source.compute(end.wait, 30)) for _ in range(20)]
        slow += [asyncio.create_task(source.query(end.wait, 30)) for _ in range(20)]
        await asyncio.sleep(0)
        assert await source.work(len, source.runs()) == 2
        end.set()
        return await asyncio.gather(*slow)

    assert asyncio.run(both()) == [True] * 40
    source.close()


def test_eager_source_reads_runs_in_the_background(logdir):
    source = Source(logdir, is_eager=True)
    for thread in threading.enumerate():
        if thread.name == "runfold-read":
            thread.join()
    assert all(log.is_loaded for log in source.runs()._logdir.logs.values())


def test_runs_are_refreshed_during_a_long_query(logdir, monkeypatch):
    monkeypatch.setattr(querying, "_SECONDS", 3.0)
    has_tables = threading.Event()

    def build(*args):
        yield from build_table(*args)
        has_tables.set()

    monkeypatch.setattr(database, "build_table", build)
    source = Source(logdir)
    endless = (
        "select count(*) from runs, range(1000000) a, range(1000000) b where a.range < b.range"
    )

    async def both():
        query = asyncio.create_task(
            source.query(querying.answer, source, querying.SqlRequest(endless))
        )
        assert await asyncio.to_thread(has_tables.wait, 30)
        changed = await asyncio.to_thread(source.refresh)
        assert not query.done()
        with pytest.raises(QueryStopped):
            await query
        return changed

    assert asyncio.run(both()) is not None
    source.close()
