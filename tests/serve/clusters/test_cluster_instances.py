"""TensorBoards on the nodes of a real Ray cluster, as a user sees them, from start to end."""

import asyncio
import contextlib
import json
import os
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any, cast

import httpx
import psutil
import pytest
from helpers.boards import group_of, until
from helpers.clusters import STORE, quiet_cluster
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
from ray.cluster_utils import Cluster

import runfold
from runfold._serve.clusters.cluster_process import FAILED, ClusterProcess, Ended
from runfold._serve.clusters.node_actor import NodeActor, Request, find_problem, list_names
from runfold._serve.http.pinned_tls import make_client_context, make_server_context
from runfold._serve.tensorboards import instance as instances
from runfold._serve.tensorboards.child import UNUSABLE
from runfold._serve.tensorboards.instance_options import Options
from runfold._serve.tensorboards.instance_runs import Sources
from runfold._serve.tensorboards.instance_store import Instance, Store
from runfold._serve.tensorboards.key_gate import digest_key
from runfold._serve.tensorboards.process_files import Address, read_json, write_json
from runfold._serve.tensorboards.service import ensure_service, find_service

# All tests share a cluster, so one process runs them.
pytestmark = pytest.mark.xdist_group("ray-instances")

# The head has too little memory for an instance, and a node has enough for three.
SMALL, ROOM = 100_000_000, 1_600_000_000
SECONDS = 180.0
# So that a lost node is noticed within a second or two.
HEALTH = {
    "health_check_initial_delay_ms": 1000,
    "health_check_period_ms": 500,
    "health_check_failure_threshold": 6,
}
POINTS = [[step, step / 2] for step in range(11)]


