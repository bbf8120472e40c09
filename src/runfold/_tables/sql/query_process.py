"""A query in a separate process, which is killed if it exceeds its time or memory limit.

DuckDB's own limits are not enough: DuckDB cannot interrupt a single step, and does not count a
step's memory. `list_sum(range(1, 500000000))` takes minutes and sixteen gigabytes regardless of
the limits. The child process contains only the database. The parent reads the logs and sends the
requested tables.

A message is a letter, a length, and that many bytes.
"""

from __future__ import annotations

import json
import os
import pickle
import struct
import sys
import threading
import time
from typing import IO, TYPE_CHECKING, Any

from runfold import errors
from runfold._humanize import escape, human_bytes, human_duration
from runfold._tables.sql.engine import Host, answer_query
from runfold._tables.sql.query_workers import IDLE_SECONDS, QueryWorkers, size_of
from runfold.errors import BadQuery, QueryStopped, RunfoldError

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

    import pyarrow as pa

    from runfold._tables.sql.pushdown import Parameters

_HEAD = struct.Struct(">cQ")
_READY, _QUERY, _PLANS, _TABLE, _ROWS, _ERROR, _END = b"r", b"q", b"p", b"t", b"b", b"e", b"."
# Seconds between checks of the child's time and memory.
_PERIOD = 0.02
# Seconds between the child's checks that its parent is alive.
_PARENT_PERIOD = 0.5
# Additional memory for Python and DuckDB themselves.
_ROOM = 100_000_000


