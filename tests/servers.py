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

from cli_runs import RUNFOLD


@dataclass
class Served:
    """A server that runs: its process, and what it said first."""

    process: "subprocess.Popen[str]"
    told: list[str] = field(default_factory=list)

    @property
    def link(self) -> str:
        """The link that it printed."""
        (link,) = re.findall(r"^Serving .* at (http://\S+)$", "".join(self.told), re.MULTILINE)
        return str(link)

    @property
    def port(self) -> int:
        """Where it listens."""
        return urlsplit(self.link).port or 0

    @property
    def url(self) -> str:
        """Its address, without a path."""
        return f"http://127.0.0.1:{self.port}"

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
            while "Ctrl-C ends it.\n" not in served.told:
                served.told.append(served.read_line())
                assert served.told[-1], served.told
            yield served
        finally:
            process.kill()