class Nodes:
    """A cluster with a head and two nodes that have room."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.nodes = [self.add(), self.add()]
        self.address: str = cluster.address

    def add(self) -> Any:
        return self.cluster.add_node(num_cpus=1, memory=ROOM, object_store_memory=STORE)

    def lose(self, id: str) -> None:
        """Remove a node with all its processes, and add another one."""
        (lost,) = [node for node in self.nodes if node.node_id == id]
        self.nodes.remove(lost)
        self.cluster.remove_node(lost, allow_graceful=False)
        self.nodes.append(self.add())

    def args(self, *more: str) -> list[str]:
        return ["--on", "ray", "--address", self.address, "--config", "reload_interval=1", *more]


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with pytest.MonkeyPatch.context() as patch:
        # Actors import the package that is tested, wherever their processes run.
        patch.setenv("PYTHONPATH", str(Path(runfold.__file__).parents[1]))
        with quiet_cluster(cpus=0, memory=SMALL, _system_config=HEALTH) as cluster:
            yield Nodes(cluster)


@pytest.fixture(scope="module")
def logdir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with own_state(tmp_path_factory.mktemp("cluster")) as folder:
        yield write_experiments(folder / "runs", "big", "small")


@pytest.fixture(scope="module")
def board(nodes: Nodes, logdir: Path) -> tuple[str, str]:
    """Return the id and the link of an instance on the cluster."""
    return start("big", "--logdir", logdir, *nodes.args())


def link_of(id: str) -> str:
    status, out, err = say("open", id, "--no-browser")
    assert status == 0, err
    return read_link(out)[1]


def node_of(id: str) -> str:
    """Return the id of the Ray node that an instance was last started on."""
    return re.findall(r"starts on node .*, ([0-9a-f]{56})\.", say("logs", id)[1])[-1]


def process_of(instance: Instance) -> psutil.Process:
    """Return the process of TensorBoard on its node."""
    assert instance.port is not None
    for process in psutil.process_iter():
        try:
            if "runfold._serve.clusters.node_child" in process.cmdline() and any(
                connection.laddr.port == instance.port
                for connection in process.net_connections("tcp")
                if connection.status == psutil.CONN_LISTEN
            ):
                return process
        except psutil.Error:
            continue
    raise AssertionError("TensorBoard is not running.")


def read_all(connection: socket.socket) -> bytes:
    """Return what arrives until the other side ends the connection."""
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(1 << 16):
            received += piece
    return received


def read_points(client: httpx.Client) -> list[list[float]]:
    params = {"run": "big/seed-1", "tag": "loss"}
    answer = client.get("data/plugin/scalars/scalars", params=params)
    return [point[1:] for point in answer.json()] if answer.status_code == 200 else []


def test_a_node_shows_the_selected_runs_behind_the_login(
    nodes: Nodes, board: tuple[str, str]
) -> None:
    id, link = board
    with logged_in(link) as client:
        assert client.get("data/runs").json() == ["big/seed-1", "big/seed-2"]
        assert read_points(client) == POINTS
        assert f"/proxy/{id}/" in str(client.base_url)
        with httpx.Client() as stranger:
            path = f"http://127.0.0.1:{client.base_url.port}/proxy/{id}/data/runs"
            assert stranger.get(path).status_code == 403
    assert node_of(id) in {node.node_id for node in nodes.nodes}


def test_the_lists_name_the_node(nodes: Nodes, board: tuple[str, str]) -> None:
    id, _ = board
    node = f"{socket.gethostname()} ({nodes.nodes[0].node_ip_address})"
    assert listed()[id]["node"] == node
    assert re.search(rf"restarts +node .*\n{id}.* {re.escape(node)} +big ", say("list")[1])
    service = find_service()
    assert service is not None
    headers = {"Authorization": f"Bearer {service.token}"}
    answer = httpx.get(f"{service.url}/api/tensorboards", headers=headers).json()
    (entry,) = [entry for entry in answer["tensorboards"] if entry["id"] == id]
    assert (entry["node"], entry["state"]) == (node, "RUNNING")
    assert json.loads(say("config", id)[1])["cluster"] == nodes.address
    # TensorBoard's own output is part of the log.
    assert "runfold: TensorBoard is running." in say("logs", id)[1]


def test_the_same_runs_on_this_machine_are_another_instance(
    nodes: Nodes, logdir: Path, board: tuple[str, str]
) -> None:
    _, out, err = say("start", "big", "--logdir", logdir, "--no-browser", *nodes.args())
    assert (read_link(out)[0], "already exists" in err) == (board[0], True)
    args = ["--logdir", logdir, "--config", "reload_interval=1"]
    here, _ = start("big", *args)
    assert (known(here).node, known(here).host, known(here).certificate) == ("", "127.0.0.1", "")
    assert say("kill", here)[0] == 0


def test_nothing_on_the_node_answers_without_the_key(board: tuple[str, str]) -> None:
    instance = known(board[0])
    process = process_of(instance)
    connections = [
        connection
        for member in (process, *process.children(recursive=True))
        for connection in member.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    ]
    address = instance.address
    assert address is not None
    assert [connection.laddr.port for connection in connections] == [address.port]

    def send(path: str, **headers: str) -> tuple[int, bytes]:
        context = make_client_context(address.certificate)
        connection = HTTPSConnection(address.host, address.port, timeout=60, context=context)
        with closing(connection):
            connection.request("GET", f"/proxy/{instance.id}{path}", headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read()

    assert send("/data/runs", **{"X-Runfold-Key": instance.key})[0] == 200
    for path in ("/", "/data/runs", "/runfold/health", "/../x"):
        for headers in ({}, {"X-Runfold-Key": ""}, {"X-Runfold-Key": "0" * 64}):
            assert send(path, **headers) == (403, b"Forbidden\n")
    # Nothing is answered without encryption, and a listener cannot learn the key.
    with socket.create_connection((address.host, address.port), timeout=60) as plain:
        plain.sendall(f"GET / HTTP/1.1\r\nX-Runfold-Key: {instance.key}\r\n\r\n".encode())
        assert b"HTTP" not in read_all(plain)


def test_the_key_is_not_on_the_node(board: tuple[str, str]) -> None:
    instance = known(board[0])
    process = process_of(instance)
    folder = Path(process.cwd())
    assert instance.key not in (folder / "settings.json").read_text()
    assert instance.key not in say("logs", instance.id)[1]
    for member in psutil.process_iter():
        try:
            texts = [*member.cmdline(), *member.environ().values()]
        except psutil.Error:
            continue
        assert not [text for text in texts if instance.key in text]


def test_an_instance_moves_to_another_node_when_its_node_is_lost(
    nodes: Nodes, board: tuple[str, str]
) -> None:
    id, _ = board
    before = known(id)
    lost = node_of(id)
    with logged_in(link_of(id)) as client:
        nodes.lose(lost)
        moved = until(
            lambda: found if (found := known(id)).restarts > before.restarts else None, SECONDS
        )
        assert "was lost" in moved.message
        # The same link and login work, and in the meantime the page shows the state.
        waiting = client.get("", headers={"Accept": "text/html"})
        assert waiting.status_code in (200, 503)
        assert until(lambda: read_points(client), SECONDS) == POINTS
    assert node_of(id) != lost
    after = until_state(id, "RUNNING", restarts=1)
    assert after.port is not None
    assert (after.certificate == before.certificate, after.key) == (False, before.key)
    assert "Restarted at" in listed()[id]["message"]


def test_an_instance_outlives_a_killed_service(board: tuple[str, str]) -> None:
    before = known(board[0])
    pid = service_pid()
    kill_hard(pid)
    with logged_in(link_of(board[0])) as client:
        assert read_points(client) == POINTS
    after = known(board[0])
    assert service_pid() != pid
    assert (after.pid, after.port, after.restarts) == (before.pid, before.port, before.restarts)


def test_tensorboard_ends_with_the_local_process(board: tuple[str, str]) -> None:
    before = known(board[0])
    process = process_of(before)
    kill_hard(before.pid)
    until(lambda: not process.is_running(), SECONDS)
    after = until_state(board[0], "RUNNING", restarts=before.restarts + 1)
    assert after.pid != before.pid


def test_a_crash_is_reported_with_its_node(nodes: Nodes, board: tuple[str, str]) -> None:
    before = known(board[0])
    process_of(before).kill()
    after = until_state(board[0], "RUNNING", restarts=before.restarts + 1)
    assert f"({nodes.nodes[0].node_ip_address}): TensorBoard was killed by SIGKILL." in (
        after.message
    )


def test_an_ended_instance_leaves_nothing_on_the_node(board: tuple[str, str]) -> None:
    instance = known(board[0])
    process = process_of(instance)
    folder = Path(process.cwd())
    assert folder.name.startswith("runfold-tensorboard-")
    actor = process.parent()
    assert actor is not None
    assert say("kill", board[0]) == (0, f"{board[0]}\n", "")
    until(lambda: not process.is_running() and not actor.is_running(), SECONDS)
    assert instance.pid is not None
    assert (group_of(process.pid), group_of(instance.pid)) == (set(), set())
    assert not folder.exists()
    ended = listed("--all")[board[0]]
    assert (ended["state"], ended["message"]) == ("TERMINATED", "")


def test_an_idle_instance_ends(nodes: Nodes, logdir: Path) -> None:
    args = nodes.args("--config", "idle_timeout=1")
    _, out, _ = say("start", "-d", "small", "--logdir", logdir, *args)
    ended = until(lambda: found if not (found := known(out.strip())).is_live else None, SECONDS)
    assert (ended.exit_status, ended.message) == (0, "Idle for 1 s.")
    assert say("logs", ended.id)[1].count("Idle for 1 s.") == 1


def test_a_node_that_cannot_see_the_logs_is_named(nodes: Nodes, tmp_path: Path) -> None:
    ensure_service()
    with closing(Store()) as store:
        options = Options(cluster=nodes.address)
        instance = store.add(Sources((str(tmp_path / "gone"),)), options)
        service = find_service()
        assert service is not None
        service.poke()
    ended = until(lambda: found if not (found := known(instance.id)).is_live else None, SECONDS)
    node = f"{socket.gethostname()} ({nodes.nodes[0].node_ip_address})"
    assert ended.message == (
        f"Node {node} cannot be used. It cannot see {tmp_path}/gone. Put the logs on a file system"
        " that all nodes share, or in a store, and use its URL."
    )


@pytest.fixture
def ray(nodes: Nodes) -> Iterator[Any]:
    """Connect this process to the cluster, like the local process of an instance."""
    from runfold._engines.ray_cluster import connect

    ray = connect(nodes.address, "This test")
    try:
        yield ray
    finally:
        ray.shutdown()


def fetch(address: Address, path: str, key: str) -> bytes:
    """Return the body of TensorBoard's response."""
    return asyncio.run(instances.fetch(address, path, key))


