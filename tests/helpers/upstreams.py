"""A real server in place of an instance, and the proxy in front of it, on real sockets."""

import fcntl
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx

from helpers.logs import scalars, write
from runfold._serve.app import make_app
from runfold._serve.http.access import Access
from runfold._serve.http.limits import Limits
from runfold._serve.run_source import Source
from runfold._serve.server import Server, listen, make_url
from runfold._serve.tensorboards.instance_options import Options
from runfold._serve.tensorboards.instance_runs import Sources
from runfold._serve.tensorboards.instance_store import Instance, Store
from runfold._serve.tensorboards.registry import InstanceRegistry

PIECE = b"0123456789abcdef" * 4096
LARGE = 50_000_000


class Handler(BaseHTTPRequestHandler):
    """Answers according to the path, and records the requests."""

    protocol_version = "HTTP/1.1"
    server: "Upstream"

    def handle_any(self) -> None:
        name = self.path.partition("?")[0].rpartition("/")[2] or "index"
        self.server.seen.append((self.command, self.path, dict(self.headers.items())))
        getattr(self, f"give_{name.partition('.')[0]}", self.give_index)()
        self.close_connection = True

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = handle_any  # noqa: N815

    def begin(self, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def give_index(self) -> None:
        body = b"<!doctype html><title>T</title>"
        kind = {"Content_Type": "text/html", "Content_Length": str(len(body))}
        self.begin(**kind, **self.server.headers)
        if self.command != "HEAD":
            self.wfile.write(body)

    def give_large(self) -> None:
        self.begin(Content_Length=str(LARGE))
        remaining = LARGE
        try:
            while remaining:
                remaining -= self.wfile.write(PIECE[: min(remaining, len(PIECE))])
                self.server.sent = LARGE - remaining
        except OSError:
            self.server.was_left.set()

    def give_chunks(self) -> None:
        self.begin(Transfer_Encoding="chunked")
        for piece in (b"first", b"second"):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.server.may_go_on.wait(30)
        self.wfile.write(b"0\r\n\r\n")

    def give_half(self) -> None:
        self.begin(Content_Length="1000")
        self.wfile.write(b"x" * 10)

    def give_echo(self) -> None:
        self.wfile.write(b"")
        if self.headers.get("Transfer-Encoding") == "chunked":
            size = 0
            while count := int(self.rfile.readline(), 16):
                size += len(self.rfile.read(count))
                self.rfile.readline()
            self.rfile.readline()
        else:
            size = len(self.rfile.read(int(self.headers.get("Content-Length", "0"))))
        body = json.dumps({"method": self.command, "size": size}).encode()
        self.begin(Content_Type="application/json", Content_Length=str(len(body)))
        self.wfile.write(body)

    def give_unread(self) -> None:
        self.begin(413, Content_Length="0")

    def give_silence(self) -> None:
        self.server.was_left.set() if self.rfile.read(1) == b"" else None

    def log_message(self, format: str, *args: Any) -> None:
        pass


class Upstream(ThreadingHTTPServer):
    """The server; its attributes record requests and configure responses."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[tuple[str, str, dict[str, str]]] = []
        self.headers: dict[str, str] = {}
        self.sent = 0
        self.was_left = threading.Event()
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


@dataclass
class Proxied:
    """An instance behind the proxy: clients of both, and the upstream server."""

    upstream: Upstream
    store: Store
    instance: Instance
    access: Access
    url: str
    client: httpx.Client
    app: Any = field(repr=False, default=None)

    @property
    def path(self) -> str:
        """The path of the instance."""
        return f"/proxy/{self.instance.id}"


@contextmanager
def proxying(folder: Path, **limits: Any) -> Iterator[Proxied]:
    """Run a server whose only instance is a small real server, without a supervisor."""
    write(folder / "runs" / "a", scalars("loss", (0, 1.0)))
    store = Store(str(folder / "state"))
    upstream = Upstream()
    threads = [threading.Thread(target=upstream.serve_forever, args=(0.05,))]
    instance = store.add(Sources((str(folder / "runs"),)), Options())
    instance = store.update(instance.id, state="RUNNING", port=upstream.server_port)
    listening = listen("127.0.0.1", 0)
    access = Access(port=listening.getsockname()[1])
    url = make_url("127.0.0.1", listening)
    boards = InstanceRegistry(access, url, store.folder)
    app = make_app(Source(folder / "runs"), access, Limits(**limits), boards=boards)
    ready = threading.Event()
    server = Server(app, ready.set)
    threads.append(threading.Thread(target=server.run, kwargs={"sockets": [listening]}))
    with open(folder / "state" / "service.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as if another supervisor were running
        for thread in threads:
            thread.start()
        try:
            assert ready.wait(60)
            headers = {"Authorization": f"Bearer {access.token}"}
            with httpx.Client(base_url=url, headers=headers, timeout=60) as client:
                yield Proxied(upstream, store, instance, access, url, client, app)
        finally:
            server.handle_exit(0, None)
            upstream.may_go_on.set()
            upstream.shutdown()
            upstream.server_close()
            for thread in threads:
                thread.join(60)
            listening.close()
            store.close()
