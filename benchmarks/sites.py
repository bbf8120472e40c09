"""The web servers of a log, Runfold's and TensorBoard's, started as commands and asked by HTTP."""

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
    """A server that listens. It is asked over one connection."""

    pid: int

    def list_tags(self, runs: int, tags: int) -> list[str]:
        """The tags, when all is read. Raises Undone unless so many runs have so many each."""

    def fetch(self, tag: str) -> bytes:
        """One tag of all runs, as the server sends it."""

    def parse(self, tag: str, answer: bytes) -> Series:
        """What such an answer says."""


@contextmanager
def serve_with_runfold(logdir: Path) -> Iterator["Runfold"]:
    """`runfold serve`, ended with the block. Raises Undone when it does not start."""
    with tempfile.TemporaryDirectory() as folder:
        token = Path(folder, "token")
        command = ("runfold", "serve", str(logdir), "--port=0", "--no-browser")
        with _start(*command, f"--token-file={token}") as process:
            url = _wait_for(process, "Serving ").partition(" at ")[2]
            with _connect(url) as connection:
                yield Runfold(process.pid, connection, token.read_text().strip())


@contextmanager
def serve_without_login(logdir: Path) -> Iterator[str]:
    """The address of a `runfold serve` that lets anyone in, ended with the block. Raises Undone."""
    command = ("runfold", "serve", str(logdir), "--port=0", "--no-browser", "--no-login")
    with _start(*command) as process:
        yield _wait_for(process, "Serving ").partition(" at ")[2]


@contextmanager
def serve_with_tensorboard(logdir: Path, options: Sequence[str] = ()) -> Iterator[Site]:
    """`tensorboard --load_fast=true` that has read all, ended with the block. Raises Undone."""
    command = ("tensorboard.main", f"--logdir={logdir}", "--host=127.0.0.1", "--port=0")
    fast = ("--load_fast=true", "--extra_data_server_flags=--verbose")
    with _start(*command, *fast, *options) as process:
        # Either may come first: what reads is a process of its own.
        said = [_wait_for(process, "Finished load cycle", "http://") for _ in range(2)]
        (url,) = (line[line.index("http://") :].split()[0] for line in said if "http://" in line)
        with _connect(url) as connection:
            yield _TensorBoard(process.pid, connection)


class Runfold:
    """A server of Runfold."""

    def __init__(self, pid: int, connection: HTTPConnection, token: str) -> None:
        self.pid = pid
        self._connection = connection
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def list_tags(self, runs: int, tags: int) -> list[str]:
        listed = json.loads(_ask(self._connection, "/api/tags", headers=self._headers))
        found = listed["kinds"]["scalar"]
        _check({one["runs"] for one in found} == {runs} and len(found) == tags, listed)
        return [one["tag"] for one in found]

    def fetch(self, tag: str) -> bytes:
        return self.post("/api/curves", tags=[tag])

    def post(self, path: str, **asked: object) -> bytes:
        return _ask(self._connection, path, json.dumps(asked), self._headers)

    def parse(self, tag: str, answer: bytes) -> Series:
        import pyarrow as pa

        curves = pa.ipc.open_stream(answer).read_all()
        told = json.loads(curves.schema.metadata[b"series"])
        ends = np.cumsum([one["shown"] for one in told])[:-1]
        x, y = (np.split(curves.column(name).to_numpy(), ends) for name in ("x", "y"))
        return {
            (one["run"], one["tag"]): (steps, None, values)
            for one, steps, values in zip(told, x, y, strict=True)
        }


class _TensorBoard:
    """A server of TensorBoard."""

    def __init__(self, pid: int, connection: HTTPConnection) -> None:
        self.pid = pid
        self._connection = connection

    def list_tags(self, runs: int, tags: int) -> list[str]:
        listed = json.loads(_ask(self._connection, "/data/plugin/scalars/tags"))
        _check(len(listed) == runs and {len(one) for one in listed.values()} == {tags}, listed)
        self._runs = sorted(listed)
        return list(listed[self._runs[0]])

    def fetch(self, tag: str) -> bytes:
        asked = urlencode({"tag": tag, "runs": self._runs}, doseq=True)
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        return _ask(self._connection, "/data/plugin/scalars/scalars_multirun", asked, form)

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
    """The next line with one of some phrases."""
    assert process.stderr is not None
    line = last = ""
    for line in process.stderr:
        if any(phrase in line for phrase in phrases):
            return line.strip()
        last = line
    raise Undone(last.strip() or "it ended without a word")


def _connect(url: str) -> closing[HTTPConnection]:
    return closing(HTTPConnection(urlsplit(url).netloc))


def _ask(
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
        raise Undone(f"it answered {str(answer)[:200]}")