def make_request(logdir: Path, key: str, **fields: Any) -> Request:
    settings = {
        "sources": Sources((str(logdir),)).to_json(),
        "options": Options(cluster="auto").to_json(),
        "prefix": "/proxy/0123abcd",
        "key_digest": digest_key(key),
    }
    request: Request = {
        "version": runfold.__version__,
        "settings": settings,
        "loopback": "another machine",
        "names": {},
    }
    return cast("Request", request | fields)


def test_another_machine_reaches_tensorboard_on_the_address_of_the_node(
    nodes: Nodes, logdir: Path, ray: Any
) -> None:
    actor = ray.remote(NodeActor).options(num_cpus=0, max_concurrency=4).remote()
    assert ray.get(actor.start.remote(make_request(logdir, "the key")))["problem"] == ""
    report = until(lambda: found if (found := ray.get(actor.report.remote(1)))["port"] else None)
    assert report["host"] == nodes.nodes[0].node_ip_address != "127.0.0.1"
    address = Address(report["port"], report["host"], report["certificate"])
    path = "/proxy/0123abcd/data/runs"
    assert b"big/seed-1" in until(lambda: fetch(address, path, "the key"))
    for key in ("", "x"):
        with pytest.raises(ValueError, match="the key was rejected"):
            fetch(address, path, key)
    ray.get(actor.stop.remote())
    assert ray.get(actor.report.remote(1))["ending"][0] == 0
    with pytest.raises(ConnectionRefusedError):
        fetch(address, path, "the key")
    ray.kill(actor)


