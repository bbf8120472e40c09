"""A log in a bucket: read in place and from a copy, compared with bare requests for its objects."""

import os
import shutil
import socket
import tempfile
import time
import urllib.parse
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TypeVar

import runfold as rf
from benchmarks.contest import RUNFOLD, Contender, Contest
from benchmarks.logs import Log, generate
from benchmarks.measure import measure
from benchmarks.object_server import BUCKET, serving
from benchmarks.readings import Reading, Series, find_disagreement
from runfold._storage import store

T = TypeVar("T")

SMALL = Log("store", runs=10_000, tags=5, steps=20)
LARGE = Log("store-large", runs=3, tags=5, steps=150_000)
# Read in place, with both packages for S3, and as a copy that only s3fs fetches.
IN_PLACE, WITH_S3FS, COPY = RUNFOLD, f"{RUNFOLD}, s3fs alone", f"{RUNFOLD}, copy by s3fs"

# Elapsed seconds, because much of the work is done in the server.
BARE = "bare s"
READ = "open, load s"
REFRESH = "refresh s"
_CONNECTIONS = 8


def make_contest(root: Path, fresh: bool = False, log: Log = SMALL) -> Contest:
    """Return the contest; the values must be those of the local folder."""
    folder = str(generate(log, root, fresh))
    contenders = [
        Contender(name, partial(measure, prepare, [folder, name]), log.runs)
        for name in (IN_PLACE, WITH_S3FS, COPY)
    ]
    title = f"{log} in a bucket on this machine"
    return Contest(
        title, ("who", "runs"), contenders, lambda _, ours, theirs: find_disagreement(ours, theirs)
    )


def prepare(folder: str, name: str) -> Callable[[], Reading]:
    """Return the call that opens, reads and refreshes a log, after starting its server."""
    stack = ExitStack()
    port = stack.enter_context(serving(Path(folder)))
    os.environ |= {
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "hush-hush-hush",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "XDG_CACHE_HOME": tempfile.mkdtemp(prefix="runfold-benchmark-"),
    }
    if name != IN_PLACE:
        vars(store)["open_fast_driver"] = lambda *_: None
    local = _read(rf.open(folder, progress=False))
    url = f"s3://{BUCKET}"
    # Imports, and the first connection.
    store.Store(url).list_files()
    return partial(_measure, url, port, Path(folder), local, name == COPY, stack)


def _measure(
    url: str, port: int, folder: Path, local: Series, is_copied: bool, stack: ExitStack
) -> Reading:
    keys = [path.relative_to(folder).as_posix() for path in folder.rglob("*tfevents*")]
    with stack:
        parts = {BARE: _timed(lambda: _request_all(port, keys))[0]}
        parts[READ], runs = _timed(
            lambda: rf.open(url, copy=is_copied, progress=False).load(),
        )
        parts[REFRESH], changes = _timed(runs.refresh)
        series = _read(runs)
    shutil.rmtree(os.environ["XDG_CACHE_HOME"], ignore_errors=True)
    difference = find_disagreement(local, series)
    if difference or changes:
        raise AssertionError(difference or f"nothing has changed, but a refresh found {changes}")
    return Reading(series, parts=parts)


def _read(runs: rf.Runs) -> Series:
    return {
        (name, tag): (series.steps, series.wall_times, series.values)
        for name, run in runs.items()
        for tag, series in run._log.scalars.items()
    }


def _timed(call: Callable[[], T]) -> tuple[float, T]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def _request_all(port: int, keys: list[str]) -> None:
    """Request objects over sockets, as fast as the server answers."""
    with ThreadPoolExecutor(_CONNECTIONS) as pool:
        for _ in pool.map(
            partial(_request, port), [keys[first::_CONNECTIONS] for first in range(_CONNECTIONS)]
        ):
            pass


def _request(port: int, keys: list[str]) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        stream = connection.makefile("rb")
        for key in keys:
            path = urllib.parse.quote(f"/{BUCKET}/{key}")
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            size = 0
            while (line := stream.readline()) != b"\r\n":
                if line.lower().startswith(b"content-length:"):
                    size = int(line.split(b":")[1])
            if len(stream.read(size)) < size:
                raise AssertionError(f"{key} is incomplete")
