"""Web servers for a log, Runfold's and TensorBoard's, started as commands and queried over HTTP."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlencode, urlsplit

import numpy as np

from benchmarks.measure import COMPILED, ROOT, Undone
from benchmarks.readings import Series


class Site(Protocol):
    """A running server, queried over one connection."""

    pid: int

    def list_tags(self, runs: int, tags: int) -> list[str]:
        """Return the tags once all are read.

        Raises Undone if the number of runs or tags differs.
        """

    def fetch(self, tag: str) -> bytes:
        """Return one tag of all runs, as sent by the server."""

    def parse(self, tag: str, answer: bytes) -> Series:
        """Parse a response of `fetch`."""


@contextmanager
def serve_with_runfold(logdir: Path) -> Iterator["Runfold"]:
    """Run `runfold serve` until the end of the block. Raises Undone if it does not start."""
    with tempfile.TemporaryDirectory() as folder:
        token = Path(folder, "token")
        command = ("runfold", "serve", str(logdir), "--port=0", "--no-browser")
        with _start(*command, f"--token-file={token}") as process:
            url = _wait_for(process, "Serving ").partition(" at ")[2]
            with _connect(url) as connection:
                yield Runfold(process.pid, connection, token.read_text().strip())


@contextmanager
def serve_without_login(logdir: Path) -> Iterator[str]:
    """Run `runfold serve` without login until the end of the block; yield its URL.

    Raises Undone if it does not start.
    """
    command = ("runfold", "serve", str(logdir), "--port=0", "--no-browser", "--no-login")
    with _start(*command) as process:
        yield _wait_for(process, "Serving ").partition(" at ")[2]


@contextmanager
def serve_with_tensorboard(logdir: Path, options: Sequence[str] = ()) -> Iterator[Site]:
    """Run `tensorboard --load_fast=true` and wait until it has read everything.

    Raises Undone if it exits before that.
    """
    command = ("tensorboard.main", f"--logdir={logdir}", "--host=127.0.0.1", "--port=0")
    fast = ("--load_fast=true", "--extra_data_server_flags=--verbose")
    with _start(*command, *fast, *options) as process:
        # Either message can come first, because a separate process reads the log.
        lines = [_wait_for(process, "Finished load cycle", "http://") for _ in range(2)]
        (url,) = (line[line.index("http://") :].split()[0] for line in lines if "http://" in line)
        with _connect(url) as connection:
            yield _TensorBoard(process.pid, connection)


class Runfold:
    """Runfold's server."""

    def __init__(self, pid: int, connection: HTTPConnection, token: str) -> None:
        self.pid = pid
        self._connection = connection
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def list_tags(self, runs: int, tags: int) -> list[str]:
        listed = json.loads(_request(self._connection, "/api/tags", headers=self._headers))
        scalar_tags = listed["kinds"]["scalar"]
        _check(
            {entry["runs"] for entry in scalar_tags} == {runs} and len(scalar_tags) == tags, listed
        )
        return [entry["tag"] for entry in scalar_tags]

    def fetch(self, tag: str) -> bytes:
        return self.post("/api/curves", tags=[tag])

    def post(self, path: str, **request: object) -> bytes:
        return _request(self._connection, path, json.dumps(request), self._headers)

    def parse(self, tag: str, answer: bytes) -> Series:
        import pyarrow as pa

        curves = pa.ipc.open_stream(answer).read_all()
        series_info = json.loads(curves.schema.metadata[b"series"])
        ends = np.cumsum([entry["shown"] for entry in series_info])[:-1]
        x, y = (np.split(curves.column(name).to_numpy(), ends) for name in ("x", "y"))
        return {
            (entry["run"], entry["tag"]): (steps, None, values)
            for entry, steps, values in zip(series_info, x, y, strict=True)
        }


class _TensorBoard:
    """TensorBoard's server."""

    def __init__(self, pid: int, connection: HTTPConnection) -> None:
        self.pid = pid
        self._connection = connection

    def list_tags(self, runs: int, tags: int) -> list[str]:
        listed = json.loads(_request(self._connection, "/data/plugin/scalars/tags"))
        _check(
            len(listed) == runs and {len(run_tags) for run_tags in listed.values()} == {tags},
            listed,
        )
        self._runs = sorted(listed)
        return list(listed[self._runs[0]])

    def fetch(self, tag: str) -> bytes:
        query = urlencode({"tag": tag, "runs": self._runs}, doseq=True)
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        return _request(self._connection, "/data/plugin/scalars/scalars_multirun", query, form)

    def parse(self, tag: str, answer: bytes) -> Series:
        columns = {run: zip(*rows, strict=True) for run, rows in json.loads(answer).items()}
        return {
            (run, tag): (np.array(steps), np.array(wall_times), np.array(values))
            for run, (wall_times, steps, values) in columns.items()
        }


@contextmanager
def _start(*command: str) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [sys.executable, "-m", *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=COMPILED,
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


def _wait_for(process: "subprocess.Popen[str]", *phrases: str) -> str:
    """Return the next line that contains one of the phrases."""
    assert process.stderr is not None
    line = last = ""
    for line in process.stderr:
        if any(phrase in line for phrase in phrases):
            return line.strip()
        last = line
    raise Undone(last.strip() or "it exited without a message")


def _connect(url: str) -> closing[HTTPConnection]:
    return closing(HTTPConnection(urlsplit(url).netloc))


def _request(
    connection: HTTPConnection,
    path: str,
    body: str | None = None,
    headers: dict[str, str] | None = None,
) -> bytes:
    connection.request("GET" if body is None else "POST", path, body, headers or {})
    answer = connection.getresponse()
    content = answer.read()
    _check(answer.status == 200, content)
    return content


def _check(is_right: bool, answer: Any) -> None:
    if not is_right:
        raise Undone(f"unexpected response: {str(answer)[:200]}")