def test_a_node_with_other_logs_or_another_version_is_refused(
    tmp_path: Path, logdir: Path, ray: Any
) -> None:
    actor = ray.remote(NodeActor).options(num_cpus=0).remote()
    there, here = f"Its folder {logdir} is not the one of the service's", list_names([str(logdir)])
    assert here == {str(logdir): ["big", "small"]}
    cases = [
        (make_request(logdir, "", names={str(logdir): ["other", "another"]}), there),
        (make_request(tmp_path / "gone", ""), f"It cannot see {tmp_path}/gone."),
        (make_request(logdir, "", version="0.0.1"), f"It has Runfold {runfold.__version__}, and"),
    ]
    for request, problem in cases:
        assert ray.get(actor.start.remote(request))["problem"].startswith(problem)
    assert find_problem(make_request(logdir, "", names=here)) == ""
    ray.kill(actor)


def run_local_process(
    folder: Path, address: str, logdir: Path, place_seconds: float
) -> tuple[int, str]:
    """Return the status and the reason with which the local process of an instance ends."""
    folder.mkdir(mode=0o700)
    settings = {
        "sources": Sources((str(logdir),)).to_json(),
        "options": Options(cluster=address).to_json(),
        "prefix": "/proxy/0123abcd",
        "key": "the key",
        "place_seconds": place_seconds,
    }
    write_json(str(folder / "settings.json"), settings)
    process = subprocess.Popen([*instances.CLUSTER_PROCESS, str(folder)])
    status = process.wait(SECONDS)
    ending = read_json(str(folder / "ending.json"))
    assert ending is not None
    assert (ending["pid"], ending["status"]) == (process.pid, status)
    return status, ending["reason"]