def run_confined(
    query: str,
    parameters: Parameters,
    host: Host,
    limit_seconds: float | None,
    limit_memory: int | None,
    workers: QueryWorkers | None = None,
    *,
    most_rows: int | None = None,
    most_bytes: int | None = None,
) -> tuple[pa.Table, int]:
    """Return the first `most_rows` rows of a query's result, and the total number of rows.

    Raises the same exceptions as `answer_query`, and QueryStopped at a limit or if the
    returned rows exceed `most_bytes`.
    """
    try:
        message = pickle.dumps((query, parameters, limit_memory, most_rows))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise BadQuery(
            f"The parameters cannot be sent to another process: {escape(str(error))}. Use"
            " numbers, text, bytes and times, or set no limit."
        ) from None
    with (
        (workers or QueryWorkers()).borrow() as process,
        _Watch(process, limit_seconds, limit_memory) as watch,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            return _exchange(process.stdin, process.stdout, message, host, watch, most_bytes)
        except (BrokenPipeError, EOFError):
            raise watch.reason or BadQuery(
                "The query crashed the database. Try rewriting it."
            ) from None


def _exchange(
    output: IO[bytes],
    input: IO[bytes],
    query: bytes,
    host: Host,
    watch: _Watch,
    most_bytes: int | None,
) -> tuple[pa.Table, int]:
    import pyarrow as pa

    batches, schema, size = [], None, 0
    while True:
        kind, length = _HEAD.unpack(_read(input, _HEAD.size))
        if kind == _ROWS:
            # Checked before reading, because one batch can be as large as the child's memory.
            size += length
            if most_bytes is not None and size > most_bytes:
                raise QueryStopped(
                    "The query was stopped because its result exceeded the limit of"
                    f" {human_bytes(most_bytes)}. Select fewer rows or columns, or use `runfold"
                    " sql` or `runs.sql()`, which do not have this limit."
                )
            if watch.limit_memory is not None and size > watch.limit_memory:
                raise watch.out_of_memory()
        content = _read(input, length)
        if kind == _READY:
            watch.start()
            _send(output, _QUERY, query)
        elif kind == _PLANS:
            host.receive_plans(*json.loads(content))
        elif kind == _TABLE:
            # In parts, so that this process never has the data in memory twice.
            for part in map(_pack, host.fetch(json.loads(content))):
                watch.allow(2 * len(part))
                _send(output, _TABLE, part)
            _send(output, _END)
        elif kind == _ROWS:
            rows = _unpack(content)
            schema = rows.schema
            batches += rows.to_batches()
        elif kind == _ERROR:
            name, text = json.loads(content)
            kind_of_error = getattr(errors, name, RunfoldError)
            raise (kind_of_error if name in errors.__all__ else RunfoldError)(text)
        else:
            return pa.Table.from_batches(batches, schema), int(content)


class _Watch:
    """A watchdog that kills the process at its time or memory limit; `reason` says why."""

    def __init__(
        self, process: subprocess.Popen[bytes], seconds: float | None, limit_memory: int | None
    ) -> None:
        self.limit_memory = limit_memory
        self.reason: RunfoldError | None = None
        self._process = process
        self._seconds = seconds
        self._end: float | None = None
        self._room = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> _Watch:
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        if self._thread.is_alive():
            self._thread.join()

    def start(self) -> None:
        """Start measuring time and memory."""
        if self._seconds is not None:
            self._end = time.monotonic() + self._seconds
        if self.limit_memory is not None:
            self._room = size_of(self._process) + _ROOM + 2 * self.limit_memory
        self._thread.start()

    def allow(self, size: int) -> None:
        """Raise the memory limit by the size of a table that is sent to the process."""
        self._room += size

    def out_of_memory(self) -> QueryStopped:
        """Return the exception for a query that exceeds its memory limit."""
        assert self.limit_memory is not None
        return QueryStopped(
            "The query was stopped because it exceeded its memory limit of"
            f" {human_bytes(self.limit_memory)}. Select less data, or raise the limit"
            " (limit_memory in Python, --limit-memory in `runfold sql`)."
        )

    def _watch(self) -> None:
        while not self._done.wait(_PERIOD):
            if self._end is not None and time.monotonic() > self._end:
                assert self._seconds is not None
                self.reason = QueryStopped(
                    "The query was stopped because it exceeded its time limit of"
                    f" {human_duration(self._seconds)}. Select less data, or raise the limit"
                    " (limit_seconds in Python, --limit-seconds in `runfold sql`)."
                )
            elif self.limit_memory is not None and size_of(self._process) > self._room:
                self.reason = self.out_of_memory()
            else:
                continue
            self._process.kill()
            return


def serve() -> None:
    """Run queries until stdin is closed; the main function of the child process."""
    output, input = os.fdopen(os.dup(1), "wb"), sys.stdin.buffer
    os.dup2(2, 1)  # so that stray prints do not corrupt the messages

    threading.Thread(target=_exit_with, args=(os.getppid(),), daemon=True).start()

    import duckdb  # noqa: F401
    import pyarrow  # noqa: F401

    while True:
        _send(output, _READY)
        idle = threading.Timer(IDLE_SECONDS, os._exit, (0,))
        idle.daemon = True
        idle.start()
        try:
            _, message = _receive(input)
        except EOFError:
            return
        idle.cancel()
        _answer(output, input, message)


def _exit_with(parent: int) -> None:
    """Exit when the parent exits; a killed parent cannot stop its query or close the pipe."""
    while os.getppid() == parent:
        time.sleep(_PARENT_PERIOD)
    os._exit(1)


def _answer(output: IO[bytes], input: IO[bytes], message: bytes) -> None:
    import pyarrow as pa

    def send_plans(bound: Any, optimized: Any) -> None:
        _send(output, _PLANS, json.dumps([bound, optimized]).encode())

    def fetch(name: str) -> Iterator[pa.Table]:
        _send(output, _TABLE, json.dumps(name).encode())
        while (message := _receive(input))[0] == _TABLE:
            yield _unpack(message[1])

    query, parameters, limit_memory, most_rows = pickle.loads(message)
    try:
        with answer_query(query, parameters, Host(send_plans, fetch), limit_memory) as reader:
            _send(output, _ROWS, _pack(reader.schema.empty_table()))
            count = 0
            for batch in reader:
                # Rows after the first `most_rows` are only counted.
                shown = batch if most_rows is None else batch.slice(0, max(0, most_rows - count))
                if shown.num_rows:
                    _send(output, _ROWS, _pack(pa.Table.from_batches([shown])))
                count += batch.num_rows
        _send(output, _END, b"%d" % count)
    except RunfoldError as error:
        _send(output, _ERROR, json.dumps([type(error).__name__, str(error)]).encode())


def _pack(table: pa.Table) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()  # type: ignore[no-any-return]


def _unpack(data: bytes) -> pa.Table:
    import pyarrow as pa

    return pa.ipc.open_stream(data).read_all()


def _send(pipe: IO[bytes], kind: bytes, content: Any = b"") -> None:
    pipe.write(_HEAD.pack(kind, len(content)))
    pipe.write(content)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> tuple[bytes, bytes]:
    """Return the kind and content of the next message. Raises EOFError if the pipe is closed."""
    kind, length = _HEAD.unpack(_read(pipe, _HEAD.size))
    return kind, _read(pipe, length)


def _read(pipe: IO[bytes], size: int) -> bytes:
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return data
