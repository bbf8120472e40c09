"""A real TensorBoard instance in a separate process, and its responses."""

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import psutil

from helpers.cli_runs import START, write
from runfold._core.encoder import EventBuffer
from runfold._serve.tensorboards.instance_options import Options
from runfold._serve.tensorboards.instance_runs import Sources
from runfold._serve.tensorboards.process_files import read_json, write_json

T = TypeVar("T")

KEY = "the key"
PREFIX = "/proxy/0123abcd"
# TensorBoard looks for new data at this interval.
QUICK = Options((("reload_interval", "1"),))


def until(condition: Callable[[], T | None], seconds: float = 60.0) -> T:
    """Wait until a condition holds, and return its result; fail after a timeout."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        result = condition()
        if result:
            return result
        time.sleep(0.05)
    raise AssertionError(f"The condition was not met within {seconds} s.")


def write_losses(folder: Path, *steps: int, number: int = 1, tag: str = "loss") -> Path:
    """Write an event file with one scalar per step."""
    events = EventBuffer()
    events.file_version(START)
    for step in steps:
        events.scalar(tag, step / 2, step, START + step)
    return write(folder, events, f"events.out.tfevents.{number}")


@dataclass
class Board:
    """An instance: its folder, its port and its key."""

    folder: Path
    port: int
    key: str = KEY
    prefix: str = PREFIX

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes]:
        """Return the status and body of a response."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, self.prefix + path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def get(self, path: str) -> bytes:
        """Return the body of the response to a client that has the key."""
        status, body = self.ask(path, **{"X-Runfold-Key": self.key})
        assert status == 200, body
        return body

    def read(self, path: str) -> Any:
        """Return the JSON content of the response to a client that has the key."""
        return json.loads(self.get(path))

    def health(self) -> dict[str, Any]:
        """Return the health report for the supervisor."""
        return dict(self.read("/runfold/health"))

    def runs(self) -> list[str]:
        """Return the runs that TensorBoard shows."""
        return sorted(self.read("/data/runs"))

    def tags(self) -> dict[str, list[str]]:
        """Return the scalar tags that TensorBoard shows per run."""
        return {run: sorted(tags) for run, tags in self.read("/data/plugin/scalars/tags").items()}

    def steps(self, run: str, tag: str = "loss") -> list[int]:
        """Return the steps of the points that TensorBoard shows."""
        query = urlencode({"run": run, "tag": tag}, quote_via=quote)
        path = f"/data/plugin/scalars/scalars?{query}"
        status, body = self.ask(path, **{"X-Runfold-Key": self.key})
        return [int(point[1]) for point in json.loads(body)] if status == 200 else []

    def say_page(self, state: str, page: str = "1") -> int:
        """Report that a page is open or closed, as the page itself would."""
        address = f"/runfold/page?page={page}&state={state}"
        return self.ask(address, "POST", **{"X-Runfold-Key": self.key})[0]

    @property
    def log(self) -> str:
        """The output of the process."""
        return (self.folder / "log.txt").read_text()


@dataclass
class Child(Board):
    """An instance without a supervisor, and its process."""

    process: "subprocess.Popen[bytes] | None" = None

    @property
    def ending(self) -> tuple[int, str]:
        """Return the exit status and the reason once the process has ended."""
        assert self.process is not None
        status = self.process.wait(60)
        ending = read_json(str(self.folder / "ending.json"))
        assert ending is not None
        assert ending["status"] == status
        return status, ending["reason"]


def spawn(
    folder: Path,
    sources: Sources,
    options: Options = QUICK,
    settings: dict[str, Any] | None = None,
    **env: str,
) -> Child:
    """Start a process that becomes an instance."""
    folder.mkdir(mode=0o700)
    chosen = {"sources": sources.to_json(), "options": options.to_json(), **(settings or {})}
    write_json(str(folder / "settings.json"), {**chosen, "prefix": PREFIX, "key": KEY})
    with open(folder / "log.txt", "wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "runfold._serve.tensorboards.child", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, **env},
        )
    return Child(folder, 0, process=process)


@contextmanager
def serving(
    folder: Path, sources: Sources, options: Options = QUICK, **env: str
) -> Iterator[Child]:
    """Yield a running instance; its process is ended afterwards."""
    child = spawn(folder, sources, options, **env)
    assert child.process is not None
    try:
        child.port = until(lambda: read_json(str(folder / "address.json")))["port"]
        yield child
    finally:
        child.process.kill()
        child.process.wait()


def group_of(pid: int) -> set[int]:
    """Return the running processes in a process group."""
    pids = set()
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == pid and process.status() != psutil.STATUS_ZOMBIE:
                pids.add(process.pid)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return pids
