"""Processes for queries are kept for the next one, as long as nothing went wrong in them."""

import subprocess
import sys
from contextlib import nullcontext

import psutil
import pytest
from helpers.sql_logs import write_logdir

import runfold as rf
from runfold._tables.sql import query_workers as crews
from runfold._tables.sql.database import run_limited
from runfold._tables.sql.query_workers import QueryWorkers
from runfold._tables.sql.relations import Source
from runfold.errors import BadQuery, QueryStopped


@pytest.fixture
def workers():
    workers = QueryWorkers(1)
    yield workers
    workers.close()


@pytest.fixture
def ask(tmp_path, workers):
    """A function that answers a query within limits."""
    runs = rf.open(write_logdir(tmp_path))
    source = Source(list(runs), runs._logs, runs._list_problems)

    def ask(query, **limits):
        limits = {"limit_seconds": 60, "limit_memory": 500_000_000, **limits}
        sizes = {"most_rows": 100, "most_bytes": 1_000_000}
        rows, _ = run_limited(source, query, **limits, **sizes, workers=workers, hold=nullcontext)
        return rows.to_pydict()

    return ask


@pytest.fixture
def waiting(workers):
    """A function that gives the processes that wait."""
    return lambda: {process.pid for _, process in workers._waiting}


def test_process_answers_one_query_after_another(ask, waiting):
    assert ask("select count(*) as n from scalars")["n"][0] > 0
    first = waiting()
    assert len(first) == 1
    assert ask("select 2 as n") == {"n": [2]}
    assert waiting() == first


def test_nothing_of_a_query_is_there_for_the_next(ask):
    ask("select * from scalars limit 1")
    with pytest.raises(BadQuery, match="not answered"):
        ask("create table kept as select 1")
    with pytest.raises(BadQuery, match="kept"):
        ask("select * from kept")


def test_nothing_in_the_folder_that_one_is_in_is_run(ask, tmp_path, monkeypatch):
    (tmp_path / "duckdb.py").write_text("open('was-run', 'w')")
    monkeypatch.chdir(tmp_path)
    assert ask("select 2 as n") == {"n": [2]}
    assert not (tmp_path / "was-run").exists()


@pytest.mark.parametrize(
    ("query", "limits", "error"),
    [
        ("select nothing", {}, BadQuery),
        ("select sum(a.range) from range(9e9::bigint) a", {"limit_seconds": 0.1}, QueryStopped),
    ],
)
def test_process_in_which_something_went_wrong_is_gone(ask, waiting, query, limits, error):
    ask("select 1 as n")
    before = waiting()
    with pytest.raises(error):
        ask(query, **limits)
    assert waiting() == set()
    assert ask("select 1 as n") == {"n": [1]}
    assert not waiting() & before


def test_process_that_has_grown_or_waited_for_long_is_not_used_again(ask, waiting, monkeypatch):
    ask("select 1 as n")
    before = waiting()
    monkeypatch.setattr(crews, "FRESH_SECONDS", 0)
    ask("select 1 as n")
    assert waiting() != before
    monkeypatch.setattr(crews, "_LARGEST", 1)
    ask("select 1 as n")
    assert waiting() == set()


def test_process_that_was_killed_is_replaced(ask, waiting):
    ask("select 1 as n")
    (pid,) = waiting()
    killed = psutil.Process(pid)
    killed.kill()
    psutil.wait_procs([killed], timeout=30)
    assert ask("select 1 as n") == {"n": [1]}


def test_pool_that_is_closed_or_forgotten_ends_its_processes(ask, waiting, workers):
    ask("select 1 as n")
    (pid,) = waiting()
    workers.close()
    assert not psutil.pid_exists(pid)
    other = QueryWorkers(1)
    with other.hire() as process:
        pass
    del other
    assert process.returncode is not None


def test_rule_26_process_ends_with_the_one_that_asked_also_when_that_is_killed(tmp_path):
    code = """
import sys
import runfold as rf
runs = rf.open(sys.argv[1])
endless = "select sum(a.range + b.range) from range(100000000) a, range(100000000) b"
runs.sql(endless, limit_seconds=600)
"""
    command = [sys.executable, "-c", code, str(write_logdir(tmp_path))]
    with subprocess.Popen(command) as process:
        asking = psutil.Process(process.pid)
        at_work: list[psutil.Process] = []
        while not at_work:
            at_work = [one for one in asking.children() if sum(one.cpu_times()[:2]) > 1]
        process.kill()
    gone, alive = psutil.wait_procs(at_work, timeout=60)
    for one in alive:
        one.kill()
    assert (gone, alive) == (at_work, [])
