"""A real `runfold serve` in a process of its own, and what it says."""

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
            # The header Host keeps the name.
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
    """A server that runs: its process, and what it said first."""

    process: "subprocess.Popen[str]"
    told: list[str] = field(default_factory=list)

    @property
    def link(self) -> str:
        """The login link that works now: in the file that it named, or printed without login."""
        file = self._find(r"^The login link is in (\S+), which only you can read\.$")
        return Path(file).read_text().strip() if file else self._address

    @property
    def port(self) -> int:
        """Where it listens."""
        return urlsplit(self._address).port or 0

    @property
    def url(self) -> str:
        """Its address for programs, without a path."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def page(self) -> str:
        """Its address for browsers, without a path."""
        return f"http://{urlsplit(self.link).netloc}"

    @property
    def _address(self) -> str:
        return self._find(r"^Serving .* at (http://\S+)$")

    def _find(self, pattern: str) -> str:
        found = re.findall(pattern, "".join(self.told), re.MULTILINE)
        return str(found[0]) if found else ""

    def browse(self) -> httpx.Client:
        """A client that has not logged in; its base is the address for browsers."""
        return httpx.Client(base_url=self.page, transport=Loopback(), timeout=60)

    def read_line(self) -> str:
        """The next line that it says."""
        assert self.process.stderr is not None
        return self.process.stderr.readline()

    def end(self, signal: int) -> tuple[int, str]:
        """Send a signal: the exit status, and what was said until then."""
        self.process.send_signal(signal)
        out, rest = self.process.communicate(timeout=60)
        assert out == ""
        return self.process.returncode, rest

    def connect(self, request: str) -> socket.socket:
        """A connection on which a request was sent, as it is."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        connection.sendall(request.encode())
        return connection


@contextmanager
def serving(*args: str | Path, browser: Path | None = None) -> Iterator[Served]:
    """A server with these arguments, on a free port unless they give one; ended at last."""
    command = [*RUNFOLD, "serve", "--port", "0", *map(str, args)]
    env = {**os.environ, "DISPLAY": ":0", "BROWSER": f"{browser} %s"}
    if browser is None:
        command.append("--no-browser")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    ) as process:
        served = Served(process)
        try:
            while "Press Ctrl-C to stop.\n" not in served.told:
                served.told.append(served.read_line())
                assert served.told[-1], served.told
            yield served
        finally:
            process.kill()
