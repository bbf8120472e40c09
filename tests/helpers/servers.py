"""A real `runfold serve` in a separate process, and its output."""

import os
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from helpers.cli_runs import RUNFOLD


class Loopback(httpx.HTTPTransport):
    """Connects to this machine for every name below localhost, as browsers do."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.host.endswith(".localhost"):
            url = request.url.copy_with(host="127.0.0.1")
            # The Host header keeps the name.
            request = httpx.Request(
                request.method,
                url,
                headers=request.headers,
                stream=request.stream,
                extensions=request.extensions,
            )
        return super().handle_request(request)


@dataclass
class Served:
    """A running server: its process, and its first lines of output."""

    process: "subprocess.Popen[str]"
    lines: list[str] = field(default_factory=list)

    @property
    def link(self) -> str:
        """The current login link, from the named file; without a login, the printed link."""
        file = self._find(r"^The login link is in (\S+), which only you can read\.$")
        return Path(file).read_text().strip() if file else self._address

    @property
    def port(self) -> int:
        """The port of the server."""
        return urlsplit(self._address).port or 0

    @property
    def url(self) -> str:
        """The server's address for programs, without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def page(self) -> str:
        """The server's address for browsers, without a path."""
        return f"http://{urlsplit(self.link).netloc}"

    @property
    def _address(self) -> str:
        return self._find(r"^Serving .* at (http://\S+)$")

    def _find(self, pattern: str) -> str:
        found = re.findall(pattern, "".join(self.lines), re.MULTILINE)
        return str(found[0]) if found else ""

    def browse(self) -> httpx.Client:
        """Return a client that has not logged in; its base URL is the one for browsers."""
        return httpx.Client(base_url=self.page, transport=Loopback(), timeout=60)

    def read_line(self) -> str:
        """Return the next line of output."""
        assert self.process.stderr is not None
        return self.process.stderr.readline()

    def end(self, signal: int) -> tuple[int, str]:
        """Send a signal; return the exit status and the remaining output."""
        self.process.send_signal(signal)
        out, rest = self.process.communicate(timeout=60)
        assert out == ""
        return self.process.returncode, rest

    def connect(self, request: str) -> socket.socket:
        """Return a connection on which a raw request was sent."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        connection.sendall(request.encode())
        return connection


@contextmanager
def serving(*args: str | Path, browser: Path | None = None) -> Iterator[Served]:
    """Run a server with these arguments, by default on a free port, and end it afterwards."""
    command = [*RUNFOLD, "serve", "--port", "0", *map(str, args)]
    env = {**os.environ, "DISPLAY": ":0", "BROWSER": f"{browser} %s"}
    if browser is None:
        command.append("--no-browser")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    ) as process:
        served = Served(process)
        try:
            while "Press Ctrl-C to stop.\n" not in served.lines:
                served.lines.append(served.read_line())
                assert served.lines[-1], served.lines
            yield served
        finally:
            process.kill()
