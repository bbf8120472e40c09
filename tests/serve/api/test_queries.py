"""Conditions and SQL over HTTP answer as the library does, and stay within limits."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from helpers.logs import hparams, scalars, write
from helpers.serve_client import Client, told
from helpers.sql_logs import HUGE, write_logdir

import runfold as rf
from runfold._serve.api import queries as querying
from runfold._serve.http.error_responses import TookTooLong


@pytest.fixture
def client(tmp_path):
    return Client(write_logdir(tmp_path / "logs"))


def test_condition_gives_the_names_of_runs(client, tmp_path):
    for condition in ("lr < 0.05", "last['train/loss'] >= 1.5 or run like 'odd*'", "lr > 1"):
        expected = list(rf.open(tmp_path / "logs").where(condition))
        assert client.post("/api/where", condition=condition) == {"runs": expected}


@pytest.mark.parametrize(
    ("condition", "at", "message"),
    [
        ("lr < ", 5, "Something is missing at the end."),
        ("lr < 1 and lrr == 2", 11, "No run has an hparam 'lrr'. Did you mean 'lr'?"),
        ("__import__('os').system('x')", 16, ""),
        ("(" * 5000, None, ""),
    ],
)
def test_wrong_condition_says_where(client, condition, at, message):
    answer = client.http.post("/api/where", json={"condition": condition})
    assert answer.status_code == 400
    assert message in answer.json()["error"]
    if at is not None:
        assert answer.json()["at"] == at


def test_query_keeps_nan_infinity_and_64_bit_steps(client):
    table = client.post("/api/sql", query="select step, value from scalars where tag = 'step'")
    assert str(table.to_pydict()) == f"{{'step': [{HUGE}, -5, 7], 'value': [nan, inf, -inf]}}"
    assert (told(table, "rows"), told(table, "truncated")) == (3, False)


def test_more_rows_than_are_shown_are_counted(client, monkeypatch):
    monkeypatch.setattr(querying, "_MOST_ROWS", 10)
    table = client.post("/api/sql", query="select range as n from range(25) order by n")
    assert table["n"].to_pylist() == list(range(10))
    assert (told(table, "rows"), told(table, "truncated")) == (25, True)


@pytest.mark.parametrize(
    "query",
    [
        # One value, one batch, and many batches; the process itself has room for them.
        "select list(range) as a from range(9000000)",
        "select repeat('x', 1000) as a from range(100000)",
        "select range as a, range as b, range * 1.5 as c, range::varchar || repeat('x', 900) as d"
        " from range(99000)",
    ],
)
def test_rule_36_an_answer_that_is_too_large_is_refused(client, query):
    status, message = client.refused("/api/sql", query=query)
    assert status == 400
    assert "its answer is larger than 64.0 MB, which is the limit here. Ask for fewer" in message
    # The next query is answered.
    assert client.post("/api/sql", query="select 1 as n")["n"].to_pylist() == [1]


def test_rule_36_rows_that_are_not_shown_take_no_room(client):
    # 1.6 GB in all, and 800 kB of them are shown.
    table = client.post("/api/sql", query="select range as n from range(200000000)")
    assert (len(table), told(table, "rows"), told(table, "truncated")) == (100000, 2 * 10**8, True)


def test_types_that_a_page_lacks_are_text(client):
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
        ("copy scalars to 'x.csv'", "COPY is not answered"),
        ("select 1; select 2", "One statement is answered at a time, and this is 2."),
    ],
)
def test_wrong_or_reaching_query_is_refused(client, query, message):
    status, told_of = client.refused("/api/sql", query=query)
    assert status == 400
    assert message in told_of


def test_query_ends_at_its_limit(client, monkeypatch):
    monkeypatch.setattr(querying, "_SECONDS", 0.2)
    query = "select sum(a.range + b.range) from range(100000000) a, range(100000000) b"
    status, message = client.refused("/api/sql", query=query)
    assert (status, message[:31]) == (400, "The query was stopped after 0.2")


def test_queries_beyond_those_at_work_wait_for_their_turn(client):
    def ask(number):
        return client.post("/api/sql", query=f"select {number} as n")["n"].to_pylist()

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(ask, range(6))) == [[number] for number in range(6)]


def test_query_whose_turn_does_not_come_is_asked_to_come_back(tmp_path):
    client = Client(write_logdir(tmp_path / "logs"), seconds=0.05)
    end = threading.Event()

    async def fill():
        for _ in range(2):
            with pytest.raises(TookTooLong):
                await client.source.query(end.wait, 30)

    asyncio.run(fill())
    answer = client.http.post("/api/sql", json={"query": "select 1"})
    end.set()
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
    assert answer.json() == {"error": "Others were at work for 0.05 s. Ask again in a moment."}


def test_condition_follows_the_runs(tmp_path):
    write(tmp_path / "a", hparams(lr=0.1), scalars("loss", (0, 1.0)))
    client = Client(tmp_path)
    assert client.post("/api/where", condition="lr < 1") == {"runs": ["a"]}
    write(tmp_path / "b", hparams(lr=0.2), scalars("loss", (0, 1.0)))
    client.source.refresh()
    assert client.post("/api/where", condition="lr < 1") == {"runs": ["a", "b"]}
