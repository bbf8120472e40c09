"""The application: what it imports at startup, and what it imports only on demand."""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from helpers.logs import scalars, write
from helpers.serving import open_client

from runfold import _serve as serve
from runfold._serve.app import FIRST, find_later

BEGIN = """
import sys
from runfold._serve.app import make_app
from runfold._serve.run_source import Source

make_app(Source(sys.argv[1]))
print(*(name for name in sys.argv[2:] if f"runfold._serve.{name}" in sys.modules))
"""
FOLD = {"tags": ["loss"]}


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    write(tmp_path / "seed-1", scalars("loss", (0, 1.0)))
    return tmp_path


def test_only_modules_needed_to_open_a_page_are_imported_at_startup(logdir: Path):
    command = [sys.executable, "-c", BEGIN, str(logdir), *FIRST, *find_later()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == list(FIRST)


def test_every_module_with_an_endpoint_is_found():
    package = Path(serve.__file__).parent
    having = {
        ".".join(path.relative_to(package).with_suffix("").parts)
        for path in package.rglob("*.py")
        if re.search("^@endpoint", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert len(having) > 20
    assert having <= {*FIRST, *find_later()}


def test_later_routes_are_added_once_despite_concurrent_requests(logdir: Path):
    with open_client(logdir) as client:
        before = len(client.app.routes)
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: client.post("/api/fold", json=FOLD), range(8)))
        assert {answer.status_code for answer in answers} == {200}
        assert len({answer.content for answer in answers}) == 1
        routes: list[Any] = client.app.routes
        paths = [(route.path, *(route.methods or ())) for route in routes]
        assert len(paths) == len(set(paths)) > before


def test_unknown_route_is_not_found_on_every_request(logdir: Path):
    with open_client(logdir) as client:
        assert [client.get("/api/nothing").status_code for _ in range(2)] == [404, 404]
        assert client.get("/api/fold").status_code == 405
