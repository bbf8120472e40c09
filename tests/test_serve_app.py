"""The application: what it imports at first, and what only when it is asked for."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from logs import scalars, write
from serving import open_client

from runfold.serve.app import FIRST, LATER

BEGIN = """
import sys
from runfold.serve.app import make_app
from runfold.serve.source import Source

make_app(Source(sys.argv[1]))
print(*(name for name in sys.argv[2:] if f"runfold.serve.{name}" in sys.modules))
"""
FOLD = {"tags": ["loss"]}


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    write(tmp_path / "seed-1", scalars("loss", (0, 1.0)))
    return tmp_path


def test_only_what_a_page_asks_for_as_it_opens_is_imported_at_first(logdir: Path):
    command = [sys.executable, "-c", BEGIN, str(logdir), *FIRST, *LATER]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == list(FIRST)


def test_routes_that_come_later_are_added_once_however_many_ask_at_once(logdir: Path):
    with open_client(logdir) as client:
        before = len(client.app.routes)
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: client.post("/api/fold", json=FOLD), range(8)))
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.content for answer in answers}) == 1
        paths = [(route.path, *(route.methods or ())) for route in client.app.routes]
        assert len(paths) == len(set(paths)) > before


def test_what_no_route_answers_is_not_found_however_often_it_is_asked(logdir: Path):
    with open_client(logdir) as client:
        assert [client.get("/api/nothing").status_code for _ in range(2)] == [404, 404]
        assert client.get("/api/fold").status_code == 405