@pytest.fixture
def full(nodes: Nodes, ray: Any) -> Iterator[Nodes]:
    """Leave no room on the nodes."""

    class Holder:
        def wait(self) -> None:
            pass

    most = {"num_cpus": 0, "memory": ROOM - 200_000_000}
    holders = [ray.remote(Holder).options(**most).remote() for _ in nodes.nodes]
    ray.get([holder.wait.remote() for holder in holders])
    try:
        yield nodes
    finally:
        for holder in holders:
            ray.kill(holder)


def test_a_cluster_without_room_is_named(full: Nodes, tmp_path: Path, logdir: Path) -> None:
    assert run_local_process(tmp_path / "state", full.address, logdir, 0.5) == (
        FAILED,
        f"No node of the Ray cluster '{full.address}' has room for this TensorBoard: it needs"
        " 500 MB of memory. See `ray status`.",
    )


def test_a_node_without_tensorboard_is_named(
    full: Nodes, tmp_path: Path, logdir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "packages"
    (broken / "tensorboard").mkdir(parents=True)
    (broken / "tensorboard" / "__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(broken), prepend=os.pathsep)
    node = full.add()
    try:
        status, reason = run_local_process(tmp_path / "state", full.address, logdir, SECONDS)
    finally:
        full.cluster.remove_node(node)
    name = f"{socket.gethostname()} ({node.node_ip_address})"
    fact = "TensorBoard is not installed or is broken. Run: pip install -U tensorboard"
    assert (status, reason) == (UNUSABLE, f"Node {name}: {fact}")


def test_a_node_that_cannot_be_reached_is_named() -> None:
    _, certificate = make_server_context()
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = Address(unused.getsockname()[1], "127.0.0.1", certificate, "gpu-7 (10.0.0.7)")
    settings = {"options": Options(cluster="auto").to_json(), "prefix": "/p", "key": "k"}
    with pytest.raises(Ended, match=r"cannot reach node gpu-7 \(10.0.0.7\) at port") as raised:
        ClusterProcess("/nowhere", settings).check_way(address)
    assert raised.value.status == UNUSABLE


def test_no_cluster_is_an_error(logdir: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
    args = ["--logdir", logdir, "--no-browser", "--on", "ray", "--address", address]
    status, out, err = say("start", *args)
    assert (status, out) == (1, "")
    assert f"has ended. No Ray cluster answers at '{address}'." in err


def test_an_address_needs_an_engine(logdir: Path) -> None:
    status, _, err = say("start", "--logdir", logdir, "--address", "auto")
    assert (status, "Add --on ray." in err) == (2, True)


def test_a_service_that_stops_ends_its_instances_on_the_cluster(nodes: Nodes, logdir: Path) -> None:
    id, _ = start("small", "--logdir", logdir, *nodes.args())
    process = process_of(known(id))
    end_service()
    until(lambda: not process.is_running(), SECONDS)
    assert known(id).state == "TERMINATED"


def test_the_service_outlives_the_cluster(nodes: Nodes, logdir: Path) -> None:
    id, _ = start("small", "--logdir", logdir, *nodes.args())
    process = process_of(known(id))
    pid = service_pid()
    head = nodes.cluster.head_node
    assert head is not None
    head.kill_gcs_server()
    moved = until(lambda: found if (found := known(id)).restarts else None, SECONDS)
    assert f"The Ray cluster '{nodes.address}' does not respond." in moved.message
    assert say("kill", id)[0] == 0
    until(lambda: not process.is_running(), SECONDS)
    assert service_pid() == pid
