"""TensorBoard as it runs on a node: on the node's network address, without a cluster."""

import contextlib
import json
import os
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPSConnection
from pathlib import Path

import psutil
import pytest
from helpers.boards import KEY, PREFIX, group_of, until, write_losses

from runfold._serve.clusters.node_server import Strangers
from runfold._serve.http.pinned_tls import make_client_context, make_server_context
from runfold._serve.tensorboards.instance_options import Options
from runfold._serve.tensorboards.instance_runs import Sources
from runfold._serve.tensorboards.key_gate import KEY_HEADER, digest_key
from runfold._serve.tensorboards.process_files import Address, read_address, write_json


def own_address() -> str:
    """Return an address of this machine other than 127.0.0.1, if it has one."""
    for addresses in psutil.net_if_addrs().values():
        for address in addresses:
            if address.family == socket.AF_INET and not address.address.startswith("127."):
                return address.address
    return "127.0.0.2"


class Node:
    """A process of TensorBoard, and requests to it."""

    def __init__(self, folder: Path, process: "subprocess.Popen[bytes]") -> None:
        self.folder = folder
        self.process = process
        path = str(folder / "address.json")
        self.address: Address = until(lambda: read_address(path, process.pid))

    def connect(self, certificate: str = "") -> HTTPSConnection:
        context = make_client_context(certificate or self.address.certificate)
        host, port = self.address.host, self.address.port
        return HTTPSConnection(host, port, timeout=60, context=context)

    def ask(self, path: str, key: str | None = KEY) -> tuple[int, bytes]:
        connection = self.connect()
        with contextlib.closing(connection):
            headers = {} if key is None else {KEY_HEADER: key}
            connection.request("GET", PREFIX + path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read()


@contextmanager
def running(folder: Path) -> Iterator[Node]:
    """Yield a running TensorBoard; its process is killed afterwards."""
    write_losses(folder / "runs" / "a", 0, 1, 2)
    state = folder / "state"
    state.mkdir(mode=0o700)
    settings = {
        "sources": Sources((str(folder / "runs"),)).to_json(),
        "options": Options((("reload_interval", "1"),), cluster="auto").to_json(),
        "prefix": PREFIX,
        "key_digest": digest_key(KEY),
        "host": own_address(),
    }
    write_json(str(state / "settings.json"), settings)
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "runfold._serve.clusters.node_child", str(state)],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdin is not None
    try:
        yield Node(state, process)
    finally:
        process.kill()
        process.wait()
        process.stdin.close()


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    with running(tmp_path_factory.mktemp("node")) as node:
        yield node


def test_it_listens_only_on_the_address_of_the_node(node: Node) -> None:
    process = psutil.Process(node.process.pid)
    listening = [
        tuple(connection.laddr)
        for member in (process, *process.children(recursive=True))
        for connection in member.net_connections("tcp")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert listening == [(own_address(), node.address.port)]


def test_a_client_with_the_key_reads_the_runs(node: Node) -> None:
    assert until(lambda: json.loads(node.ask("/data/runs")[1])) == ["a"]
    assert b"<script" in node.ask("/")[1]


@pytest.mark.parametrize("key", [None, "", "the kez", digest_key(KEY)])
@pytest.mark.parametrize("path", ["/", "/data/runs", "/runfold/health", "/runfold/page.js"])
def test_nothing_is_revealed_without_the_key(node: Node, path: str, key: str | None) -> None:
    assert node.ask(path, key) == (403, b"Forbidden\n")


def test_another_server_at_the_address_is_not_trusted(node: Node) -> None:
    _, other = make_server_context()
    with pytest.raises(ssl.SSLCertVerificationError):
        node.connect(other).request("GET", PREFIX, headers={KEY_HEADER: KEY})


def test_strangers_that_send_nothing_do_not_lock_the_service_out(node: Node) -> None:
    context = make_client_context(node.address.certificate)
    address = (node.address.host, node.address.port)
    with contextlib.ExitStack() as opened:
        first = opened.enter_context(socket.create_connection(address, timeout=60))
        for number in range(400):
            stranger = opened.enter_context(socket.create_connection(address, timeout=60))
            if number % 10 == 0:  # others do not even start the handshake
                with contextlib.suppress(OSError):
                    opened.enter_context(context.wrap_socket(stranger))
        assert json.loads(node.ask("/data/runs")[1]) == ["a"]
        # The oldest strangers were disconnected.
        assert first.recv(1) == b""
        process = psutil.Process(node.process.pid)
        until(lambda: process.num_threads() < 350)


def test_a_stranger_has_limited_time_and_a_known_client_has_not() -> None:
    strangers = Strangers(most=2)
    pairs = [socket.socketpair() for _ in range(3)]
    servers = [server for server, _ in pairs]
    clients = [client for _, client in pairs]
    for server in servers[:2]:
        strangers.add(server)
    assert [server.gettimeout() for server in servers[:2]] == [20.0, 20.0]
    strangers.admit({"werkzeug.socket": servers[0]})
    assert servers[0].gettimeout() is None
    # The first one no longer counts, so there is room for another.
    strangers.add(servers[2])
    for client in clients:
        client.setblocking(False)
        with pytest.raises(BlockingIOError):
            client.recv(1)
    strangers.add(servers[0])
    assert clients[1].recv(1) == b""
    for end in (*servers, *clients):
        end.close()


def test_it_ends_and_removes_its_files_when_its_actor_is_gone(tmp_path: Path) -> None:
    with running(tmp_path) as node:
        assert node.process.stdin is not None
        node.process.stdin.close()
        assert node.process.wait(60) == 0
        assert not node.folder.exists()
        assert group_of(node.process.pid) == set()
        assert os.listdir(tmp_path) == ["runs"]
