"""The contest between a TensorBoard behind the proxy and plain `tensorboard`, on the same run."""

import json
import pickle
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPConnection
from pathlib import Path

import numpy as np
import psutil

from benchmarks.contest import RUNFOLD, Contender, Contest
from benchmarks.measure import COMPILED, ROOT, Cost, Undone
from benchmarks.memory import peak_of
from benchmarks.readings import Series
from benchmarks.serving import TENSORBOARD

# Parts of the work, as elapsed time: medians over several requests to a warm server.
REQUEST = "request s"
LARGE = "50 MB s"
_REQUESTS = 100
_LARGE_REQUESTS = 9
_LARGE_BYTES = 50_000_000

_SECONDS = 60.0
_SMALL_PATH = "data/environment"
# An image is sent as logged, whatever its content.
_PICTURES = "data/plugin/images/images?run=run&tag=large&sample=0"
_PICTURE = "data/plugin/images/individualImage"


@dataclass(frozen=True, slots=True)
class Board:
    """A running TensorBoard: its URL and its processes."""

    port: int
    prefix: str
    pids: tuple[int, ...]
    headers: dict[str, str] = field(default_factory=dict)

    def fetch(self, path: str = "") -> bytes | None:
        """Return the response, or None if there is none yet."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=_SECONDS)
        try:
            connection.request("GET", self.prefix + path, headers=self.headers)
            answer = connection.getresponse()
            body = answer.read()
        except OSError:
            return None
        finally:
            connection.close()
        return body if answer.status == 200 else None

    def wait(self) -> None:
        """Wait for the first page. Raises Undone if it does not arrive."""
        _until(lambda: self.fetch(), "its page")


def make_contest(root: Path, fresh: bool = False, size: int = _LARGE_BYTES) -> Contest:
    """Return the contest: the time until the first page, then small and large responses.

    The time for Runfold includes starting its service, which forwards all requests.
    """
    folder = _write(root / f"board-{size}", size, fresh)
    contenders = [
        Contender(RUNFOLD, partial(_measure, partial(_start_with_runfold, folder)), size),
        Contender(TENSORBOARD, partial(_measure, partial(_start_plainly, folder)), size),
    ]
    title = "tensorboard: from the start of the command to the first page, then responses"
    return Contest(title, ("server", "bytes"), contenders, _compare)


def _write(folder: Path, size: int, fresh: bool) -> Path:
    run = folder / "run"
    if fresh or not run.exists():
        from runfold._core.encoder import EventBuffer
        from runfold._events.value_encoding import image

        events = EventBuffer()
        events.file_version(1.0)
        events.value(image("large", 10, 10, 3, b"\x89PNG\r\n\x1a\n".ljust(size, b"x")), 0, 1.0)
        run.mkdir(parents=True, exist_ok=True)
        (run / "events.out.tfevents.1").write_bytes(events.getvalue())
    return folder


def _measure(start: Callable[[], AbstractContextManager[Board]], keep: Path | None) -> Cost:
    began = time.perf_counter()
    with start() as board:
        wall = time.perf_counter() - began
        processes = [psutil.Process(pid) for pid in board.pids]
        processes += [child for process in processes for child in process.children(recursive=True)]
        cpu = sum(sum(process.cpu_times()[:4]) for process in set(processes))
        (picture,) = json.loads(_until(lambda: _list_pictures(board), "the picture"))
        large = f"{_PICTURE}?{picture['query']}"
        parts = {
            REQUEST: _seconds(board, _SMALL_PATH, _REQUESTS),
            LARGE: _seconds(board, large, _LARGE_REQUESTS),
        }
        peak = sum(peak_of(process.pid) for process in set(processes))
        if keep:
            body = board.fetch(large) or b""
            columns = np.array([len(body)]), None, np.array([zlib.crc32(body)])
            keep.write_bytes(pickle.dumps({("run", "large"): columns}))
    return Cost(cpu, wall, peak, peak, parts)


def _list_pictures(board: Board) -> str:
    """Return the image list once it is loaded; TensorBoard reads the log after serving its page."""
    listed = (board.fetch(_PICTURES) or b"").decode()
    return "" if listed == "[]" else listed


def _seconds(board: Board, path: str, count: int) -> float:
    seconds = []
    for _ in range(count):
        start = time.perf_counter()
        if board.fetch(path) is None:
            raise Undone(f"no response to {path}")
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


@contextmanager
def _start_plainly(folder: Path) -> Iterator[Board]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = ("tensorboard.main", f"--logdir={folder}", "--host=127.0.0.1", f"--port={port}")
    with subprocess.Popen(
        [sys.executable, "-m", *command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        env=COMPILED,
    ) as process:
        try:
            board = Board(port, "/", (process.pid,))
            board.wait()
            yield board
        finally:
            process.terminate()


@contextmanager
def _start_with_runfold(folder: Path) -> Iterator[Board]:
    """Run `runfold tensorboard start` and its service, which is not yet running."""
    with tempfile.TemporaryDirectory() as state:
        env = {**COMPILED, "XDG_STATE_HOME": state}
        command = ("runfold", "tensorboard", "start", "-d", f"--logdir={folder}")
        done = subprocess.run(
            [sys.executable, "-m", *command], capture_output=True, text=True, cwd=ROOT, env=env
        )
        if done.returncode:
            raise Undone(done.stderr.strip())
        id = done.stdout.strip()
        kept = Path(state, "runfold", "tensorboards")
        service = json.loads(_until(lambda: _read(kept / "service.json"), "the service"))
        try:
            headers = {"Authorization": f"Bearer {service['token']}"}
            port = int(service["url"].rpartition(":")[2])
            instance = json.loads(_until(lambda: _read(kept / id / "process.json"), "the process"))
            board = Board(port, f"/proxy/{id}/", (service["pid"], instance["pid"]), headers)
            board.wait()
            yield board
        finally:
            psutil.Process(service["pid"]).terminate()
            _until(lambda: not (kept / "service.json").exists(), "its end")
            psutil.wait_procs(
                [process for process in psutil.process_iter() if process.pid == service["pid"]]
            )


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""


def _until(condition: Callable[[], object], what: str) -> str:
    """Return the first true result of a condition. Raises Undone after a timeout."""
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        result = condition()
        if result:
            return result if isinstance(result, str) else ""
        time.sleep(0.01)
    raise Undone(f"{what} did not arrive within {_SECONDS:g} s")


def _compare(contender: Contender, ours: Series, theirs: Series) -> str | None:
    (mine,), (other,) = ours.values(), theirs.values()
    is_same = mine[0] == other[0] and mine[2] == other[2]
    return None if is_same else "The large responses differ."
