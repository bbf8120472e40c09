"""Fifty clients at once: all are answered, and the server does not grow without end."""

import asyncio

import httpx
import psutil
import pyarrow as pa
import pytest
from pages import serve_page

import runfold as rf

CLIENTS = 50
ROUNDS = 3
POINTS = 5_000
MOST_BYTES = 300 * 2**20


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    for number in range(10):
        with rf.SummaryWriter(folder / f"run-{number}") as writer:
            writer.add_hparams({"lr": number % 2}, {})
            steps = range(POINTS)
            writer.add_scalar_series("loss", [step % (number + 2) for step in steps], steps)
    return folder


async def ask_all(url, token):
    """What fifty open pages are answered: the statuses, and how many points they got."""
    headers = {"Authorization": f"Bearer {token}"}
    curves = {"tags": ["loss"], "width": None}
    fold = {"tags": ["loss"], "by": "lr", "width": 500}

    async def ask():
        async with (
            httpx.AsyncClient(base_url=url, headers=headers, timeout=120) as client,
            client.stream("GET", "/api/events") as stream,
        ):
            assert stream.status_code == 200
            answers = [
                await client.get("/api/table"),
                await client.post("/api/curves", json=curves),
                await client.post("/api/fold", json=fold),
                await client.post("/api/where", json={"condition": "lr == 1"}),
            ]
            points = pa.ipc.open_stream(answers[1].content).read_all().num_rows
            return [answer.status_code for answer in answers], points

    return await asyncio.gather(*(ask() for _ in range(CLIENTS)))


def test_fifty_clients_are_all_answered_in_bounded_memory(logdir, tmp_path):
    file = tmp_path / "token"
    with serve_page(logdir, "--token-file", file, state=tmp_path) as served:
        process = psutil.Process(served.process.pid)
        sizes = []
        for _ in range(ROUNDS):
            answers = asyncio.run(ask_all(served.url, file.read_text()))
            assert answers == [([200] * 4, 10 * POINTS)] * CLIENTS
            sizes.append(process.memory_info().rss)
        assert max(sizes) < MOST_BYTES
