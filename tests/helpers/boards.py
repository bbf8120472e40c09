"""A real TensorBoard instance in a process of its own, and what it answers."""

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
# TensorBoard looks for new data so often.
QUICK = Options((("reload_interval", "1"),))


def until(condition: Callable[[], T | None], seconds: float = 60.0) -> T:
    """What a condition gives as soon as it gives something."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"It did not come to that within {seconds} s.")


def write_losses(folder: Path, *steps: int, number: int = 1, tag: str = "loss") -> Path:
    """An event file with a scalar at each step."""
    events = EventBuffer()
    events.file_version(START)
    for step in steps:
        events.scalar(tag, step / 2, step, START + step)
    return write(folder, events, f"events.out.tfevents.{number}")


@dataclass
class Board:
    """An instance: where its files are, where it listens, and the key."""

    folder: Path
    port: int
    key: str = KEY
    prefix: str = PREFIX

    def ask(self, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes]:
        """The status and body of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, self.prefix + path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def get(self, path: str) -> bytes:
        """What one who has the key is given."""
        status, body = self.ask(path, **{"X-Runfold-Key": self.key})
        assert status == 200, body
        return body

    def read(self, path: str) -> Any:
        """The same, as the JSON that it is."""
        return json.loads(self.get(path))

    def health(self) -> dict[str, Any]:
        """What it tells the keeper."""
        return dict(self.read("/runfold/health"))

    def runs(self) -> list[str]:
        """The runs that TensorBoard shows."""
        return sorted(self.read("/data/runs"))

    def tags(self) -> dict[str, list[str]]:
        """The tags of scalars that TensorBoard shows for each run."""
        return {run: sorted(tags) for run, tags in self.read("/data/plugin/scalars/tags").items()}

    def steps(self, run: str, tag: str = "loss") -> list[int]:
        """The steps of the points that TensorBoard shows."""
        asked = urlencode({"run": run, "tag": tag}, quote_via=quote)
        path = f"/data/plugin/scalars/scalars?{asked}"
        status, body = self.ask(path, **{"X-Runfold-Key": self.key})
        return [int(point[1]) for point in json.loads(body)] if status == 200 else []

    def say_page(self, state: str, page: str = "1") -> int:
        """Say, as a page does, that it is open or closed."""
        told = f"/runfold/page?page={page}&state={state}"
        return self.ask(told, "POST", **{"X-Runfold-Key": self.key})[0]

    @property
    def log(self) -> str:
        """What it has printed."""
        return (self.folder / "log.txt").read_text()


@dataclass
class Child(Board):
    """An instance that no keeper keeps, and its process."""

    process: "subprocess.Popen[bytes] | None" = None

    @property
    def ending(self) -> tuple[int, str]:
        """The exit status and the reason, once it has ended."""
        assert self.process is not None
        status = self.process.wait(60)
        told = read_json(str(self.folder / "ending.json"))
        assert told is not None
        assert told["status"] == status
        return status, told["reason"]


def spawn(
    folder: Path,
    sources: Sources,
    options: Options = QUICK,
    settings: dict[str, Any] | None = None,
    **env: str,
) -> Child:
    """A process that begins to be an instance."""
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
    """An instance that serves; its process is ended at last."""
    child = spawn(folder, sources, options, **env)
    assert child.process is not None
    try:
        child.port = until(lambda: read_json(str(folder / "address.json")))["port"]
        yield child
    finally:
        child.process.kill()
        child.process.wait()


def group_of(pid: int) -> set[int]:
    """The processes of a process group that have not ended."""
    found = set()
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == pid and process.status() != psutil.STATUS_ZOMBIE:
                found.add(process.pid)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return found
