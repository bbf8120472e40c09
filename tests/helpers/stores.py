"""A real S3 server on loopback, behind a proxy that causes faults."""

import contextlib
import os
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

WAIT = 60.0
_BLOCK = 1 << 16


class Proxy:
    """Forwards bytes to a local port, counts them, and causes configured faults."""

    def __init__(self, upstream: int) -> None:
        self._upstream = upstream
        self._listener: socket.socket | None = None
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self.port = 0
        self.released = threading.Event()
        self.mend()

    def mend(self) -> None:
        """Remove all faults and reset the counts."""
        # While this is cleared, all bytes wait.
        self.gate = threading.Event()
        self.gate.set()
        # Requests with this in their first line wait until they are released.
        self.held: bytes | None = None
        self.released.set()
        self.released = threading.Event()
        # If set, every request gets this response and is not forwarded.
        self.answer: bytes | None = None
        # Requests with this in their first line are rejected as unknown to the server.
        self.refused: bytes | None = None
        # Requests with this header are also rejected.
        self.refused_header: bytes | None = None
        # Responses to the next requests, one per request, instead of the server's.
        self.answers: list[bytes] = []
        self.refusal = refusal(501, "NotImplemented", "Not implemented.")
        # Connections are reset once this many bytes have been sent or received.
        self.reset_after: int | None = None
        # After this many response bytes, the server is gone.
        self.refuse_after: int | None = None
        # Requests for event files wait here for each other.
        self.meeting: threading.Barrier | None = None
        self.sent = self.received = 0
        self.requests: list[str] = []
        self.begin()

    def begin(self) -> None:
        """Accept connections."""
        if self._listener is not None:
            return
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(64)
        self.port = listener.getsockname()[1]
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def refuse(self) -> None:
        """Close all connections, and refuse new ones."""
        if self._listener is not None:
            # A thread that waits in accept() would keep the port open.
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
        self.cut()

    def cut(self) -> None:
        """Reset the current connections."""
        with self._lock:
            for connection in list(self._open):
                with contextlib.suppress(OSError):
                    connection.setsockopt(
                        socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
                    )
                    connection.shutdown(socket.SHUT_RDWR)
                _close(connection)
            self._open.clear()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._upstream))
            for connection in (client, server):
                # Otherwise small messages, which SFTP sends often, would be delayed.
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._open |= {client, server}
            for source, target in ((client, server), (server, client)):
                threading.Thread(
                    target=self._pump, args=(source, target, source is client), daemon=True
                ).start()

    def _pump(self, source: socket.socket, target: socket.socket, is_request: bool) -> None:
        passed = 0
        with contextlib.suppress(OSError, threading.BrokenBarrierError):
            while data := source.recv(_BLOCK):
                self.gate.wait()
                head = data.split(b"\r\n", 1)[0]
                if is_request and head.endswith(b"HTTP/1.1"):
                    self.requests.append(head.decode().removesuffix(" HTTP/1.1"))
                    if self.meeting is not None and b"tfevents" in head:
                        self.meeting.wait()
                    if self.held is not None and self.held in head:
                        self.released.wait()
                    if self.refused is not None and self.refused in head:
                        source.sendall(self.refusal)
                        break
                    if self.refused_header is not None and self.refused_header in data:
                        source.sendall(self.refusal)
                        break
                    if self.answers:
                        source.sendall(self.answers.pop())
                        break
                    if self.answer is not None:
                        source.sendall(self.answer)
                        break
                passed += len(data)
                if is_request:
                    self.sent += len(data)
                else:
                    self.received += len(data)
                if self.refuse_after is not None and self.received > self.refuse_after:
                    self.refuse()
                    return
                if self.reset_after is not None and passed > self.reset_after:
                    self.cut()
                    return
                target.sendall(data)
        for connection in (source, target):
            with self._lock:
                self._open.discard(connection)
            _close(connection)


def _close(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.close()


def refusal(status: int, code: str, message: str) -> bytes:
    """Return an S3 error response."""
    body = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
    return (
        f"HTTP/1.1 {status} {code}\r\nContent-Type: application/xml\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}"
    ).encode()


@pytest.fixture(scope="session")
def s3_server():
    """A proxy in front of a real S3 server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(lambda: _answers(port))
        proxy = Proxy(port)
        yield proxy
        proxy.refuse()
    finally:
        server.kill()
        server.wait()


def credentials(proxy):
    """Return the environment variables of processes that use the server behind a proxy."""
    return {
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "hush-hush-hush",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://localhost:{proxy.port}",
    }


@pytest.fixture
def s3(s3_server, tmp_path, monkeypatch):
    """The proxy without faults, with credentials for it and a new bucket: `s3.bucket`."""
    s3_server.mend()
    for name, value in {
        **credentials(s3_server),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }.items():
        monkeypatch.setenv(name, value)
    s3_server.bucket = f"bucket-{os.getpid()}-{time.monotonic_ns()}"
    open_system().mkdir(s3_server.bucket)
    s3_server.url = f"s3://{s3_server.bucket}"
    s3_server.sent = s3_server.received = 0
    s3_server.requests.clear()
    yield s3_server
    s3_server.mend()


def open_system():
    """Return an s3fs file system, for an independent view of the bucket."""
    import s3fs

    return s3fs.S3FileSystem(use_listings_cache=False)


def stored(s3, below="runs/seed-1"):
    """Return the objects below a prefix with their content, except the runs' claims."""
    root = f"{s3.bucket}/{below}"
    system = open_system()
    entries = system.find(root, detail=True).items()
    # If an object appears during the listing, the prefix is listed as a folder.
    files = [
        path
        for path, info in entries
        if info["type"] == "file" and not path.endswith("/.runfold/claim")
    ]
    return {path[len(root) + 1 :]: system.cat_file(path) for path in files}


def wait_for(condition, what="it"):
    """Wait until a condition holds; fail after a timeout."""
    end = time.monotonic() + WAIT
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen"
        pause.wait(0.02)


def _answers(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False
