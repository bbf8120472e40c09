"""Conditions and SQL over HTTP match the library, and stay within limits."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from helpers.logs import hparams, scalars, write
from helpers.serve_client import Client, read_metadata
from helpers.sql_logs import HUGE, write_logdir

import runfold as rf
from runfold._serve.api import queries as querying
from runfold._serve.http.error_responses import TookTooLong


@pytest.fixture
def client(tmp_path):
    return Client(write_logdir(tmp_path / "logs"))


def test_condition_returns_the_names_of_runs(client, tmp_path):
    for condition in ("lr < 0.05", "last['train/loss'] >= 1.5 or run like 'odd*'", "lr > 1"):
        expected = list(rf.open(tmp_path / "logs").where(condition))
        assert client.post("/api/where", condition=condition) == {"runs": expected}


@pytest.mark.parametrize(
    ("condition", "at", "message"),
    [
        ("lr < ", 5, "The condition is incomplete."),
        ("lr < 1 and lrr == 2", 11, "No run has an hparam 'lrr'. Did you mean 'lr'?"),
        ("__import__('os').system('x')", 16, ""),
        ("(" * 5000, None, ""),
    ],
)
def test_invalid_condition_reports_the_position(client, condition, at, message):
    response = client.http.post("/api/where", json={"condition": condition})
    assert response.status_code == 400
    assert message in response.json()["error"]
    if at is not None:
        assert response.json()["at"] == at


def test_query_keeps_nan_infinity_and_64_bit_steps(client):
    table = client.post("/api/sql", query="select step, value from scalars where tag = 'step'")
    assert str(table.to_pydict()) == f"{{'step': [{HUGE}, -5, 7], 'value': [nan, inf, -inf]}}"
    assert (read_metadata(table, "rows"), read_metadata(table, "truncated")) == (3, False)


def test_rows_beyond_the_limit_are_counted(client, monkeypatch):
    monkeypatch.setattr(querying, "_MOST_ROWS", 10)
    table = client.post("/api/sql", query="select range as n from range(25) order by n")
    assert table["n"].to_pylist() == list(range(10))
    assert (read_metadata(table, "rows"), read_metadata(table, "truncated")) == (25, True)


@pytest.mark.parametrize(
    "query",
    [
        # A single value, one batch, and many batches. The query process has enough memory for each.
        "select list(range) as a from range(9000000)",
        "select repeat('x', 1000) as a from range(100000)",
        "select range as a, range as b, range * 1.5 as c, range::varchar || repeat('x', 900) as d"
        " from range(99000)",
    ],
)
def test_rule_36_a_result_that_is_too_large_is_refused(client, query):
    status, message = client.refused("/api/sql", query=query)
    assert status == 400
    assert "its result exceeded the limit of 64.0 MB. Select fewer" in message
    # The next query works.
    assert client.post("/api/sql", query="select 1 as n")["n"].to_pylist() == [1]


def test_rule_36_rows_beyond_the_limit_use_no_memory(client):
    # The result is 1.6 GB in total, but only 800 kB of it is sent.
    table = client.post("/api/sql", query="select range as n from range(200000000)")
    assert (len(table), read_metadata(table, "rows")) == (100000, 2 * 10**8)
    assert read_metadata(table, "truncated") is True


def test_types_that_the_page_does_not_support_are_text(client):
    query = """select interval 3 days as a, 1.25::decimal(9, 2) as b, [1.5::decimal(3, 1)] as c,
               ['x'] as d, {'k': 1} as e, null as f"""
    (row,) = client.post("/api/sql", query=query).to_pylist()
    assert row["b"] == "1.25"
    assert isinstance(row["a"], str)
    assert isinstance(row["c"], str)
    assert (row["d"], row["e"], row["f"]) == (["x"], {"k": 1}, None)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select * from scalrs", "scalars"),
        ("select * from read_csv('/etc/passwd')", ""),
        ("copy scalars to 'x.csv'", "COPY is not allowed"),
        ("select 1; select 2", "Expected one statement, got 2."),
    ],
)
def test_invalid_or_forbidden_query_is_refused(client, query, message):
    status, error = client.refused("/api/sql", query=query)
    assert status == 400
    assert message in error


def test_query_stops_at_its_time_limit(client, monkeypatch):
    monkeypatch.setattr(querying, "_SECONDS", 0.2)
    query = "select sum(a.range + b.range) from range(100000000) a, range(100000000) b"
    status, message = client.refused("/api/sql", query=query)
    assert (status, message[:63]) == (
        400,
        "The query was stopped because it exceeded its time limit of 0.2",
    )


def test_further_queries_wait_for_their_turn(client):
    def query(number):
        return client.post("/api/sql", query=f"select {number} as n")["n"].to_pylist()

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(query, range(6))) == [[number] for number in range(6)]


def test_query_whose_turn_does_not_come_gets_a_retry_after(tmp_path):
    client = Client(write_logdir(tmp_path / "logs"), seconds=0.05)
    end = threading.Event()

    async def fill():
        for _ in range(2):
            with pytest.raises(TookTooLong):
                await client.source.query(end.wait, 30)

    asyncio.run(fill())
    response = client.http.post("/api/sql", json={"query": "select 1"})
    end.set()
    assert (response.status_code, response.headers["retry-after"]) == (429, "1")
    error = "Other requests kept the server busy for 0.05 s. Try again in a moment."
    assert response.json() == {"error": error}


def test_condition_is_evaluated_on_new_runs(tmp_path):
    write(tmp_path / "a", hparams(lr=0.1), scalars("loss", (0, 1.0)))
    client = Client(tmp_path)
    assert client.post("/api/where", condition="lr < 1") == {"runs": ["a"]}
    write(tmp_path / "b", hparams(lr=0.2), scalars("loss", (0, 1.0)))
    client.source.refresh()
    assert client.post("/api/where", condition="lr < 1") == {"runs": ["a", "b"]}
