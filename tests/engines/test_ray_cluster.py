"""Connecting to Ray clusters, and the messages if there is none that can do the work."""

import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import ray
from helpers.clusters import STORE, quiet_cluster
from ray.cluster_utils import Cluster
from ray.experimental.internal_kv import _internal_kv_get, _internal_kv_put

import runfold
from runfold._engines import ray_cluster
from runfold._engines.ray_cluster import connect
from runfold.errors import NoCluster


class SilentHandler(BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


_raylet: Any = ray._raylet  # it has no types

WHAT = "engine='ray'"

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.xdist_group("ray")]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with quiet_cluster() as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(ray_cluster, "_checked", set())
    yield
    ray.shutdown()


def test_it_connects_once_and_keeps_the_handler_of_sigterm(cluster: Cluster) -> None:
    handler = signal.getsignal(signal.SIGTERM)
    assert connect(cluster.address, WHAT) is ray
    assert signal.getsignal(signal.SIGTERM) is handler
    assert ray.cluster_resources()["CPU"] == 1
    job = ray.get_runtime_context().get_job_id()
    for address in (None, "auto", cluster.address, "localhost:" + cluster.address.split(":")[1]):
        connect(address, WHAT)
    assert ray.get_runtime_context().get_job_id() == job


def test_the_environment_names_a_cluster(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    connect(None, WHAT)
    assert ray.get_runtime_context().gcs_address == cluster.address


def test_it_connects_from_another_thread(cluster: Cluster) -> None:
    threads = [threading.Thread(target=connect, args=(cluster.address, WHAT)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ray.is_initialized()


def test_a_second_cluster_is_an_error(cluster: Cluster) -> None:
    connect(cluster.address, WHAT)
    with pytest.raises(NoCluster, match=r"already connected .* Call ray\.shutdown\(\)"):
        connect("127.0.0.1:1", WHAT)


def test_an_address_where_nothing_answers_is_an_error() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        for scheme in ("", "ray://"):
            with pytest.raises(NoCluster, match=f"No Ray cluster answers at '{scheme}127") as error:
                connect(f"{scheme}127.0.0.1:{port}", WHAT)
            assert isinstance(error.value, ConnectionError)


def test_an_address_of_another_server_is_an_error() -> None:
    server = HTTPServer(("127.0.0.1", 0), SilentHandler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with pytest.raises(NoCluster, match="No Ray cluster answers"):
            connect(f"127.0.0.1:{server.server_port}", WHAT)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_server_that_is_silent_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_cluster, "_PATIENCE", 0.2)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        pytest.raises(NoCluster, match="No Ray cluster answers"),
    ):
        connect(f"127.0.0.1:{server.getsockname()[1]}", WHAT)


@pytest.mark.parametrize("address", ["nonsense", "host:", ":1", "host:port", ""])
def test_an_invalid_address_is_an_error(address: str) -> None:
    with pytest.raises(NoCluster, match=r"is not the address of a Ray cluster\. Use 'auto'"):
        connect(address, WHAT)


def test_a_cluster_with_other_versions_is_an_error(cluster: Cluster) -> None:
    connect(cluster.address, WHAT)
    key, space = b"CLUSTER_METADATA", b"cluster"
    stored = _internal_kv_get(key, namespace=space)
    other = {**json.loads(stored), "ray_version": "2.41.0", "python_version": "3.12.1"}
    _internal_kv_put(key, json.dumps(other).encode(), overwrite=True, namespace=space)
    try:
        ray.shutdown()
        with pytest.raises(
            NoCluster, match=r"has Ray 2\.41\.0 and Python 3\.12\.1, and this process has Ray"
        ):
            connect(cluster.address, WHAT)
        assert not ray.is_initialized()
    finally:
        _raylet.GcsClient(address=cluster.address).internal_kv_put(key, stored, True, space)
    connect(cluster.address, WHAT)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("raise ImportError('not here')", r"does not have the package runfold \(not here\)"),
        ("__version__ = '0.0.1'", r"has runfold 0\.0\.1, and this process has \d"),
    ],
)
def test_a_node_without_this_version_is_an_error(
    cluster: Cluster, tmp_path: Path, source: str, message: str
) -> None:
    (tmp_path / "runfold.py").write_text(source)
    node = cluster.add_node(
        num_cpus=1, object_store_memory=STORE, env_vars={"PYTHONPATH": str(tmp_path)}
    )
    try:
        with pytest.raises(NoCluster, match=message) as error:
            connect(cluster.address, WHAT)
        assert f"Install runfold=={runfold.__version__} on every node." in str(error.value)
    finally:
        ray.shutdown()
        cluster.remove_node(node)


def run_python(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_without_ray_the_message_names_the_package() -> None:
    program = """
import sys
sys.modules["ray"] = None
from runfold._engines.ray_cluster import connect
from runfold.errors import NoCluster
try:
    connect(None, "engine='ray'")
except NoCluster as error:
    print(error)
"""
    assert "engine='ray' needs the package Ray" in run_python(program)
    assert "pip install 'runfold[ray]'" in run_python(program)


def test_nothing_of_ray_is_imported_before_it_is_needed() -> None:
    program = "import sys, runfold._engines.ray_cluster; print('ray' in sys.modules)"
    assert run_python(program) == "False\n"


def test_a_cluster_for_this_process_ends_with_it() -> None:
    program = """
import os
os.environ["RAY_ADDRESS"] = "local"  # another test may have started a cluster
from runfold._engines.ray_cluster import connect
ray = connect(None, "engine='ray'")
connect(None, "engine='ray'")
print(ray.get_runtime_context().gcs_address)
"""
    address = run_python(program).strip()
    with pytest.raises(NoCluster, match="No Ray cluster answers"):
        connect(address, WHAT)
