"""Query processes are reused unless an error occurred in them."""

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
    """Return a function that runs a query with limits."""
    runs = rf.open(write_logdir(tmp_path))
    source = Source(list(runs), runs._logs, runs._list_problems)

    def ask(query, **limits):
        limits = {"limit_seconds": 60, "limit_memory": 500_000_000, **limits}
        sizes = {"most_rows": 100, "most_bytes": 1_000_000}
        rows, _ = run_limited(source, query, **limits, **sizes, workers=workers, hold=nullcontext)
        return rows.to_pydict()

    return ask


@pytest.fixture
def idle(workers):
    """Return a function that returns the idle processes."""
    return lambda: {process.pid for _, process in workers._idle}


def test_process_is_reused_for_the_next_query(ask, idle):
    assert ask("select count(*) as n from scalars")["n"][0] > 0
    first = idle()
    assert len(first) == 1
    assert ask("select 2 as n") == {"n": [2]}
    assert idle() == first


def test_query_leaves_nothing_for_the_next(ask):
    ask("select * from scalars limit 1")
    with pytest.raises(BadQuery, match="not allowed"):
        ask("create table kept as select 1")
    with pytest.raises(BadQuery, match="kept"):
        ask("select * from kept")


def test_code_in_the_working_directory_is_not_run(ask, tmp_path, monkeypatch):
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
def test_process_is_killed_after_an_error(ask, idle, query, limits, error):
    ask("select 1 as n")
    before = idle()
    with pytest.raises(error):
        ask(query, **limits)
    assert idle() == set()
    assert ask("select 1 as n") == {"n": [1]}
    assert not idle() & before


def test_large_or_long_idle_process_is_not_reused(ask, idle, monkeypatch):
    ask("select 1 as n")
    before = idle()
    monkeypatch.setattr(crews, "FRESH_SECONDS", 0)
    ask("select 1 as n")
    assert idle() != before
    monkeypatch.setattr(crews, "_LARGEST", 1)
    ask("select 1 as n")
    assert idle() == set()


def test_killed_process_is_replaced(ask, idle):
    ask("select 1 as n")
    (pid,) = idle()
    killed = psutil.Process(pid)
    killed.kill()
    psutil.wait_procs([killed], timeout=30)
    assert ask("select 1 as n") == {"n": [1]}


def test_closed_or_deleted_pool_kills_its_processes(ask, idle, workers):
    ask("select 1 as n")
    (pid,) = idle()
    workers.close()
    assert not psutil.pid_exists(pid)
    other = QueryWorkers(1)
    with other.borrow() as process:
        pass
    del other
    assert process.returncode is not None


def test_rule_26_process_exits_with_its_parent_even_if_killed(tmp_path):
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
            at_work = [child for child in asking.children() if sum(child.cpu_times()[:2]) > 1]
        process.kill()
    gone, alive = psutil.wait_procs(at_work, timeout=60)
    for child in alive:
        child.kill()
    assert (gone, alive) == (at_work, [])
