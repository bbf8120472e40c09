"""The background service: one per user, found, started, replaced and ended."""

import json
import re
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psutil
import pytest
from helpers.boards import group_of, until
from helpers.servers import serving
from helpers.services import (
    end_service,
    kill_hard,
    known,
    listed,
    logged_in,
    own_state,
    read_link,
    say,
    service_pid,
    start,
    until_state,
    write_experiments,
)

from runfold._serve.http.access import make_login_path
from runfold._serve.tensorboards.instance_store import Store
from runfold._serve.tensorboards.service import NoService, Service, ensure_service, find_service
from runfold._state import state_folder

SERVICE = [sys.executable, "-P", "-m", "runfold._serve.background_service"]


@pytest.fixture
def folder(tmp_path):
    with own_state(tmp_path):
        write_experiments(tmp_path / "runs", "big")
        yield tmp_path


def services() -> list[psutil.Process]:
    """Return the service processes that this test started."""
    mine = state_folder()
    processes = []
    for process in psutil.process_iter():
        try:
            is_service = SERVICE[-1] in process.cmdline()
            if is_service and mine.startswith(process.environ()["XDG_STATE_HOME"]):
                processes.append(process)
        except (psutil.Error, KeyError):
            continue
    return processes


def test_concurrent_callers_get_the_same_service(folder):
    assert find_service() is None
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: ensure_service(), range(2))
    assert first == second == find_service()
    # The other process notices that it is not needed.
    until(lambda: [process.pid for process in services()] == [first.pid])
    path = Path(state_folder("tensorboards", "service.json"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert first.token not in repr(first)
    assert httpx.get(f"{first.url}/api/tensorboards").status_code == 403
    headers = {"Authorization": f"Bearer {first.token}"}
    listed = httpx.get(f"{first.url}/api/tensorboards", headers=headers)
    assert listed.json() == {"tensorboards": []}
    refused = httpx.post(f"{first.url}/api/tensorboards", headers=headers, json={})
    assert "`runfold tensorboard start`" in refused.json()["error"]


def test_instance_outlives_a_killed_service_and_ends_with_a_stopped_one(folder):
    id, _ = start("--logdir", folder / "runs")
    before = known(id)
    pid = service_pid()
    kill_hard(pid)
    assert find_service() is None
    _, out, _ = say("open", id, "--no-browser")
    assert service_pid() != pid
    assert (known(id).pid, known(id).restarts) == (before.pid, 0)
    with logged_in(read_link(out)[1]) as client:
        assert client.get("data/runs").json() == ["big/seed-1", "big/seed-2"]
    assert before.pid is not None
    end_service()
    assert group_of(before.pid) == set()
    assert known(id).state == "TERMINATED"
    assert find_service() is None


class Impostor(BaseHTTPRequestHandler):
    """Another user's server, which answers everything and records what it receives."""

    def handle_any(self) -> None:
        self.server.seen.append(f"{self.requestline} {self.headers}")  # type: ignore[attr-defined]
        content = {"proof": "0" * 64, "ticket": "@evil.example/", "link": "@evil.example/"}
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = handle_any  # noqa: N815
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def impostor(port: int) -> Iterator[list[str]]:
    """Serve on another server's port, and yield the requests that arrive."""

    def listen() -> ThreadingHTTPServer | None:
        try:
            return ThreadingHTTPServer(("127.0.0.1", port), Impostor)
        except OSError:  # a connection on this machine may still use the port
            return None

    with until(listen) as server:
        server.daemon_threads = True
        server.seen = []  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server.seen  # type: ignore[attr-defined]
        finally:
            server.shutdown()
            thread.join()


def test_rule_34_an_impostor_on_the_port_of_a_dead_service_gets_no_token(folder):
    id, _ = start("--logdir", folder / "runs")
    before = find_service()
    assert before is not None
    kill_hard(before.pid)
    with impostor(urlsplit(before.url).port or 0) as seen:
        assert find_service() is None
        with pytest.raises(NoService, match="Another program responds at"):
            before.link(id)
        status, out, err = say("open", id, "--no-browser")
        assert status == 0, err
        after = find_service()
        assert after is not None
        assert read_link(out)[1].startswith(f"{after.page}/login?token=")
        assert "evil" not in out + err
        with logged_in(read_link(out)[1]) as client:
            assert client.get("data/runs").json() == ["big/seed-1", "big/seed-2"]
    assert seen
    assert not [request for request in seen if before.token in request or "uthorization" in request]


def test_rule_34_a_malformed_ticket_is_refused():
    for ticket in ("@evil.example/", "x" * 43 + "@evil.example", "é" * 43, "None"):
        with pytest.raises(ValueError, match="Not a login ticket"):
            make_login_path(ticket, "0123abcd")
    assert make_login_path("x" * 43, "0123abcd") == f"/login?token={'x' * 43}&tensorboard=0123abcd"


def test_start_finishes_although_the_service_is_killed(folder):
    ensure_service()
    with closing(Store()) as store, ThreadPoolExecutor(1) as pool:
        starting = pool.submit(say, "start", "--no-browser", "--logdir", str(folder / "runs"))
        until(lambda: any(instance.pid for instance in store.all()))
        kill_hard(service_pid())
        status, out, err = starting.result(60)
    assert status == 0, err
    with logged_in(read_link(out)[1]) as client:
        assert client.get("data/runs").json() == ["big/seed-1", "big/seed-2"]


def test_instances_survive_a_temporary_failure_of_the_store(folder):
    id, _ = start("--logdir", folder / "runs")
    before, service = known(id), find_service()
    path = Path(state_folder("tensorboards", "service.json"))
    with closing(sqlite3.connect(state_folder("tensorboards", "instances.sqlite"))) as store:
        store.execute("alter table generation rename to gone")
        # Every access to the store now fails; the file is published again only after a failure.
        path.unlink()
        until(lambda: find_service() == service)
        store.execute("alter table gone rename to generation")
    assert before.pid is not None
    assert group_of(before.pid)
    _, out, _ = say("open", id, "--no-browser")
    with logged_in(read_link(out)[1]) as client:
        assert client.get("data/runs").json() == ["big/seed-1", "big/seed-2"]
    assert known(id).pid == before.pid


def test_list_restarts_instances_whose_process_died(folder):
    id, _ = start("--logdir", folder / "runs")
    before = known(id)
    kill_hard(service_pid())
    kill_hard(before.pid)
    assert known(id).state == "RUNNING"
    listed()
    assert find_service() is not None
    assert until_state(id, "RUNNING", restarts=1).pid != before.pid


def test_serve_is_the_service_while_it_runs(folder):
    with serving(folder / "runs") as served:
        service = until(find_service)
        assert service.url == served.url
        id, link = start("--logdir", folder / "runs")
        assert link.startswith(served.page)
        with logged_in(link) as client:
            assert client.get("data/runs").json() == ["big/seed-1", "big/seed-2"]
        pid = known(id).pid
        status, output = served.end(signal.SIGTERM)
        assert (status, output) == (143, "")
    assert pid is not None
    assert group_of(pid) == set()
    assert not Path(state_folder("tensorboards", "service.json")).exists()


def test_service_ends_by_itself_without_instances(folder):
    done = subprocess.run([*SERVICE, "0.2"], capture_output=True, timeout=60, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert find_service() is None


def test_service_that_cannot_be_started_names_its_log(folder, monkeypatch):
    Path(state_folder("tensorboards")).mkdir(parents=True)
    Path(state_folder("tensorboards", "instances.sqlite")).write_text("not a database" * 100)
    with pytest.raises(NoService, match=re.escape("service.log")):
        ensure_service()


def test_service_that_does_not_respond_is_reported():
    assert Service("http://127.0.0.1:1", "http://x.localhost:1", "x", 1) is not None
    with pytest.raises(NoService, match="does not respond"):
        Service("http://127.0.0.1:1", "http://x.localhost:1", "x", 1).poke()
