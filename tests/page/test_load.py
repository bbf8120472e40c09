"""Fifty clients at once: all get responses, and the server's memory stays bounded."""

import asyncio
import json
from contextlib import AsyncExitStack

import httpx
import psutil
import pyarrow as pa
import pytest
from helpers.pages import serve_page

import runfold as rf

CLIENTS = 50
ROUNDS = 3
POINTS = 5_000
MOST_BYTES = 300 * 2**20
QUERY = "select run, max(value) from scalars group by run"


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    for number in range(10):
        with rf.SummaryWriter(folder / f"run-{number}") as writer:
            writer.add_hparams({"lr": number % 2}, {})
            steps = range(POINTS)
            writer.add_scalar_series("loss", steps, [step % (number + 2) for step in steps])
    return folder


async def load_page(client):
    """Send an open page's requests; return the statuses and the number of points."""
    curves = {"tags": ["loss"], "width": None}
    fold = {"tags": ["loss"], "by": "lr", "width": 500}
    responses = [
        await client.get("/api/table"),
        await client.post("/api/curves", json=curves),
        await client.post("/api/fold", json=fold),
        await client.post("/api/fold", json={**fold, "band": "ci95"}),
        await client.post("/api/where", json={"condition": "lr == 1"}),
        await client.post("/api/sql", json={"query": QUERY}),
    ]
    points = pa.ipc.open_stream(responses[1].content).read_all().num_rows
    return [response.status_code for response in responses], points


async def await_run(stream, name):
    """Listen for events until a new run is reported."""
    async for line in stream.aiter_lines():
        if line.startswith("data:") and name in json.loads(line.removeprefix("data:")).get(
            "new", ()
        ):
            return True
    return False


async def visit(url, token, logdir, name):
    """Return the results of fifty open pages, and whether each was notified of a new run."""
    headers = {"Authorization": f"Bearer {token}"}
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(
                httpx.AsyncClient(base_url=url, headers=headers, timeout=120)
            )
            for _ in range(CLIENTS)
        ]
        streams = [
            await stack.enter_async_context(client.stream("GET", "/api/events"))
            for client in clients
        ]
        results = await asyncio.gather(*map(load_page, clients))
        with rf.SummaryWriter(logdir / name) as writer:
            writer.add_scalar("other", 1.0, 0)
        return results, await asyncio.gather(*(await_run(stream, name) for stream in streams))


def test_fifty_clients_get_responses_in_bounded_memory(logdir, tmp_path):
    file = tmp_path / "token"
    with serve_page(logdir, "--token-file", file, state=tmp_path) as served:
        process = psutil.Process(served.process.pid)
        sizes = []
        for number in range(ROUNDS):
            name = f"new-{number}"
            results, notified = asyncio.run(visit(served.url, file.read_text(), logdir, name))
            assert results == [([200] * 6, 10 * POINTS)] * CLIENTS
            assert all(notified)
            sizes.append(process.memory_info().rss)
        assert max(sizes) < MOST_BYTES
