"""A query in a process of its own, which is killed when it takes too long or too much.

DuckDB has limits too, but no single step of it can be interrupted, and what a
step allocates is not counted: `list_sum(range(1, 500000000))` takes sixteen
gigabytes and minutes, whatever it was told. The process has the database only;
this one reads the logs and hands over the tables that it is asked for.

Messages are a letter, a length, and so many bytes.
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
# How often the process is looked at.
_PERIOD = 0.02
# How often the process looks whether there is still somebody to answer.
_PARENT_PERIOD = 0.5
# Beside what a query may take, Python and DuckDB need some for themselves.
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
    """Return the first `most_rows` rows of the answer to a query, and how many there are in all.

    Raises as `answer_query`, and QueryStopped at a limit, or where the returned rows take
    more than `most_bytes`.
    """
    try:
        message = pickle.dumps((query, parameters, limit_memory, most_rows))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise BadQuery(
            f"The parameters cannot be handed to another process: {escape(str(error))}. Give"
            " numbers, text, bytes and times, or set no limit."
        ) from None
    with (
        (workers or QueryWorkers()).hire() as process,
        _Watch(process, limit_seconds, limit_memory) as watch,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            return _converse(process.stdin, process.stdout, message, host, watch, most_bytes)
        except (BrokenPipeError, EOFError):
            raise watch.reason or BadQuery(
                "The query brought the database down. Another way to say it may work."
            ) from None


def _converse(
    ask: IO[bytes],
    hear: IO[bytes],
    query: bytes,
    host: Host,
    watch: _Watch,
    most_bytes: int | None,
) -> tuple[pa.Table, int]:
    import pyarrow as pa

    batches, schema, size = [], None, 0
    while True:
        kind, length = _HEAD.unpack(_read(hear, _HEAD.size))
        if kind == _ROWS:
            # Before it is read: one batch can be as large as the memory of the process.
            size += length
            if most_bytes is not None and size > most_bytes:
                raise QueryStopped(
                    f"The query was stopped: its answer is larger than {human_bytes(most_bytes)},"
                    " which is the limit here. Ask for fewer rows or columns, or use `runfold"
                    " sql` or `runs.sql()`, which have no such limit."
                )
            if watch.limit_memory is not None and size > watch.limit_memory:
                raise watch.out_of_memory()
        content = _read(hear, length)
        if kind == _READY:
            watch.start()
            _send(ask, _QUERY, query)
        elif kind == _PLANS:
            host.tell_plans(*json.loads(content))
        elif kind == _TABLE:
            # Part by part, that this process, which has the logs, never holds them twice.
            for part in map(_pack, host.fetch(json.loads(content))):
                watch.allow(2 * len(part))
                _send(ask, _TABLE, part)
            _send(ask, _END)
        elif kind == _ROWS:
            rows = _unpack(content)
            schema = rows.schema
            batches += rows.to_batches()
        elif kind == _ERROR:
            name, text = json.loads(content)
            found = getattr(errors, name, RunfoldError)
            raise (found if name in errors.__all__ else RunfoldError)(text)
        else:
            return pa.Table.from_batches(batches, schema), int(content)


class _Watch:
    """Kills the process when its time is over or it has grown too large, and says why."""

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
        """Count from now."""
        if self._seconds is not None:
            self._end = time.monotonic() + self._seconds
        if self.limit_memory is not None:
            self._room = size_of(self._process) + _ROOM + 2 * self.limit_memory
        self._thread.start()

    def allow(self, size: int) -> None:
        """Let the process grow by a table that it is handed."""
        self._room += size

    def out_of_memory(self) -> QueryStopped:
        """What to raise for a query that takes too much."""
        assert self.limit_memory is not None
        return QueryStopped(
            f"The query was stopped: it takes more memory than {human_bytes(self.limit_memory)},"
            " which is its limit. Ask for less, or allow more: limit_memory in Python,"
            " --limit-memory of `runfold sql`."
        )

    def _watch(self) -> None:
        while not self._done.wait(_PERIOD):
            if self._end is not None and time.monotonic() > self._end:
                assert self._seconds is not None
                self.reason = QueryStopped(
                    f"The query was stopped after {human_duration(self._seconds)}, which is its"
                    " limit. Ask for less, or allow more: limit_seconds in"
                    " Python, --limit-seconds of `runfold sql`."
                )
            elif self.limit_memory is not None and size_of(self._process) > self._room:
                self.reason = self.out_of_memory()
            else:
                continue
            self._process.kill()
            return


def serve() -> None:
    """Answer queries until nobody has one any more: the life of the process."""
    ask, hear = os.fdopen(os.dup(1), "wb"), sys.stdin.buffer
    os.dup2(2, 1)  # whatever prints does not print into the conversation

    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()

    import duckdb  # noqa: F401
    import pyarrow  # noqa: F401

    while True:
        _send(ask, _READY)
        idle = threading.Timer(IDLE_SECONDS, os._exit, (0,))
        idle.daemon = True
        idle.start()
        try:
            _, message = _receive(hear)
        except EOFError:
            return
        idle.cancel()
        _answer(ask, hear, message)


def _end_with(parent: int) -> None:
    """End this process when another does: killed, it can neither stop a query nor close a pipe."""
    while os.getppid() == parent:
        time.sleep(_PARENT_PERIOD)
    os._exit(1)


def _answer(ask: IO[bytes], hear: IO[bytes], message: bytes) -> None:
    import pyarrow as pa

    def tell_plans(bound: Any, optimised: Any) -> None:
        _send(ask, _PLANS, json.dumps([bound, optimised]).encode())

    def fetch(name: str) -> Iterator[pa.Table]:
        _send(ask, _TABLE, json.dumps(name).encode())
        while (message := _receive(hear))[0] == _TABLE:
            yield _unpack(message[1])

    query, parameters, limit_memory, most_rows = pickle.loads(message)
    try:
        with answer_query(query, parameters, Host(tell_plans, fetch), limit_memory) as reader:
            _send(ask, _ROWS, _pack(reader.schema.empty_table()))
            count = 0
            for batch in reader:
                # The others are only counted.
                shown = batch if most_rows is None else batch.slice(0, max(0, most_rows - count))
                if shown.num_rows:
                    _send(ask, _ROWS, _pack(pa.Table.from_batches([shown])))
                count += batch.num_rows
        _send(ask, _END, b"%d" % count)
    except RunfoldError as error:
        _send(ask, _ERROR, json.dumps([type(error).__name__, str(error)]).encode())


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
    """The next message. Raises EOFError where the other side is gone."""
    kind, length = _HEAD.unpack(_read(pipe, _HEAD.size))
    return kind, _read(pipe, length)


def _read(pipe: IO[bytes], size: int) -> bytes:
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return data
